//! One line of text.
//!
//!   8,0    1       42     0.000301   1234  Q  WS 655424 + 2048 [dd]            blkparse
//!   7,2    1  2857.135002985 14344  Q  WS 598208 + 2080 [dd]                   ftrace, blk_classic
//!   dd-14344 [001] .....  2857.135003:   7,2    Q  WS 598208 + 2080 [dd]       ftrace
//!   dd-14344 [001] .....  2857.135003:   7,2   /a/b Q  WS 598208 + 2080 [dd]   ftrace, with the cgroup's name
//!   dd-14344   1....  2857.135003: block_getrq: ...                            trace-cmd report -l
//!   dd-14344   1....    12us+: block_getrq: ...                                ftrace, latency-format
//!
//! Columns are separated by white space, so a major of three digits, which has no space before it, parses like any
//! other.

use model::block::{Action, BlockEvent, DeviceNumber, Kind};

use super::field::{Words, bracketed, device, error, number, parse_extent, time_ns};
use super::row::{self, Row};
use super::snoop::Table;
use super::tracepoint;

/// Kinds of lines.
pub(crate) enum Line<'a> {
    Event(Parsed<'a>),
    /// A row of a published trace.
    Row(Row<'a>),
    /// The heading of a table.
    Table(Table),
    /// The tracer dropped events.
    Lost {
        cpu: u32,
        events: u64,
    },
    /// A message of a driver or scheduler.
    Message,
    /// A heading, or a line of blkparse's summary.
    Ignored,
    UnknownAction,
    Unreadable,
}

/// An event and the rest of its line.
pub(crate) struct Parsed<'a> {
    pub(crate) event: BlockEvent,
    /// 0 if the format has none.
    pub(crate) sequence: u32,
    /// The thread's name, if it is given.
    pub(crate) name: Option<&'a [u8]>,
    /// Whether the line ends as its action requires.
    pub(crate) whole: bool,
}

/// Prefixes of blkparse's summary lines and of ftrace's headings.
const HEADINGS: [&[u8]; 10] =
    [b"cpus=", b"#", b"CPU", b"Total", b"Throughput", b"Events", b"Skips", b"Input file", b"Reads ", b"Read "];
const SUMMARY: [&[u8]; 3] = [b"IO unplugs", b"Timer unplugs", b"PC "];

pub(crate) fn parse(line: &[u8]) -> Line<'_> {
    let mut words = Words { rest: line };
    let Some(first) = words.next() else { return Line::Ignored };
    if let Some((cpu, events)) = lost_events(line) {
        return Line::Lost { cpu, events };
    }
    if let Some(device) = device(first) {
        return parse_blkparse(device, words);
    }
    let trimmed = line.trim_ascii_start();
    if HEADINGS.iter().chain(&SUMMARY).any(|heading| trimmed.starts_with(heading)) {
        return Line::Ignored;
    }
    if let Some(table) = Table::of_heading(line) {
        return Line::Table(table);
    }
    let otherwise = if is_frame(first, line) { Line::Ignored } else { Line::Unreadable };
    parse_ftrace(line).or_else(|| row::parse(line).map(Line::Row)).unwrap_or(otherwise)
}

/// A function of a stack below an event: `=> schedule (ffffffff821f94c3)`, `ffffffff821f94c3 schedule+0x23 ([kernel])`.
fn is_frame(first: &[u8], line: &[u8]) -> bool {
    let is_address = first.len() >= 4 && first.iter().all(u8::is_ascii_hexdigit);
    first == b"=>" || is_address && line.trim_ascii_end().ends_with(b")")
}

/// `CPU:1 [LOST 42 EVENTS]`, `CPU:1 [42 EVENTS DROPPED]`, `CPU:1 [EVENTS DROPPED]`
fn lost_events(line: &[u8]) -> Option<(u32, u64)> {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"CPU:")?;
    let at = line.iter().position(|byte| *byte == b'[')?;
    let cpu = number(line[..at].trim_ascii())? as u32;
    let words = &line[at + 1..];
    if let Some(counted) = words.strip_prefix(b"LOST ") {
        return Some((cpu, number(Words { rest: counted }.next()?)?));
    }
    let count = words.strip_suffix(b"EVENTS DROPPED]")?.trim_ascii();
    // Nobody counted them.
    Some((cpu, number(count).unwrap_or(1)))
}

