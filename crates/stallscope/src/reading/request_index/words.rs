//! The words of requests, `kind device sector task`, in lower case, and whether they contain a text.

use std::collections::HashMap;
use std::fmt::Write as _;

use explain::blame::Accounting;
use model::block::{DeviceNumber, Kind};
use model::stall::RequestRecord;

/// Which requests of a group contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fits {
    /// All of them.
    All,
    /// Those with a matching sector.
    BySector,
    /// None of them.
    None,
}

/// A text to search for in the requests of one batch.
pub(super) struct Words<'a> {
    text: &'a str,
    accounting: Option<&'a Accounting>,
    /// Words before and after the sector. A task has its name at the first request of the batch.
    cache: HashMap<(Kind, DeviceNumber, u32), (Fits, [String; 2])>,
    buffer: String,
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a str, accounting: Option<&'a Accounting>) -> Words<'a> {
        Words { text, accounting, cache: HashMap::new(), buffer: String::new() }
    }

    /// For requests of that kind, device and thread; the first ended at `at_ns`.
    pub(super) fn fit(&mut self, of: (Kind, DeviceNumber, u32), at_ns: u64) -> Fits {
        self.words(of, at_ns).0
    }

    pub(super) fn hold(&mut self, row: &RequestRecord) -> bool {
        if self.text.is_empty() {
            return true;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let text = self.text;
        let (fits, [before, after]) = self.words((row.kind, row.device, row.tid), row.completed_ns);
        let held = match fits {
            Fits::All => true,
            Fits::None => false,
            Fits::BySector => {
                buffer.clear();
                let _ = write!(buffer, "{before}{}{after}", row.sector);
                buffer.contains(text)
            }
        };
        self.buffer = buffer;
        held
    }

    fn words(&mut self, of: (Kind, DeviceNumber, u32), at_ns: u64) -> &(Fits, [String; 2]) {
        let Words { text, accounting, cache, .. } = self;
        cache.entry(of).or_insert_with(|| {
            let (kind, device, tid) = of;
            let task = accounting.map(|accounting| accounting.thread(tid, at_ns).to_string()).unwrap_or_default();
            let before = format!("{kind} {device} ").to_lowercase();
            let after = format!(" {}", task.to_lowercase());
            (fits(text, &before, &after), [before, after])
        })
    }
}

/// Whether `before`, any digits and `after` together contain the text.
fn fits(text: &str, before: &str, after: &str) -> Fits {
    if before.contains(text) || after.contains(text) {
        return Fits::All;
    }
    // A match with digits of the sector begins with them, or with the end of `before`, which is a space.
    let begins = std::iter::once(0).chain(text.match_indices(' ').map(|(at, _)| at + 1));
    let by_sector = begins.filter(|&at| before.ends_with(&text[..at])).any(|at| {
        let rest = text[at..].trim_start_matches(|letter: char| letter.is_ascii_digit());
        rest.len() < text.len() - at && after.starts_with(rest)
    });
    if by_sector { Fits::BySector } else { Fits::None }
}

#[cfg(test)]
mod tests {
    use super::{Fits, fits};

    #[test]
    fn a_text_matches_around_the_sector_or_by_its_digits() {
        let check = |text: &str, expected: Fits| assert_eq!(fits(text, "w 8,0 ", " fio/12"), expected, "{text}");
        for text in ["w", "8,0", "w 8,0", "fio", "fio/12", "12", " ", "0 "] {
            check(text, Fits::All);
        }
        for text in ["7", "1600", "w 8,0 16", "0 9", "77 fio", "0 9 f", "3 ", " 4"] {
            check(text, Fits::BySector);
        }
        for text in ["r", "8,1", "r 8,0", "fio/13", "8,0 fio", "9,0 16", "16 dd", "0 9 d", "1a"] {
            check(text, Fits::None);
        }
    }
}
