//! Times that are joined where they overlap.

/// Overlapping times, and those with no more than a gap between them, as one.
pub(crate) fn joined(mut times: Vec<(u64, u64)>, gap_ns: u64) -> Vec<(u64, u64)> {
    times.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(times.len());
    for (start_ns, end_ns) in times {
        match joined.last_mut() {
            Some(last) if start_ns <= last.1.saturating_add(gap_ns) => last.1 = last.1.max(end_ns),
            _ => joined.push((start_ns, end_ns)),
        }
    }
    joined
}
