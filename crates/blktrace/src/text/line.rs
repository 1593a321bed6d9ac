//! One line of text.
//!
//!   8,0    1       42     0.000301   1234  Q  WS 655424 + 2048 [dd]            blkparse
//!   7,2    1  2857.135002985 14344  Q  WS 598208 + 2080 [dd]                   ftrace, blk_classic
//!   dd-14344 [001] .....  2857.135003:   7,2    Q  WS 598208 + 2080 [dd]       ftrace
//!
//! Columns are separated by white space, so a major of three digits, which has no space before it, parses like any other.

use model::block::{Action, BlockEvent, DeviceNumber, Kind};

/// Kinds of lines.
pub(crate) enum Line<'a> {
    Event(Parsed<'a>),
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
const HEADINGS: [&[u8]; 9] =
    [b"#", b"CPU", b"Total", b"Throughput", b"Events", b"Skips", b"Input file", b"Reads ", b"Read "];
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
    parse_ftrace(line).unwrap_or(Line::Unreadable)
}

/// `CPU:1 [LOST 42 EVENTS]`
fn lost_events(line: &[u8]) -> Option<(u32, u64)> {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"CPU:")?;
    let at = line.windows(6).position(|part| part == b"[LOST ")?;
    let cpu = number(line[..at].trim_ascii())?;
    Some((cpu as u32, number(Words { rest: &line[at + 6..] }.next()?)?))
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
    let time_ns = loop {
        let word = words.next()?;
        if let Some(time) = word.strip_suffix(b":").and_then(time_ns) {
            break time;
        }
    };
    let context = &line[..line.len() - words.rest.len()];
    let (pid, cpu) = ftrace_context(context)?;
    let device = device(words.next()?)?;
    let mut event = BlockEvent { cpu, pid, ..BlockEvent::new(time_ns, Action::Queue, device) };
    let before_action = words.rest;
    if let Some(cgroup) = words.next().and_then(cgroup) {
        event.cgroup = cgroup;
    } else {
        words.rest = before_action;
    }
    Some(parse_action(event, 0, words))
}

/// Thread and CPU from `name-PID [CPU] flags`; the name may contain anything.
fn ftrace_context(context: &[u8]) -> Option<(u32, u32)> {
    let close = context.iter().rposition(|&byte| byte == b']')?;
    let open = context[..close].iter().rposition(|&byte| byte == b'[')?;
    let cpu = number(&context[open + 1..close])?;
    let task = context[..open].trim_ascii_end();
    // With record-tgid the process follows the thread: `name-PID (TGID)`.
    let task =
        if task.ends_with(b")") { task[..task.iter().rposition(|&byte| byte == b'(')?].trim_ascii_end() } else { task };
    let dash = task.iter().rposition(|&byte| byte == b'-')?;
    Some((number(&task[dash + 1..])? as u32, cpu as u32))
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

/// Parses the columns after RWBS, which depend on the action. Returns the thread's name and whether the line is complete.
fn parse_tail<'a>(event: &mut BlockEvent, tail: &'a [u8]) -> Option<(Option<&'a [u8]>, bool)> {
    let (bracketed, after) = bracketed(tail);
    let mut words = Words { rest: tail };
    let first = words.next().unwrap_or_default();
    let has_extent = match number(first) {
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

/// `SECTOR + COUNT`, `SECTOR / SECTOR`, `SECTOR + COUNT <- (MAJOR,MINOR) SECTOR`, or a passthrough command's `BYTES`.
fn parse_extent(event: &mut BlockEvent, value: u64, words: &mut Words<'_>) {
    let sign = words.next().unwrap_or_default();
    match sign {
        b"+" => {
            event.sector = value;
            let sectors = words.next().and_then(number).unwrap_or(0);
            event.bytes = u32::try_from(sectors.saturating_mul(512)).unwrap_or(u32::MAX);
            if words.next() == Some(b"<-") {
                let from = words.next().and_then(|word| device(word.strip_prefix(b"(")?.strip_suffix(b")")?));
                event.from_device = from.unwrap_or_default();
                event.argument = words.next().and_then(number).unwrap_or(0);
            }
        }
        b"/" => {
            event.sector = value;
            event.argument = words.next().and_then(number).unwrap_or(0);
            // blkparse does not print the first piece's length, but the second piece begins at its end.
            event.bytes = u32::try_from(event.argument.saturating_sub(value).saturating_mul(512)).unwrap_or(0);
        }
        _ if event.action == Action::Complete => event.sector = value,
        _ => {
            event.bytes = u32::try_from(value).unwrap_or(u32::MAX);
            event.kind = event.kind.with(Kind::PASSTHROUGH);
        }
    }
}

/// The text in the outermost square brackets, and the text after them.
fn bracketed(tail: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let open = tail.iter().position(|&byte| byte == b'[');
    let close = tail.iter().rposition(|&byte| byte == b']');
    match (open, close) {
        (Some(open), Some(close)) if open < close => (Some(&tail[open + 1..close]), &tail[close + 1..]),
        _ => (None, &[]),
    }
}

/// An errno: negative, or as the unsigned field of the kernel.
fn error(word: &[u8]) -> Option<u16> {
    let (negative, digits) = match word.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, word),
    };
    let value = number(digits)?;
    Some(if negative { value as u16 } else { (value as u16 as i16).unsigned_abs() })
}

fn device(word: &[u8]) -> Option<DeviceNumber> {
    let comma = word.iter().position(|&byte| byte == b',')?;
    let (major, minor) = (number(&word[..comma])?, number(&word[comma + 1..])?);
    (major < 1 << 12 && minor < 1 << 20).then(|| DeviceNumber::new(major as u32, minor as u32))
}

/// `SECONDS.FRACTION` in ns; a fraction of more than nine digits is invalid.
fn time_ns(word: &[u8]) -> Option<u64> {
    let dot = word.iter().position(|&byte| byte == b'.')?;
    let fraction = &word[dot + 1..];
    let scale = 10_u64.checked_pow(9_u32.checked_sub(fraction.len() as u32)?)?;
    number(&word[..dot])?.checked_mul(1_000_000_000)?.checked_add(number(fraction)? * scale)
}

fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 20 {
        return None;
    }
    word.iter().try_fold(0_u64, |value, &digit| {
        let digit = u64::from(digit.wrapping_sub(b'0'));
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(digit) }
    })
}

struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.trim_ascii_start();
        if start.is_empty() {
            return None;
        }
        let end = start.iter().position(u8::is_ascii_whitespace).unwrap_or(start.len());
        self.rest = &start[end..];
        Some(&start[..end])
    }
}
