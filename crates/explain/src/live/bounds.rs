//! How much of a recording is kept.

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Age of the oldest row, ns.
    pub time_ns: u64,
    /// Memory of all rows together. A look needs about as much again while it lasts.
    pub bytes: usize,
}

impl Default for Bounds {
    /// Ten minutes in 36 MiB, half of it for names: with a look, at most 64 MiB at 50,000 rows a second
    /// (docs/journal/2026-11-29-live.md).
    fn default() -> Bounds {
        Bounds { time_ns: 600_000_000_000, bytes: 36 << 20 }
    }
}
