//! Devices, kinds of requests and counts of kinds, as the text that blkparse has for them: `7,0`, `RM`, `R445 RM22`.

use std::fmt::Write;
use std::sync::LazyLock;

use model::block::{DeviceNumber, Kind};
use model::stall::KindCounts;

/// The letters of each kind, by its number: a million rows need not write them a million times.
static LETTERS: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..=u8::MAX).map(|number| Kind::from_number(number).to_string()).collect());

/// A kind's letters. That a command was passed through to the driver is not in them.
pub(crate) fn letters(kind: Kind) -> &'static str {
    &LETTERS[usize::from(kind.number())]
}

/// The kind of these letters.
pub(crate) fn kind(letters: &str) -> Option<Kind> {
    Kind::from_rwbs(letters.as_bytes()).filter(|_| !letters.is_empty())
}

/// Writes a device's number.
pub(crate) fn write_device(device: &DeviceNumber, text: &mut String) {
    let _ = write!(text, "{},{}", device.major(), device.minor());
}

/// The device of that number.
pub(crate) fn device(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(',')?;
    Some(DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?))
}

/// Writes how many there are of each kind; nothing for none.
pub(crate) fn write_counts(counts: &KindCounts, text: &mut String) {
    for (number, (kind, count)) in counts.iter().enumerate() {
        let space = if number > 0 { " " } else { "" };
        let _ = write!(text, "{space}{}{count}", letters(*kind));
    }
}

/// How many there are of each kind.
pub(crate) fn counts(text: &str) -> Option<KindCounts> {
    text.split_ascii_whitespace()
        .map(|word| {
            let digits = word.find(|letter: char| letter.is_ascii_digit())?;
            Some((kind(&word[..digits])?, word[digits..].parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use model::block::{DeviceNumber, Kind, Operation};

    use super::{counts, device, kind, letters, write_counts, write_device};

    #[test]
    fn kinds_counts_and_devices_read_back() {
        for kind_ in (0..128).map(Kind::from_number) {
            assert_eq!(kind(letters(kind_)), Some(kind_));
        }
        let several = vec![(Kind::of(Operation::Read), 445), (Kind::of(Operation::Write).with(Kind::META), 1)];
        for written in [several, Vec::new()] {
            let mut text = String::new();
            write_counts(&written, &mut text);
            assert_eq!(counts(&text), Some(written), "{text}");
        }
        let mut text = String::new();
        write_device(&DeviceNumber::new(259, 1_000_000), &mut text);
        assert_eq!((text.as_str(), device(&text)), ("259,1000000", Some(DeviceNumber::new(259, 1_000_000))));
    }

    #[test]
    fn other_text_is_no_count_and_no_device() {
        for text in ["R", "5", "Q5", "R4294967296", "R-1", "R5x"] {
            assert_eq!(counts(text), None, "{text}");
        }
        for text in ["", "7", "7,", "7:0", "7,x"] {
            assert_eq!(device(text), None, "{text}");
        }
    }
}
