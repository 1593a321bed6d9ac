//! Chains of waits: an arrow joins each wait and what it was for.

use std::collections::HashMap;

/// Arrows at one slice: a lock's holder may have had any number of waiters.
const MOST_ARROWS: usize = 64;
/// Arrows of chains are numbered from here, those of requests by the request.
const FIRST: u64 = 1 << 32;

/// A wait in a chain, the operation that it begins with, or the request at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainStep {
    /// The thread.
    pub tid: u32,
    /// Begin and end of its row.
    pub span_ns: (u64, u64),
    /// The request, where it is one.
    pub request: Option<u32>,
    /// What the wait was for.
    pub why: String,
}

/// What the slice of a step says.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) arrows: Vec<u64>,
    pub(super) why: String,
}

/// What a slice is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Wait(u32, u64, u64),
    Request(u32),
}

/// The steps of all chains.
#[derive(Debug, Default)]
pub(super) struct Chains {
    steps: HashMap<Key, Step>,
    arrows: HashMap<(Key, Key), u64>,
}

impl Chains {
    /// What is known of a wait, or of an operation, from its begin to its end.
    pub(super) fn of_wait(&self, tid: u32, (start_ns, end_ns): (u64, u64)) -> Option<&Step> {
        self.steps.get(&Key::Wait(tid, start_ns, end_ns))
    }

    /// Arrows to a request.
    pub(super) fn of_request(&self, request: u32) -> &[u64] {
        self.steps.get(&Key::Request(request)).map_or(&[], |step| &step.arrows)
    }

    /// Adds a chain.
    pub(super) fn add(&mut self, chain: &[ChainStep]) {
        for step in chain {
            self.steps.entry(key(step)).or_insert_with(|| Step { arrows: Vec::new(), why: step.why.clone() });
        }
        for pair in chain.windows(2) {
            let pair = (key(&pair[0]), key(&pair[1]));
            let has_room = |key| self.steps.get(key).is_some_and(|step| step.arrows.len() < MOST_ARROWS);
            if pair.0 == pair.1 || self.arrows.contains_key(&pair) || !has_room(&pair.0) || !has_room(&pair.1) {
                continue;
            }
            let arrow = FIRST + self.arrows.len() as u64;
            self.arrows.insert(pair, arrow);
            for key in [pair.0, pair.1] {
                self.steps.entry(key).or_default().arrows.push(arrow);
            }
        }
    }
}

fn key(step: &ChainStep) -> Key {
    let (start_ns, end_ns) = step.span_ns;
    step.request.map_or(Key::Wait(step.tid, start_ns, end_ns), Key::Request)
}
