//! The fields of lines: extents, devices, times, errors, words.

use model::block::{Action, BlockEvent, DeviceNumber, Kind};

/// `SECTOR + COUNT`, `SECTOR / SECTOR`, `SECTOR + COUNT <- (MAJOR,MINOR) SECTOR`, or a passthrough command's `BYTES`.
pub(super) fn parse_extent(event: &mut BlockEvent, value: u64, words: &mut Words<'_>) {
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
pub(super) fn bracketed(tail: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let open = tail.iter().position(|&byte| byte == b'[');
    let close = tail.iter().rposition(|&byte| byte == b']');
    match (open, close) {
        (Some(open), Some(close)) if open < close => (Some(&tail[open + 1..close]), &tail[close + 1..]),
        _ => (None, &[]),
    }
}

/// An errno: negative, or as the unsigned field of the kernel.
pub(super) fn error(word: &[u8]) -> Option<u16> {
    let (negative, digits) = match word.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, word),
    };
    let value = number(digits)?;
    // Until 2.6.36 or so the field was 1 for success: "up to date". No I/O fails with EPERM.
    if value == 1 && !negative {
        return Some(0);
    }
    Some(if negative { value as u16 } else { (value as u16 as i16).unsigned_abs() })
}

pub(super) fn device(word: &[u8]) -> Option<DeviceNumber> {
    let comma = word.iter().position(|&byte| byte == b',')?;
    let (major, minor) = (number(&word[..comma])?, number(&word[comma + 1..])?);
    (major < 1 << 12 && minor < 1 << 20).then(|| DeviceNumber::new(major as u32, minor as u32))
}

/// `SECONDS.FRACTION` in ns; a fraction of more than nine digits is invalid.
pub(super) fn time_ns(word: &[u8]) -> Option<u64> {
    let dot = word.iter().position(|&byte| byte == b'.')?;
    let fraction = &word[dot + 1..];
    let scale = 10_u64.checked_pow(9_u32.checked_sub(fraction.len() as u32)?)?;
    number(&word[..dot])?.checked_mul(1_000_000_000)?.checked_add(number(fraction)? * scale)
}

pub(super) fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 20 {
        return None;
    }
    word.iter().try_fold(0_u64, |value, &digit| {
        let digit = u64::from(digit.wrapping_sub(b'0'));
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(digit) }
    })
}

pub(super) struct Words<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.trim_ascii_start();
        if start.is_empty() {
            return None;
        }
        let end = start.iter().position(u8::is_ascii_whitespace).unwrap_or(start.len());
        self.rest = &start[end..];
        Some(&start[..end])
    }
}
