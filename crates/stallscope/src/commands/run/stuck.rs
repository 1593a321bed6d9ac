//! Remarks on operations of the load that are stuck.

use std::time::{Duration, Instant};

use model::operation::{OperationRecord, ROUND};
use model::quantity::Nanoseconds;
use report::style::printable;

use crate::ui::screen::Screen;

/// Minimum time between remarks: a stall has many victims.
const REMARK_EVERY: Duration = Duration::from_secs(5);

/// The remarks on stuck operations so far.
#[derive(Debug, Default)]
pub(super) struct StuckRemarks {
    /// Thread and start of the operation reported last.
    reported: Option<(u32, u64)>,
    last: Option<Instant>,
}

impl StuckRemarks {
    /// Reports the operation that is stuck the longest, once, and how many others are.
    pub(super) fn remark(&mut self, stuck: &[OperationRecord], screen: &Screen) {
        let Some(oldest) = oldest(stuck) else { return };
        let key = (oldest.tid, oldest.start_ns);
        if self.reported == Some(key) || self.last.is_some_and(|last| last.elapsed() < REMARK_EVERY) {
            return;
        }
        let others = match stuck.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        screen.remark(&format!("stuck: {}{others}", describe(oldest)));
        (self.reported, self.last) = (Some(key), Some(Instant::now()));
    }
}

/// How many operations are stuck, and which the longest: part of the progress line. Empty if none is.
pub(super) fn summary(stuck: &[OperationRecord]) -> String {
    oldest(stuck).map_or_else(String::new, |oldest| format!(", {} stuck: {}", stuck.len(), describe(oldest)))
}

/// A round is stuck because a step of it is.
fn oldest(stuck: &[OperationRecord]) -> Option<&OperationRecord> {
    let steps = stuck.iter().filter(|operation| operation.class != ROUND);
    steps.max_by_key(|operation| operation.duration_ns)
}

fn describe(operation: &OperationRecord) -> String {
    let lasts = Nanoseconds(operation.duration_ns / 100_000_000 * 100_000_000);
    let path = operation.path.as_deref().map_or_else(String::new, |path| format!(" of {}", printable(path)));
    let offset = operation.offset_bytes.map_or_else(String::new, |offset| format!(" at {offset}"));
    format!("{}{path}{offset} in thread {} for {lasts}", printable(&operation.class), operation.tid)
}

#[cfg(test)]
mod tests {
    use model::operation::{OperationKind, OperationRecord};

    use super::summary;

    fn stuck(class: &str, duration_ns: u64) -> OperationRecord {
        OperationRecord {
            kind: OperationKind::Stuck,
            class: class.to_owned(),
            tid: 7,
            start_ns: 1,
            duration_ns,
            bytes: None,
            errno: None,
            path: Some("/mnt/a\x1b".to_owned()),
            offset_bytes: Some(4096),
            fault: None,
        }
    }

    #[test]
    fn the_oldest_operation_is_named_with_its_place() {
        let words = summary(&[stuck("read", 1_500_000_000), stuck("write", 1_999_999_999), stuck("round", 1 << 40)]);
        assert!(words.starts_with(", 3 stuck: write of /mnt/a"), "{words}");
        assert!(words.ends_with(" at 4096 in thread 7 for 1.90 s") && !words.contains('\x1b'), "{words}");
        assert_eq!(summary(&[]), "");
    }
}
