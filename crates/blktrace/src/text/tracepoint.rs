//! Block tracepoints as text, as ftrace (`trace`, `trace_pipe`), `trace-cmd report` and `perf script` print them:
//!
//! ```text
//! block_bio_queue: 259,0 R 2048 + 8 [reader]
//! block_bio_remap: 8,0 WS 2304 + 8 <- (8,1) 256
//! block_split: 8,0 WS 2048 / 3072 [dd]
//! block_rq_issue: 259,0 R 4096 () 2048 + 8 be,0,4 [reader]
//! block_rq_complete: 259,0 R () 2048 + 8 be,0,4 [0]
//! ```

use model::block::{Action, BlockEvent, Kind, Operation};

use super::field::{Words, bracketed, device, error, number, parse_extent};

/// Tracepoints that are events of a bio's life. The others say the same again, or what has no device.
const EVENTS: [(&[u8], Action); 13] = [
    (b"block_bio_queue", Action::Queue),
    (b"block_bio_remap", Action::Remap),
    (b"block_split", Action::Split),
    (b"block_getrq", Action::GetRequest),
    (b"block_bio_backmerge", Action::BackMerge),
    (b"block_bio_frontmerge", Action::FrontMerge),
    (b"block_rq_merge", Action::BackMerge),
    (b"block_rq_insert", Action::Insert),
    (b"block_rq_issue", Action::Issue),
    (b"block_rq_requeue", Action::Requeue),
    (b"block_rq_complete", Action::Complete),
    (b"block_bio_complete", Action::Complete),
    (b"block_bio_bounce", Action::Bounce),
];

/// What a line of a tracepoint is.
pub(super) enum Found<'a> {
    /// An event of a bio's life, with the thread's name, and whether the line is complete.
    Event { event: BlockEvent, name: Option<&'a [u8]>, whole: bool },
    /// Another tracepoint.
    Other,
    /// An event of the block layer without its fields.
    Unreadable,
}

/// The line of the tracepoint `name`, with or without its system (`block:`); `rest` follows its name.
pub(super) fn parse<'a>(name: &[u8], event: BlockEvent, rest: &'a [u8]) -> Found<'a> {
    let name = name.strip_prefix(b"block:").unwrap_or(name);
    let Some((_, action)) = EVENTS.iter().find(|(known, _)| *known == name) else { return Found::Other };
    fields(BlockEvent { action: *action, ..event }, rest).unwrap_or(Found::Unreadable)
}

fn fields(mut event: BlockEvent, rest: &[u8]) -> Option<Found<'_>> {
    let mut words = Words { rest };
    event.device = device(words.next()?)?;
    event.kind = words.next().and_then(Kind::from_rwbs)?;
    let tail = after_command(words.rest.trim_ascii());
    let mut words = Words { rest: tail };
    let first = number(words.next()?)?;
    parse_extent(&mut event, first, &mut words);
    // No data, no flush: a command of the driver or of a program.
    let is_of_request = matches!(event.action, Action::Insert | Action::Issue | Action::Requeue | Action::Complete);
    if is_of_request && event.bytes == 0 && event.kind.operation() == Operation::None && !event.kind.has(Kind::PREFLUSH)
    {
        event.kind = event.kind.with(Kind::PASSTHROUGH);
    }
    let (inside, _) = bracketed(tail);
    let is_end = matches!(event.action, Action::Complete | Action::Requeue);
    if is_end {
        event.error = inside.and_then(error).unwrap_or(0);
    }
    let name = inside.filter(|_| !is_end && event.action != Action::Remap);
    let whole = inside.is_some() || event.action == Action::Remap;
    Some(Found::Event { event, name, whole })
}

/// Requests have their bytes and their command before the sectors: `4096 (28 00 ...) 2048 + 8`, `() 2048 + 8`.
fn after_command(tail: &[u8]) -> &[u8] {
    let open = tail.iter().position(|&byte| byte == b'(');
    let sign = tail.iter().position(|&byte| byte == b'+' || byte == b'/');
    let close = tail.iter().position(|&byte| byte == b')');
    match (open, close, sign) {
        (Some(open), Some(close), Some(sign)) if open < close && close < sign => tail[close + 1..].trim_ascii_start(),
        _ => tail,
    }
}
