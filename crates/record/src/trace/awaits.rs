//! What tasks wait for others for.

use model::stall::{Awaits, StallRecord};

use super::event::TraceEvent;

/// By `enum awaits` of the programs: in the same order.
pub(super) fn of(number: u32) -> Option<Awaits> {
    let after_nobody = number.checked_sub(1)? as usize;
    Awaits::ALL.get(after_nobody).copied()
}

/// A client received what it had asked a server for, or a part of it.
pub(super) fn answered(event: &TraceEvent, row: &mut StallRecord) {
    row.awaits = of(event.awaits);
    row.asked_ns = Some(event.asked_ns);
    (row.woken_ns, row.waker_tid) = (Some(event.woken_ns), Some(event.waker_tid));
}
