//! What a model tells of its course: the same nouns as a recording's, so that it is read like one.

use model::metric::{Semantics, Unit};
use model::stall::RequestRecord;

/// Takes what happens, in the order of its end. Times are the model's own, from 0.
pub trait Observer {
    /// A task begins to exist. Its `tid` is the model's choice, not 0, never given twice.
    fn task(&mut self, tid: u32, name: &str);

    /// A part of the run begins (`fill`, `run`); the one before has ended. `measured`: its operations count.
    fn phase(&mut self, name: &str, measured: bool, at_ns: u64);

    /// An operation has ended.
    fn operation(&mut self, operation: Operation);

    /// An operation has not ended when the model does: told last of all, with the model's last moment as its end.
    fn unfinished(&mut self, operation: Operation) {
        let _ = operation;
    }

    /// A wait of a task has ended, or goes on when the model ends.
    fn wait(&mut self, wait: &Wait);

    /// A block request has been completed.
    fn request(&mut self, request: &RequestRecord);

    /// The gauges and counters that [`Observer::sample`] gives; called once, first of all.
    fn metrics(&mut self, metrics: &'static [Metric]);

    /// The value of each metric now, in the order of [`Observer::metrics`]. `None`: there is none.
    fn sample(&mut self, at_ns: u64, values: &[Option<i64>]);

    /// Time between two samples that the reader wants.
    fn sample_every_ns(&self) -> u64;

    /// Waits and operations shorter than this need not be told one by one; operations are to be told all the same.
    fn slow_ns(&self) -> u64;
}

/// Something that a person, or the kernel for them, did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// `read`, `write`, `allocation`, `rpc`, ...: the classes of real runs, where they mean the same.
    pub class: &'static str,
    /// Whose.
    pub tid: u32,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Bytes moved; 0 where the class moves none.
    pub bytes: u64,
}

/// A task was off the CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Whose.
    pub tid: u32,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Functions of the modelled kernel that it waited in, innermost first: what a recorder would have seen, and what
    /// explanations are made from.
    pub frames: &'static [&'static str],
    /// Who ended it, where a task did.
    pub waker_tid: Option<u32>,
    /// The request whose completion ended it: [`RequestRecord::request`].
    pub request: Option<u32>,
}

/// A gauge or counter of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// `source.field`, with the kernel's own word for it where there is one: `bufcache.numdirtybuffers`.
    pub name: &'static str,
    /// Which of several; empty where there is only one.
    pub instance: &'static str,
    /// Unit.
    pub unit: Unit,
    /// Gauge or counter.
    pub semantics: Semantics,
}

/// Takes everything and keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn task(&mut self, _tid: u32, _name: &str) {}
    fn phase(&mut self, _name: &str, _measured: bool, _at_ns: u64) {}
    fn operation(&mut self, _operation: Operation) {}
    fn wait(&mut self, _wait: &Wait) {}
    fn request(&mut self, _request: &RequestRecord) {}
    fn metrics(&mut self, _metrics: &'static [Metric]) {}
    fn sample(&mut self, _at_ns: u64, _values: &[Option<i64>]) {}
    fn sample_every_ns(&self) -> u64 {
        1_000_000_000
    }
    fn slow_ns(&self) -> u64 {
        u64::MAX
    }
}