/// blkparse's line, and ftrace's classic one, which lacks the sequence number.
fn parse_blkparse(device: DeviceNumber, mut words: Words<'_>) -> Line<'_> {
    let columns = (|| {
        let cpu = number(words.next()?)?;
        let mut word = words.next()?;
        let mut sequence = 0;
        if !word.contains(&b'.') {
            sequence = number(word)?;
            word = words.next()?;
        }
        Some((cpu, sequence, time_ns(word)?, number(words.next()?)?))
    })();
    let Some((cpu, sequence, time_ns, pid)) = columns else { return Line::Unreadable };
    let event = BlockEvent { cpu: cpu as u32, pid: pid as u32, ..BlockEvent::new(time_ns, Action::Queue, device) };
    parse_action(event, sequence as u32, words)
}

/// ftrace's line: its own columns end with `SECONDS.MICROSECONDS:`.
fn parse_ftrace(line: &[u8]) -> Option<Line<'_>> {
    let mut words = Words { rest: line };
    let (time_ns, context) = loop {
        let context = line[..line.len() - words.rest.len()].trim_ascii();
        let word = words.next()?;
        if let Some(time) = word.strip_suffix(b":").and_then(time_ns) {
            break (time, context);
        }
        if let Some(time) = since_begin(word, &mut words) {
            break (time, context);
        }
    };
    // 'perf script -F time,event,trace' has no context.
    let (pid, cpu) = if context.is_empty() { (0, 0) } else { ftrace_context(context)? };
    let mut first = words.next()?;
    // The period of an event, which perf may add.
    if number(first).is_some() {
        first = words.next()?;
    }
    if let Some(name) = first.strip_suffix(b":") {
        let event = BlockEvent { cpu, pid, ..BlockEvent::new(time_ns, Action::Queue, DeviceNumber(0)) };
        return Some(match tracepoint::parse(name, event, words.rest) {
            tracepoint::Found::Event { event, name, whole } => Line::Event(Parsed { event, sequence: 0, name, whole }),
            tracepoint::Found::Other => Line::Ignored,
            tracepoint::Found::Unreadable => Line::Unreadable,
        });
    }
    let device = device(first)?;
    let mut event = BlockEvent { cpu, pid, ..BlockEvent::new(time_ns, Action::Queue, device) };
    let before_action = words.rest;
    let second = words.next();
    if let Some(cgroup) = second.and_then(cgroup) {
        event.cgroup = cgroup;
    } else if !second.is_some_and(|word| word.starts_with(b"/")) {
        words.rest = before_action;
    }
    Some(parse_action(event, 0, words))
}

/// The time of the latency format, in us since the first event: `12us :`, and `12us+:` or `12us!:` before a delay.
fn since_begin(word: &[u8], words: &mut Words<'_>) -> Option<u64> {
    let digits = word.iter().position(|byte| !byte.is_ascii_digit())?;
    let time_ns = number(&word[..digits])?.checked_mul(1000)?;
    match &word[digits..] {
        b"us" => (words.next()? == b":").then_some(time_ns),
        [b'u', b's', _, b':'] => Some(time_ns),
        _ => None,
    }
}

/// Thread and CPU from `name-PID [CPU] flags` or `name-PID  CPUflags`; the name may contain anything.
fn ftrace_context(context: &[u8]) -> Option<(u32, u32)> {
    latency_context(context).or_else(|| bracketed_context(context))
}

/// `name-PID  1d.s2`: the flags follow the CPU at once.
fn latency_context(context: &[u8]) -> Option<(u32, u32)> {
    let at = context.iter().rposition(u8::is_ascii_whitespace)?;
    let (task, flags) = (context[..at].trim_ascii_end(), &context[at + 1..]);
    let digits = flags.iter().position(|byte| !byte.is_ascii_digit())?;
    let dash = task.iter().rposition(|&byte| byte == b'-')?;
    Some((number(&task[dash + 1..])? as u32, number(&flags[..digits])? as u32))
}

fn bracketed_context(context: &[u8]) -> Option<(u32, u32)> {
    let close = context.iter().rposition(|&byte| byte == b']')?;
    let open = context[..close].iter().rposition(|&byte| byte == b'[')?;
    let cpu = number(&context[open + 1..close])?;
    let task = context[..open].trim_ascii_end();
    // With record-tgid the process follows the thread: `name-PID (TGID)`.
    let task =
        if task.ends_with(b")") { task[..task.iter().rposition(|&byte| byte == b'(')?].trim_ascii_end() } else { task };
    let dash = task.iter().rposition(|&byte| byte == b'-');
    let of_ftrace = dash.and_then(|dash| number(&task[dash + 1..]));
    // perf puts a space, and may add the process: `name PID/TID`.
    let of_perf = || number(task.rsplit(|byte| byte.is_ascii_whitespace() || *byte == b'/').next()?);
    Some((of_ftrace.or_else(of_perf)? as u32, cpu as u32))
}

/// `5c41,1`: low and high half of the cgroup's number.
fn cgroup(word: &[u8]) -> Option<u64> {
    let comma = word.iter().position(|&byte| byte == b',')?;
    let half = |part: &[u8]| u64::from_str_radix(std::str::from_utf8(part).ok()?, 16).ok();
    Some(half(&word[..comma])? | half(&word[comma + 1..])? << 32)
}

