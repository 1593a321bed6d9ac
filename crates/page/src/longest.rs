//! The longest of any number of requests, in bounded memory.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use model::stall::RequestRecord;

/// Keeps the longest requests.
#[derive(Debug)]
pub struct Longest {
    most: usize,
    kept: BinaryHeap<Reverse<Kept>>,
}

impl Longest {
    /// Keeps at most `most` requests.
    pub fn new(most: usize) -> Longest {
        Longest { most, kept: BinaryHeap::new() }
    }

    /// Whether a request with this lifetime would be among them now.
    pub fn would_keep(&self, lived_ns: u64) -> bool {
        self.kept.len() < self.most || self.kept.peek().is_some_and(|Reverse(shortest)| shortest.0 < lived_ns)
    }

    /// Adds a request that [`Self::would_keep`] has accepted.
    pub fn push(&mut self, request: RequestRecord) {
        self.kept.push(Reverse(Kept(request.lived_ns(), request)));
        if self.kept.len() > self.most {
            self.kept.pop();
        }
    }

    /// The longest first.
    pub fn into_rows(self) -> Vec<RequestRecord> {
        self.kept.into_sorted_vec().into_iter().map(|Reverse(kept)| kept.1).collect()
    }
}

/// A request, ordered by its lifetime.
#[derive(Debug)]
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
    fn partial_cmp(&self, other: &Kept) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Kept {
    fn cmp(&self, other: &Kept) -> Ordering {
        self.key().cmp(&other.key())
    }
}
