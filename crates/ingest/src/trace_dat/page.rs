//! A page of the kernel's ring buffer of events: a time, a length, and events with the time since the one before.

use std::ops::Range;

use crate::event_formats::{field, number};

/// Kinds of entries beside events, whose kind is their length.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of a time in an entry's first word.
const DELTA_BITS: u32 = 27;
/// What a time stamp, which has fewer bits, does not change.
const UPPER_TIME: u64 = 0xf8 << 56;
/// In the word of the length: events before this page are lost; how many, follows after the events.
const LOST: u64 = 1 << 31;
const LOST_STORED: u64 = 1 << 30;
const LENGTH: u64 = (1 << DELTA_BITS) - 1;
/// Larger pages come from a damaged file.
const MOST_PAGE_BYTES: usize = 1 << 20;

/// How a kernel lays out its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageLayout {
    pub(crate) page_bytes: usize,
    /// Size of the word of the length, which is that of the kernel's `long`.
    pub(crate) long_bytes: usize,
    data_at: usize,
    is_big_endian: bool,
}

impl PageLayout {
    /// By `events/header_page`. `None`: it is damaged.
    pub(crate) fn parse(header: &[u8], page_bytes: usize, is_big_endian: bool) -> Option<PageLayout> {
        let header = String::from_utf8_lossy(header);
        let of = |name: &str| {
            let mut fields = header.lines().filter_map(|line| field(line.trim_start().strip_prefix("field:")?));
            fields.find(|field| field.name == name)
        };
        let (commit, data) = (of("commit")?, of("data")?);
        let fits = commit.offset == 8 && [4, 8].contains(&commit.size) && (12..64).contains(&data.offset);
        let layout = PageLayout { page_bytes, long_bytes: commit.size, data_at: data.offset, is_big_endian };
        (fits && (64..=MOST_PAGE_BYTES).contains(&page_bytes)).then_some(layout)
    }
}

/// A page, event after event.
#[derive(Debug)]
pub(crate) struct Page {
    bytes: Vec<u8>,
    is_big_endian: bool,
    at: usize,
    end: usize,
    now: u64,
    /// Events before it that are lost; 1 if nobody counted them.
    pub(crate) lost: u64,
}

impl Page {
    pub(crate) fn new(bytes: Vec<u8>, layout: PageLayout) -> Page {
        let number = |at: usize, size: usize| {
            at.checked_add(size).and_then(|end| bytes.get(at..end)).map(|bytes| number(bytes, layout.is_big_endian))
        };
        let now = number(0, 8).unwrap_or(0);
        let length = number(8, layout.long_bytes).unwrap_or(0);
        let end = layout.data_at.saturating_add((length & LENGTH) as usize).min(bytes.len());
        let lost = match length & LOST {
            0 => 0,
            _ => number(end, layout.long_bytes).filter(|_| length & LOST_STORED != 0).unwrap_or(1).max(1),
        };
        Page { is_big_endian: layout.is_big_endian, at: layout.data_at, end, now, lost, bytes }
    }

    /// The next event: its time, and where its bytes are.
    pub(crate) fn next(&mut self) -> Option<(u64, Range<usize>)> {
        loop {
            let head = self.word()?;
            let (kind, delta) = match self.is_big_endian {
                true => (head >> DELTA_BITS, head & LENGTH as u32),
                false => (head & 31, head >> 5),
            };
            let delta = u64::from(delta);
            match kind {
                // The rest of the page.
                PADDING if delta == 0 => return None,
                PADDING => {
                    self.now = self.now.wrapping_add(delta);
                    let length = self.word()? as usize;
                    self.skip(length.saturating_sub(4));
                }
                TIME_EXTEND => {
                    let upper = u64::from(self.word()?) << DELTA_BITS;
                    self.now = self.now.wrapping_add(upper + delta);
                }
                TIME_STAMP => self.now = self.now & UPPER_TIME | u64::from(self.word()?) << DELTA_BITS | delta,
                0 => {
                    let length = (self.word()? as usize).checked_sub(4)?;
                    return self.event(delta, length);
                }
                words => return self.event(delta, words as usize * 4),
            }
        }
    }

    pub(crate) fn bytes(&self, event: Range<usize>) -> &[u8] {
        &self.bytes[event]
    }

    fn event(&mut self, delta: u64, length: usize) -> Option<(u64, Range<usize>)> {
        self.now = self.now.wrapping_add(delta);
        let begin = self.at;
        let end = begin.checked_add(length).filter(|end| *end <= self.end)?;
        self.skip(length);
        Some((self.now, begin..end))
    }

    fn word(&mut self) -> Option<u32> {
        let word = self.bytes.get(self.at..self.end)?.get(..4)?;
        self.at += 4;
        Some(number(word, self.is_big_endian) as u32)
    }

    /// Entries begin at words.
    fn skip(&mut self, length: usize) {
        self.at = self.at.saturating_add(length.next_multiple_of(4)).min(self.end);
    }
}

#[cfg(test)]
mod tests {
    use super::{Page, PageLayout};

    pub(crate) const HEADER: &[u8] = b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    fn page(words: &[u32], flags: u64, lost: u64) -> Page {
        let layout = PageLayout::parse(HEADER, 4096, false).unwrap();
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let commit = data.len() as u64 | flags;
        let mut bytes = [&1000_u64.to_le_bytes()[..], &commit.to_le_bytes(), &data, &lost.to_le_bytes()].concat();
        bytes.resize(4096, 0);
        Page::new(bytes, layout)
    }

    fn events(mut page: Page) -> Vec<(u64, Vec<u8>)> {
        let mut events = Vec::new();
        while let Some((at, range)) = page.next() {
            events.push((at, page.bytes(range).to_vec()));
        }
        events
    }

    #[test]
    fn events_are_as_far_apart_as_their_entries_say() {
        let words = [
            1 | 5 << 5,
            0xaa, // 4 bytes, 5 ns later
            30 | 1 << 5,
            2, // 2 << 27, and 1
            29 | 3 << 5,
            8,
            0xdead, // discarded, 3 ns later
            7 << 5,
            12,
            0xbb,
            0xcc, // 8 bytes with a length of their own
            31 | 9 << 5,
            4, // at 4 << 27, and 9
            2 | 1 << 5,
            0xdd,
            0xee,
            29,
            1, // the end
        ];
        let bytes = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
        let expected = [
            (1005, bytes(&[0xaa])),
            (1005 + (2 << 27) + 1 + 3 + 7, bytes(&[0xbb, 0xcc])),
            ((4 << 27) + 9 + 1, bytes(&[0xdd, 0xee])),
        ];
        // The time of the entry with its own length is 7 ns after the one before.
        let mut words = words;
        words[7] = 7 << 5;
        assert_eq!(events(page(&words, 0, 0)), expected);
    }

    #[test]
    fn losses_are_counted_where_the_kernel_did() {
        assert_eq!(page(&[], 0, 77).lost, 0);
        assert_eq!(page(&[1, 2], 1 << 31 | 1 << 30, 77).lost, 77);
        assert_eq!(page(&[1, 2], 1 << 31, 77).lost, 1);
    }

    #[test]
    fn an_event_longer_than_its_page_is_none() {
        assert_eq!(events(page(&[5, 1], 0, 0)), []);
        assert_eq!(events(page(&[0, u32::MAX], 0, 0)), []);
        assert_eq!(events(page(&[0, 0], 0, 0)), []);
    }
}
