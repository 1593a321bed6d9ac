//! An index to search millions of block requests by time and text. It holds the span and the kinds of requests of each
//! batch of the archive, so most batches need not be read. A search holds no more requests than it returns.

mod words;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use archive::Run;
use explain::blame::Accounting;
use model::block::{DeviceNumber, Kind};
use model::stall::RequestRecord;
use page::Longest;

use self::words::{Fits, Words};

/// A batch with more groups than this is always read: its index would be as large as the batch.
const MAX_GROUPS: usize = 256;

/// The index of a run's batches of requests, in order.
#[derive(Debug, Default)]
pub struct RequestIndex {
    batches: Vec<Batch>,
}

#[derive(Debug)]
struct Batch {
    from_ns: u64,
    to_ns: u64,
    total: Total,
    /// `None`: too many to keep.
    groups: Option<Vec<RequestGroup>>,
}

/// Number of requests, and the lifetime of the longest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Total {
    rows: u64,
    longest_ns: u64,
}

impl Total {
    fn add(&mut self, other: Total) {
        self.rows += other.rows;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// Requests of a batch that differ only in time, size and sector.
#[derive(Debug)]
struct RequestGroup {
    of: (Kind, DeviceNumber, u32),
    /// End of the first: it selects the task's name.
    at_ns: u64,
    total: Total,
}

/// A batch that may hold a match.
#[derive(Debug, PartialEq, Eq)]
struct Candidate {
    number: usize,
    /// No match is longer.
    longest_ns: u64,
    /// The number of matches, if known without reading.
    rows: Option<u64>,
}

impl RequestIndex {
    /// Adds the next batch; an unreadable batch has no rows.
    pub fn batch(&mut self, rows: &[RequestRecord]) {
        let mut batch = Batch { from_ns: u64::MAX, to_ns: 0, total: Total::default(), groups: None };
        let mut groups: HashMap<(Kind, DeviceNumber, u32), RequestGroup> = HashMap::new();
        for row in rows {
            batch.from_ns = batch.from_ns.min(row.began_ns());
            batch.to_ns = batch.to_ns.max(row.completed_ns);
            let single = Total { rows: 1, longest_ns: row.lived_ns() };
            batch.total.add(single);
            if groups.len() <= MAX_GROUPS {
                let of = (row.kind, row.device, row.tid);
                let group = groups.entry(of).or_insert_with(|| RequestGroup {
                    of,
                    at_ns: row.completed_ns,
                    total: Total::default(),
                });
                group.total.add(single);
            }
        }
        batch.groups = (groups.len() <= MAX_GROUPS).then(|| groups.into_values().collect());
        self.batches.push(batch);
    }

    /// The longest requests in flight in the query's time whose kind, device, sector or task contains its text, and the
    /// number of all matches.
    pub fn search(
        &self,
        run: &Run,
        accounting: Option<&Accounting>,
        query: &RequestQuery<'_>,
        most: usize,
    ) -> (Vec<RequestRecord>, u64) {
        let mut longest = Longest::new(most);
        let mut all = 0;
        for candidate in self.candidates(accounting, query) {
            if let Some(rows) = candidate.rows.filter(|_| !longest.would_keep(candidate.longest_ns)) {
                all += rows;
                continue;
            }
            let mut words = Words::new(&query.text, accounting);
            for row in run.requests().chosen(&[candidate.number]).filter_map(Result::ok).flatten() {
                let is_in_time = row.completed_ns >= query.from_ns && row.began_ns() <= query.to_ns;
                if !is_in_time || !words.hold(&row) {
                    continue;
                }
                all += 1;
                if longest.would_keep(row.lived_ns()) {
                    longest.push(row);
                }
            }
        }
        (longest.into_rows(), all)
    }

    /// Batches worth reading, those with the longest requests first.
    fn candidates(&self, accounting: Option<&Accounting>, query: &RequestQuery<'_>) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = Vec::new();
        for (number, batch) in self.batches.iter().enumerate() {
            if batch.total.rows == 0 || batch.to_ns < query.from_ns || batch.from_ns > query.to_ns {
                continue;
            }
            let (total, is_exact) = batch.fitting(accounting, &query.text);
            let is_within = query.from_ns <= batch.from_ns && batch.to_ns <= query.to_ns;
            let rows = (is_exact && is_within).then_some(total.rows);
            if total.rows > 0 {
                candidates.push(Candidate { number, longest_ns: total.longest_ns, rows });
            }
        }
        candidates.sort_by_key(|candidate| Reverse(candidate.longest_ns));
        candidates
    }
}

impl Batch {
    /// Requests that may contain the text, and whether all of them do.
    fn fitting(&self, accounting: Option<&Accounting>, text: &str) -> (Total, bool) {
        if text.is_empty() {
            return (self.total, true);
        }
        let Some(groups) = &self.groups else { return (self.total, false) };
        let mut words = Words::new(text, accounting);
        let (mut total, mut is_exact) = (Total::default(), true);
        for group in groups {
            match words.fit(group.of, group.at_ns) {
                Fits::All => total.add(group.total),
                Fits::BySector => {
                    total.add(group.total);
                    is_exact = false;
                }
                Fits::None => {}
            }
        }
        (total, is_exact)
    }
}

/// What to search for.
#[derive(Debug)]
pub struct RequestQuery<'a> {
    /// Start of the time.
    pub from_ns: u64,
    /// End of the time.
    pub to_ns: u64,
    /// In lower case; empty matches everything.
    pub text: Cow<'a, str>,
}

#[cfg(test)]
mod tests;
