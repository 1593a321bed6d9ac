//! The clocks of the nodes beside that of rank 0: offset and error, at the begin of a load and at its end.

use std::time::Duration;

/// Most exchanges of a measurement; the shortest counts.
pub(super) const EXCHANGES: usize = 64;
/// Time for them: on a busy machine each waits for the CPU on both sides.
pub(super) const EXCHANGING: Duration = Duration::from_millis(500);
/// Time for the answer of an exchange; the first one waits until rank 0 has served the nodes before.
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_secs(8);
pub(super) const FIRST_PATIENCE: Duration = Duration::from_secs(60);
/// What a node sends instead of its clock when it needs no further answer.
pub(super) const MEASURED: u64 = u64::MAX;

/// The offset of a clock to that of rank 0, and the bound of its error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Offset {
    /// The time of the measurement on the clock of rank 0.
    pub(super) at_ns: u64,
    /// How far ahead of it this machine's clock was.
    pub(super) offset_ns: i64,
    pub(super) error_ns: u64,
}

impl Offset {
    /// From one exchange: rank 0 read its clock between the two moments of this one, most likely in the middle.
    pub(super) fn of_exchange(sent_ns: u64, of_first_ns: u64, received_ns: u64) -> Offset {
        let middle_ns = sent_ns + (received_ns - sent_ns) / 2;
        let error_ns = (received_ns - sent_ns).div_ceil(2);
        Offset { at_ns: of_first_ns, offset_ns: middle_ns.wrapping_sub(of_first_ns) as i64, error_ns }
    }
}

/// The clock of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct NodeClock {
    /// Before the first phase.
    pub(super) begin: Offset,
    /// After the last one; `None` where the load failed.
    pub(super) end: Option<Offset>,
}

impl NodeClock {
    /// How much faster than that of rank 0 it ran, in parts per million, and the bound of the error.
    pub(super) fn drift_ppm(&self) -> Option<(f64, f64)> {
        let end = self.end.filter(|end| end.at_ns > self.begin.at_ns)?;
        let elapsed_ns = (end.at_ns - self.begin.at_ns) as f64;
        let gained_ns = end.offset_ns.wrapping_sub(self.begin.offset_ns) as f64;
        let error_ns = (end.error_ns + self.begin.error_ns) as f64;
        Some((gained_ns / elapsed_ns * 1e6, error_ns / elapsed_ns * 1e6))
    }

    /// In words, for the node of that name.
    pub(super) fn sentence(&self, name: &str) -> String {
        let offset = |offset: &Offset| {
            format!("{:+.6} s (± {:.1} us)", offset.offset_ns as f64 / 1e9, offset.error_ns as f64 / 1e3)
        };
        let begin = offset(&self.begin);
        match (&self.end, self.drift_ppm()) {
            (Some(end), Some((ppm, error))) => format!(
                "clock of node {name}: {begin} at the start, {} at the end: drift {ppm:.2} ppm (± {error:.2})",
                offset(end)
            ),
            _ => format!("clock of node {name}: {begin} at the start, not measured at the end"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NodeClock, Offset};

    #[test]
    fn an_offset_is_within_half_the_round_trip() {
        let offset = |at_ns, offset_ns, error_ns| Offset { at_ns, offset_ns, error_ns };
        assert_eq!(Offset::of_exchange(1_000, 500, 1_100), offset(500, 550, 50));
        assert_eq!(Offset::of_exchange(100, 9_000, 131), offset(9_000, -8_885, 16));
    }

    #[test]
    fn a_drift_has_the_errors_of_both_measurements() {
        let begin = Offset { at_ns: 1_000_000_000, offset_ns: 5_000, error_ns: 1_000 };
        let end = Offset { at_ns: 3_000_000_000, offset_ns: 25_000, error_ns: 3_000 };
        let clock = NodeClock { begin, end: Some(end) };
        assert_eq!(clock.drift_ppm(), Some((10.0, 2.0)));
        assert_eq!(
            clock.sentence("b"),
            "clock of node b: +0.000005 s (± 1.0 us) at the begin, +0.000025 s (± 3.0 us) at the end: drift 10.00 ppm \
             (± 2.00)"
        );
        assert_eq!(NodeClock { begin, end: None }.drift_ppm(), None);
    }
}
