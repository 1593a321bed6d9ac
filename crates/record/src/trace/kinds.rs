//! Kinds of rows of events.

use model::stall::StallKind;

use super::event::{ASYNCHRONOUS, ON_CPU, STILL_OFF_CPU, TraceEvent};

/// Kinds of rows by `enum kind`; requests have separate rows.
const KINDS: [Option<StallKind>; 8] = [
    Some(StallKind::SystemCall),
    Some(StallKind::OffCpu),
    Some(StallKind::Span),
    None,
    Some(StallKind::ShortSleeps),
    Some(StallKind::ShortCpuWaits),
    Some(StallKind::ShortRequestWaits),
    Some(StallKind::ShortSpans),
];

/// The kind of an event's row; `None` where it has none.
pub(super) fn kind_of(event: &TraceEvent) -> Option<StallKind> {
    match event.kind {
        STILL_OFF_CPU => Some(StallKind::StillBlocked),
        ON_CPU => Some(StallKind::OnCpu),
        ASYNCHRONOUS if event.awaits != 0 => Some(StallKind::ServerRequest),
        ASYNCHRONOUS => Some(StallKind::Asynchronous),
        kind => KINDS.get(kind as usize).copied().flatten(),
    }
}