fn parse_action<'a>(mut event: BlockEvent, sequence: u32, mut words: Words<'a>) -> Line<'a> {
    let Some(letters) = words.next() else { return Line::Unreadable };
    if letters == b"m" {
        return Line::Message;
    }
    let Some(action) = Action::from_letters(letters) else {
        return if letters.len() <= 8 { Line::UnknownAction } else { Line::Unreadable };
    };
    event.action = action;
    let Some(kind) = words.next().and_then(Kind::from_rwbs) else { return Line::Unreadable };
    event.kind = kind;
    match parse_tail(&mut event, words.rest.trim_ascii()) {
        Some((name, whole)) => Line::Event(Parsed { event, sequence, name, whole }),
        None => Line::Unreadable,
    }
}

/// Some versions write the class of priority before the sector: `N 262144 + 8`.
fn after_class(tail: &[u8]) -> &[u8] {
    let mut words = Words { rest: tail };
    let class = words.next().unwrap_or_default();
    let rest = words.rest;
    let has_extent = words.next().and_then(number).is_some() && words.next() == Some(b"+");
    let is_class = class.len() <= 4 && class.iter().all(u8::is_ascii_alphabetic);
    if is_class && has_extent { rest } else { tail }
}

/// Parses the columns after RWBS, which depend on the action. Returns the thread's name and whether the line is
/// complete.
fn parse_tail<'a>(event: &mut BlockEvent, tail: &'a [u8]) -> Option<(Option<&'a [u8]>, bool)> {
    let (bracketed, after) = bracketed(tail);
    let mut words = Words { rest: after_class(tail) };
    let first = words.next().unwrap_or_default();
    let has_extent = match number(first) {
        // Columns that somebody chose (`blkparse -f`) may mean anything.
        Some(_) if Words { rest: words.rest }.next().is_some_and(|word| number(word).is_some()) => return None,
        Some(value) => {
            parse_extent(event, value, &mut words);
            true
        }
        None => false,
    };
    match event.action {
        Action::Complete => {
            if !has_extent {
                event.kind = event.kind.with(Kind::PASSTHROUGH);
            }
            event.error = bracketed.and_then(error).unwrap_or(0);
            Some((None, bracketed.is_some()))
        }
        Action::Remap => Some((None, event.argument != 0)),
        Action::Unplug | Action::TimerUnplug | Action::ZoneUnplug => {
            let count = number(after.trim_ascii());
            event.argument = count.unwrap_or(0);
            Some((bracketed, count.is_some()))
        }
        _ => Some((bracketed, bracketed.is_some())),
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, parse};

    #[test]
    fn stacks_are_no_damage_and_dropped_events_are_lost() {
        for frame in ["=> schedule (ffffffff821f94c3)", "\tffffffff821f94c3 schedule+0x23 ([kernel.kallsyms])"] {
            assert!(matches!(parse(frame.as_bytes()), Line::Ignored), "{frame}");
        }
        for (line, expected) in
            [("CPU:1 [LOST 42 EVENTS]", 42), ("CPU:1 [76 EVENTS DROPPED]", 76), ("CPU:1 [EVENTS DROPPED]", 1)]
        {
            assert!(matches!(parse(line.as_bytes()), Line::Lost { cpu: 1, events } if events == expected), "{line}");
        }
        assert!(matches!(parse(b"abcd efgh"), Line::Unreadable));
    }

    #[test]
    fn a_line_has_its_time_task_and_cpu_in_each_form() {
        let event = "block_rq_issue: 259,0 R 4096 () 2048 + 8 [dd]";
        for (context, expected) in [
            ("  dd-4711    [003] ...1.  100.000010: ", (100_000_010_000, 4711, 3)),
            ("  dd-4711   3...1  100.000010: ", (100_000_010_000, 4711, 3)),
            ("  a b-4711    3d.s2    12us+: ", (12_000, 4711, 3)),
            ("  dd-4711   13....    12us : ", (12_000, 4711, 13)),
            ("dd 4711 [003] 100.000010:          1 block:", (100_000_010_000, 4711, 3)),
            ("   100.000010:  block:", (100_000_010_000, 0, 0)),
        ] {
            let line = format!("{context}{event}");
            let Line::Event(found) = parse(line.as_bytes()) else { panic!("{line}") };
            let found = found.event;
            assert_eq!((found.time_ns, found.pid, found.cpu), expected, "{line}");
            assert_eq!((found.sector, found.bytes), (2048, 4096), "{line}");
        }
    }

    #[test]
    fn columns_of_a_format_of_ones_own_are_not_read() {
        assert!(matches!(parse(b"8,0 3 1 0.000000000 4711 Q R 2048 + 8 [dd]"), Line::Event(_)));
        for line in ["8,0 3 1 0.000000000 4711 Q R 2048 8 dd", "8,0 3 2 0.000000000 0 C R 2048 8 [0]"] {
            assert!(matches!(parse(line.as_bytes()), Line::Unreadable), "{line}");
        }
    }
}
