//! What fills an elementary piece of a task's time.

use std::ops::Range;

use crate::blame::facts::cause::{Cause, CausedTime, Evidence};
use crate::blame::graph::segment::NO_ROW;

/// The content of an elementary piece of time. A long run has millions of them.
pub(crate) enum Slot {
    Is(Cause, Evidence, u32, u32),
    /// What another thread did during this row's sleep: its place in [`Others`].
    Others(u32, Range<u32>),
    /// Running within a span.
    OnCpuIn(Cause, u32),
    /// Running or unknown.
    Free,
}

/// A time with a cause, and an example row for it.
pub(crate) type Example = (CausedTime, u32);

/// What other threads did, of all pieces.
#[derive(Default)]
pub(crate) struct Others(Vec<Example>);

impl Others {
    /// Of one sleep.
    pub(crate) fn put(&mut self, off: u32, did: Did) -> Slot {
        let from = self.0.len() as u32;
        let Did { mut times, examples } = did;
        times.sort_unstable();
        let example = |cause: Cause| examples.iter().find(|of| of.0 == cause).map_or(NO_ROW, |of| of.2);
        self.0.extend(times.into_iter().map(|time| (time, example(time.0))));
        Slot::Others(off, from..self.0.len() as u32)
    }

    pub(crate) fn of(&self, range: &Range<u32>) -> &[Example] {
        &self.0[range.start as usize..range.end as usize]
    }
}

/// What other threads did in one piece: few causes, so that lists are searched faster than maps.
#[derive(Default)]
pub(crate) struct Did {
    pub(crate) times: Vec<CausedTime>,
    /// For each cause, the longest time and its row.
    examples: Vec<(Cause, u64, u32)>,
}

impl Did {
    pub(crate) fn add(&mut self, cause: Cause, evidence: Evidence, ns: u64) {
        match self.times.iter_mut().find(|time| (time.0, time.1) == (cause, evidence)) {
            _ if ns == 0 => {}
            Some(time) => time.2 += ns,
            None => self.times.push((cause, evidence, ns)),
        }
    }

    /// The longest is the example, and of several the last row.
    pub(crate) fn add_example(&mut self, cause: Cause, ns: u64, row: u32) {
        match self.examples.iter_mut().find(|of| of.0 == cause) {
            Some(of) => (of.1, of.2) = (of.1, of.2).max((ns, row)),
            None => self.examples.push((cause, ns, row)),
        }
    }

    pub(crate) fn total_ns(&self) -> u64 {
        self.times.iter().map(|time| time.2).sum()
    }
}
