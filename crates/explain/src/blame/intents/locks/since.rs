//! Since when tasks wait for each other.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::intents::interruptions::interrupted_waits;
use crate::blame::intents::requests::pollers::takes_up_any_work;
use crate::thresholds::RETRY_NS;

/// Since when a task needed the one that it waits for, if that is known. A thread that only waits for whatever comes
/// next may have handed out its work before, and so may one of a runtime whose threads take up what another one began.
pub(crate) fn needed_since_ns(index: &RunIndex, asleep: &Row) -> Option<u64> {
    match index.awaits(asleep) {
        Some(Awaits::Lock) if !takes_up_any_work(index, asleep) => Some(series_began_ns(index, asleep)),
        Some(Awaits::Answer | Awaits::PartOfAnswer) => index.asked_ns(asleep).map(|ns| ns.min(asleep.start_ns)),
        _ => was_busy(index, asleep).then_some(asleep.start_ns),
    }
}

/// Whether a server's thread that waits for another one had just waited for a lock, for longer, in its work for the
/// same request.
fn was_busy(index: &RunIndex, asleep: &Row) -> bool {
    let Some(asked_ns) = index.asked_ns(asleep) else { return false };
    let from_ns = asleep.start_ns.saturating_sub(RETRY_NS);
    let is_longer = |row: &Row| row.end_ns - row.start_ns >= asleep.end_ns - asleep.start_ns;
    let is_lock = |row: &Row| {
        row.kind == StallKind::OffCpu
            && index.asked_ns(row) == Some(asked_ns)
            && index.awaits(row) == Some(Awaits::Lock)
            && row.end_ns <= asleep.start_ns
            && is_longer(row)
    };
    index.awaits(asleep) != Some(Awaits::Lock)
        && index.rows_between(asleep.tid, from_ns, asleep.start_ns).any(|(_, row)| is_lock(row))
}

/// When the wait that a row ends began, which timers may have interrupted.
pub(crate) fn series_began_ns(index: &RunIndex, row: &Row) -> u64 {
    let mut began_ns = row.start_ns;
    for (_, before) in index.rows_between(row.tid, 0, row.start_ns) {
        if before.kind != StallKind::OffCpu {
            continue;
        }
        // A task sleeps once at a time: those before it ended earlier still.
        if before.end_ns.saturating_add(RETRY_NS) < began_ns {
            break;
        }
        if index.awaits(before).is_none() {
            continue;
        }
        let is_same = index.asked_ns(before).is_some()
            && (index.asked_ns(before), index.awaits(before)) == (index.asked_ns(row), index.awaits(row))
            && interrupted_waits::has_gone_on(index, before);
        if !is_same {
            break;
        }
        began_ns = before.start_ns;
    }
    began_ns
}
