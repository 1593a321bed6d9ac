//! Block requests of a time, looked for among millions: of each batch of the archive its span and its longest request are known,
//! so that most batches need not be read; and no more requests are held than are told.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt::Write as _;

use archive::Run;
use explain::blame::Books;
use model::block::{DeviceNumber, Kind};
use model::stall::RequestRecord;

/// What is known of each batch of a run's requests, in their order.
#[derive(Debug, Default)]
pub struct RequestIndex {
    batches: Vec<Span>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    from_ns: u64,
    to_ns: u64,
    longest_ns: u64,
    rows: u64,
}

impl RequestIndex {
    /// Adds the next batch; one that cannot be read has no rows.
    pub fn batch(&mut self, rows: &[RequestRecord]) {
        let mut span = Span { from_ns: u64::MAX, to_ns: 0, longest_ns: 0, rows: rows.len() as u64 };
        for row in rows {
            span.from_ns = span.from_ns.min(began_ns(row));
            span.to_ns = span.to_ns.max(row.completed_ns);
            span.longest_ns = span.longest_ns.max(lived_ns(row));
        }
        self.batches.push(span);
    }

    /// The longest of the requests that were under way between two moments and whose kind, device, sector or task hold the text,
    /// and how many there are in all.
    pub fn search(
        &self,
        run: &Run,
        books: Option<&Books>,
        asked: &Asked<'_>,
        most: usize,
    ) -> (Vec<RequestRecord>, u64) {
        let mut numbers: Vec<usize> = (0..self.batches.len()).collect();
        numbers.retain(|number| self.batches[*number].rows > 0);
        numbers.retain(|number| {
            self.batches[*number].to_ns >= asked.from_ns && self.batches[*number].from_ns <= asked.to_ns
        });
        numbers.sort_by_key(|number| Reverse(self.batches[*number].longest_ns));
        let mut longest: BinaryHeap<Reverse<Kept>> = BinaryHeap::new();
        let mut all = 0;
        for number in numbers {
            let span = self.batches[number];
            let is_within = asked.from_ns <= span.from_ns && span.to_ns <= asked.to_ns;
            let is_short =
                longest.len() == most && longest.peek().is_some_and(|Reverse(shortest)| shortest.0 >= span.longest_ns);
            if asked.text.is_empty() && is_within && is_short {
                all += span.rows;
                continue;
            }
            let mut words = Words::new(&asked.text, books);
            for row in run.requests().chosen(&[number]).filter_map(Result::ok).flatten() {
                let is_its = row.completed_ns >= asked.from_ns && began_ns(&row) <= asked.to_ns;
                if !is_its || !words.hold(&row) {
                    continue;
                }
                all += 1;
                if longest.len() < most || longest.peek().is_some_and(|Reverse(shortest)| shortest.0 < lived_ns(&row)) {
                    longest.push(Reverse(Kept(lived_ns(&row), row)));
                    if longest.len() > most {
                        longest.pop();
                    }
                }
            }
        }
        // Sorted so, the longest are first.
        (longest.into_sorted_vec().into_iter().map(|Reverse(kept)| kept.1).collect(), all)
    }
}

/// What is looked for.
#[derive(Debug)]
pub struct Asked<'a> {
    /// From when on.
    pub from_ns: u64,
    /// Until when.
    pub to_ns: u64,
    /// In lower case; empty: anything.
    pub text: Cow<'a, str>,
}

/// The words of requests, `kind device sector task`, in lower case.
struct Words<'a> {
    text: &'a str,
    /// Whether a sector's digits may be a part of what is looked for.
    has_digit: bool,
    books: Option<&'a Books>,
    /// Words before and after the sector. A task is called as it was at its first request of the batch.
    known: HashMap<(Kind, DeviceNumber, u32), [String; 2]>,
    buffer: String,
}

impl<'a> Words<'a> {
    fn new(text: &'a str, books: Option<&'a Books>) -> Words<'a> {
        let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
        Words { text, has_digit, books, known: HashMap::new(), buffer: String::new() }
    }

    fn hold(&mut self, row: &RequestRecord) -> bool {
        if self.text.is_empty() {
            return true;
        }
        let [before, after] = self.known.entry((row.kind, row.device, row.tid)).or_insert_with(|| {
            let task = self.books.map(|books| books.who(row.tid, row.completed_ns).to_string()).unwrap_or_default();
            [format!("{} {} ", row.kind, row.device).to_lowercase(), format!(" {}", task.to_lowercase())]
        });
        if before.contains(self.text) || after.contains(self.text) {
            return true;
        }
        if !self.has_digit {
            return false;
        }
        self.buffer.clear();
        let _ = write!(self.buffer, "{before}{}{after}", row.sector);
        self.buffer.contains(self.text)
    }
}

