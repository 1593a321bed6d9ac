//! Block requests of a time, looked for among millions. Of each batch of the archive its span is known, and which sorts of
//! requests it holds, so that most batches need not be read; and no more requests are held than are told.

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

/// A batch with more sorts than this is read: what is known of it would take as much room as it.
const MOST_SORTS: usize = 256;

/// What is known of each batch of a run's requests, in their order.
#[derive(Debug, Default)]
pub struct RequestIndex {
    batches: Vec<Batch>,
}

#[derive(Debug)]
struct Batch {
    from_ns: u64,
    to_ns: u64,
    total: Total,
    /// `None`: too many to be kept.
    sorts: Option<Vec<Sort>>,
}

/// How many requests, and how long the longest of them lived.
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

/// Requests of a batch that differ in time, size and sector only.
#[derive(Debug)]
struct Sort {
    of: (Kind, DeviceNumber, u32),
    /// End of the first: the task is called as it was then.
    at_ns: u64,
    total: Total,
}

/// A batch that may hold what is looked for.
#[derive(Debug, PartialEq, Eq)]
struct Candidate {
    number: usize,
    /// No request that is looked for is longer.
    longest_ns: u64,
    /// How many there are, where that is known without reading.
    rows: Option<u64>,
}

impl RequestIndex {
    /// Adds the next batch; one that cannot be read has no rows.
    pub fn batch(&mut self, rows: &[RequestRecord]) {
        let mut batch = Batch { from_ns: u64::MAX, to_ns: 0, total: Total::default(), sorts: None };
        let mut sorts: HashMap<(Kind, DeviceNumber, u32), Sort> = HashMap::new();
        for row in rows {
            batch.from_ns = batch.from_ns.min(row.began_ns());
            batch.to_ns = batch.to_ns.max(row.completed_ns);
            let one = Total { rows: 1, longest_ns: row.lived_ns() };
            batch.total.add(one);
            if sorts.len() <= MOST_SORTS {
                let of = (row.kind, row.device, row.tid);
                let sort =
                    sorts.entry(of).or_insert_with(|| Sort { of, at_ns: row.completed_ns, total: Total::default() });
                sort.total.add(one);
            }
        }
        batch.sorts = (sorts.len() <= MOST_SORTS).then(|| sorts.into_values().collect());
        self.batches.push(batch);
    }

    /// The longest of the requests that were under way between two moments and whose kind, device, sector or task hold the text,
    /// and how many there are in all.
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
                let is_its = row.completed_ns >= query.from_ns && row.began_ns() <= query.to_ns;
                if !is_its || !words.hold(&row) {
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

    /// Batches that are worth reading, those with the longest requests first.
    fn candidates(&self, accounting: Option<&Accounting>, query: &RequestQuery<'_>) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = Vec::new();
        for (number, batch) in self.batches.iter().enumerate() {
            if batch.total.rows == 0 || batch.to_ns < query.from_ns || batch.from_ns > query.to_ns {
                continue;
            }
            let (total, is_sure) = batch.fitting(accounting, &query.text);
            let is_within = query.from_ns <= batch.from_ns && batch.to_ns <= query.to_ns;
            let rows = (is_sure && is_within).then_some(total.rows);
            if total.rows > 0 {
                candidates.push(Candidate { number, longest_ns: total.longest_ns, rows });
            }
        }
        candidates.sort_by_key(|candidate| Reverse(candidate.longest_ns));
        candidates
    }
}

impl Batch {
    /// Requests that may hold the text, and whether it is sure that they do.
    fn fitting(&self, accounting: Option<&Accounting>, text: &str) -> (Total, bool) {
        if text.is_empty() {
            return (self.total, true);
        }
        let Some(sorts) = &self.sorts else { return (self.total, false) };
        let mut words = Words::new(text, accounting);
        let (mut total, mut is_sure) = (Total::default(), true);
        for sort in sorts {
            match words.fit(sort.of, sort.at_ns) {
                Fits::All => total.add(sort.total),
                Fits::BySector => {
                    total.add(sort.total);
                    is_sure = false;
                }
                Fits::None => {}
            }
        }
        (total, is_sure)
    }
}

/// What is looked for.
#[derive(Debug)]
pub struct RequestQuery<'a> {
    /// From when on.
    pub from_ns: u64,
    /// Until when.
    pub to_ns: u64,
    /// In lower case; empty: anything.
    pub text: Cow<'a, str>,
}

#[cfg(test)]
mod tests;
