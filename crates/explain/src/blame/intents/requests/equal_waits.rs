//! Equal waits of a client for one server: whether enough is known of each of them depends on what its server did in
//! short moments, and on whose time its timers interrupted. Where enough of them are stalls, all of them are.

use std::collections::HashMap;

use model::stall::StallKind;

use crate::blame::facts::names::Name;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::operations::Operation;
use crate::blame::rule::{Example, Rule};
use crate::thresholds::{EQUAL_WAITS_FACTOR, EQUAL_WAITS_UNKNOWN};

pub(crate) const RULE: Rule = Rule {
    id: "equal-waits-are-alike",
    concludes: "A wait of the recorded command of which too little is known is a stall if enough equal waits for the \
                same server are.",
    from: "Waits of one process for one program that differ by less than a factor of two, at least a quarter of which \
           are known stalls.",
    because: "Whether enough is known of each of them depends on what the server did in short moments, and on whose \
              time its timers interrupted.",
    unless: "The client asked for what was not there yet: such waits are longer, or outnumber the stalls.",
    example: Example {
        timeline: "
            task 9 | n                   | name=etcd
            off 7  | ssssssss            | call=poll awaits=answer waker=9 asked=1 state=1 watched
            off 9  | ssssss              | stack=xfs_log_force
            off 7  |           sssssssss | call=poll awaits=answer waker=9 asked=11 state=1 watched",
        causes: "unexplained 11, fs_log 6",
        chain: "",
    },
};

/// What is known of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Stall,
    Idle,
    /// A stall because a child asked a server ([`super::asking_children`]).
    Asked,
    /// A client of the recorded command or load asked for something, and of its server too little is known.
    Unknown,
}

/// A client's process and the program that answers it.
type Pair = (u32, Name);

/// How long the waits of each client were, in order.
#[derive(Debug, Default)]
pub(crate) struct EqualWaits {
    stalls: HashMap<Pair, Vec<u64>>,
    unknown: HashMap<Pair, Vec<u64>>,
}

impl EqualWaits {
    pub(crate) fn new<'a>(index: &RunIndex, all: impl Iterator<Item = (&'a Operation, Known)> + Clone) -> EqualWaits {
        let of = |wanted: Known| {
            let mut lengths: HashMap<Pair, Vec<u64>> = HashMap::new();
            let them = all.clone().filter(|&(one, known)| known == wanted && one.awaits.is_some());
            them.filter_map(|(one, _)| Some((pair(index, one)?, one.ns())))
                .for_each(|(pair, ns)| lengths.entry(pair).or_default().push(ns));
            lengths.values_mut().for_each(|lengths| lengths.sort_unstable());
            lengths
        };
        let unknown = of(Known::Unknown);
        let stalls = if unknown.is_empty() { HashMap::new() } else { of(Known::Stall) };
        EqualWaits { stalls, unknown }
    }

    /// Whether enough waits that are equal to this one are stalls.
    pub(crate) fn are_known(&self, index: &RunIndex, wait: &Operation) -> bool {
        let Some(pair) = pair(index, wait).filter(|_| index.applies(&RULE)) else { return false };
        let equal = |all: &HashMap<Pair, Vec<u64>>| {
            let lengths = all.get(&pair).map_or(&[][..], Vec::as_slice);
            let shorter = lengths.partition_point(|&ns| ns < wait.ns() / EQUAL_WAITS_FACTOR);
            lengths.partition_point(|&ns| ns <= wait.ns().saturating_mul(EQUAL_WAITS_FACTOR)) - shorter
        };
        let stalls = equal(&self.stalls);
        stalls > 0 && stalls * EQUAL_WAITS_UNKNOWN >= equal(&self.unknown)
    }
}

fn pair(index: &RunIndex, wait: &Operation) -> Option<Pair> {
    let server = match wait.asynchronous {
        Some(at) => index.waker(index.row(at)),
        None => {
            let mut rows = index.rows_between(wait.tid, wait.start_ns, wait.end_ns).map(|(_, row)| row);
            rows.find(|row| row.kind == StallKind::OffCpu).and_then(|row| index.waker(row))
        }
    }?;
    let pid = |tid: u32| index.tasks.process_of(tid, wait.end_ns);
    Some((pid(wait.tid), index.tasks.program(pid(server), wait.end_ns)?))
}
