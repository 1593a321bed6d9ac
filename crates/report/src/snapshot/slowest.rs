//! The slowest operation of a moment, and why, in one line.

use explain::blame::Stall;
use explain::snapshot::Snapshot;

use crate::answer::live;

/// The slowest operation of a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowestNow {
    /// What it is, and why it is slow.
    pub text: String,
    /// How long it took, or has taken so far.
    pub lasts_ns: u64,
    /// Whether it is the recorded command's.
    pub is_own: bool,
}

/// The operation that lasts or lasted longest, of the recorded command if it has one; `None` where none was slow.
pub fn slowest(snapshot: &Snapshot) -> Option<SlowestNow> {
    let is_own = |stall: &Stall| stall.of_command == Some(true);
    let known = snapshot.explanation.stalls.iter().zip(&snapshot.whole);
    let known = known.max_by_key(|(stall, (_, duration_ns))| (is_own(stall), *duration_ns));
    let stuck = snapshot.stuck.first();
    match (known, stuck) {
        (Some((stall, (_, duration_ns))), stuck)
            if is_own(stall) || stuck.is_none_or(|stuck| stuck.lasts_ns <= *duration_ns) =>
        {
            Some(SlowestNow {
                text: live::of_stall(stall, *duration_ns).text(),
                lasts_ns: *duration_ns,
                is_own: is_own(stall),
            })
        }
        (_, Some(stuck)) => {
            let text = live::of_stuck(stuck, known.map(|(stall, _)| stall)).text();
            Some(SlowestNow { text, lasts_ns: stuck.lasts_ns, is_own: false })
        }
        _ => None,
    }
}