/// Ordered by how long it lived.
struct Kept(u64, RequestRecord);

impl Kept {
    fn key(&self) -> (u64, u64, u32) {
        (self.0, self.1.completed_ns, self.1.request)
    }
}
impl PartialEq for Kept {
    fn eq(&self, other: &Kept) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Kept {}
impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Kept) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Kept {
    fn cmp(&self, other: &Kept) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

fn began_ns(row: &RequestRecord) -> u64 {
    let seen = [row.queued_ns, row.got_ns, row.inserted_ns, row.issued_ns];
    seen.into_iter().flatten().min().unwrap_or(row.completed_ns).min(row.completed_ns)
}

fn lived_ns(row: &RequestRecord) -> u64 {
    row.completed_ns - began_ns(row)
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use archive::{FlushState, Run, Writer, WriterOptions};
    use model::block::{DeviceNumber, Kind, Operation};
    use model::run::RunDescription;
    use model::stall::{RequestRecord, Traced};
    use model::time::Moment;

    use super::{Asked, RequestIndex, began_ns, lived_ns};

    /// Begun each 10 ns, and longest where the number ends with the most nines.
    fn request(number: u32) -> RequestRecord {
        let began_ns = 1_000 + u64::from(number) * 10;
        RequestRecord {
            request: number,
            device: DeviceNumber::new(7, number % 3),
            sector: u64::from(number) * 8,
            bytes: 4096,
            kind: Kind::of(if number.is_multiple_of(4) { Operation::Write } else { Operation::Read }),
            tid: 1,
            merges: 0,
            queued_ns: Some(began_ns),
            got_ns: None,
            inserted_ns: None,
            issued_ns: Some(began_ns + 1),
            completed_ns: began_ns + 1 + u64::from(number.wrapping_mul(2_654_435_761) >> 22),
            errno: None,
            throttled: false,
            in_flight: Vec::new(),
            overtaken_by: Vec::new(),
        }
    }

    fn written(folder: &std::path::Path) -> (Run, RequestIndex) {
        let path = folder.join("run");
        let description = RunDescription::new("record", Moment { monotonic_ns: 1, wall_ns: 1 });
        let options = WriterOptions { sync: false, consolidate_after_flushes: 2, ..WriterOptions::default() };
        let mut writer = Writer::create(&path, &description, options).unwrap();
        for number in 0..5_000 {
            let mut traced = Traced { requests: vec![request(number)], ..Traced::default() };
            writer.traced(&mut traced);
            if number % 500 == 0 {
                let now = Moment { monotonic_ns: u64::from(number) * 1_000_000_000, wall_ns: 1 };
                assert_eq!(writer.flush(now), FlushState::Whole);
            }
        }
        writer.close(Moment { monotonic_ns: u64::MAX / 2, wall_ns: 1 }).unwrap();
        let run = Run::open(&path).unwrap();
        let mut index = RequestIndex::default();
        run.requests().for_each(|rows| index.batch(&rows.unwrap()));
        (run, index)
    }

    #[test]
    fn what_is_found_is_what_reading_everything_finds() {
        let folder = tempfile::tempdir().unwrap();
        let (run, index) = written(folder.path());
        assert!(index.batches.len() > 3, "{}", index.batches.len());
        let check = |from_ns: u64, to_ns: u64, text: &str, most: usize| {
            let (found, all) = index.search(&run, None, &Asked { from_ns, to_ns, text: text.into() }, most);
            let words = |row: &RequestRecord| format!("{} {} {} ", row.kind, row.device, row.sector).to_lowercase();
            let mut expected: Vec<RequestRecord> = (0..5_000).map(request).collect();
            expected.retain(|row| row.completed_ns >= from_ns && began_ns(row) <= to_ns && words(row).contains(text));
            assert_eq!(all, expected.len() as u64, "{from_ns} {to_ns} {text}");
            expected.sort_by_key(|row| Reverse((lived_ns(row), row.completed_ns, row.request)));
            expected.truncate(most);
            let lives = |rows: &[RequestRecord]| rows.iter().map(lived_ns).collect::<Vec<_>>();
            assert_eq!(lives(&found), lives(&expected), "{from_ns} {to_ns} {text}");
        };
        for (from_ns, to_ns) in [(0, u64::MAX), (20_000, 21_000), (0, 999), (51_000, u64::MAX)] {
            for text in ["", "w", "7,1", "1600", "7,2 16", "nothing"] {
                check(from_ns, to_ns, text, 7);
                check(from_ns, to_ns, text, 100_000);
            }
        }
    }
}
