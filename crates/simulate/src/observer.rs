//! What a model reports while it runs: the same records as a recording holds, so that both are read alike.

use model::metric::{Semantics, Unit};
use model::stall::RequestRecord;

/// Receives events in the order in which they end. Times are simulated, from 0.
pub trait Observer {
    /// A task starts. The model chooses its `tid`: not 0, and unique.
    fn task(&mut self, tid: u32, name: &str);

    /// A phase of the run begins (`fill`, `run`); the previous one has ended. `measured`: its operations count.
    fn phase(&mut self, name: &str, measured: bool, at_ns: u64);

    /// An operation has ended.
    fn operation(&mut self, operation: Operation);

    /// An operation is still in progress when the run ends. Reported last, with the end of the run as its end.
    fn unfinished(&mut self, operation: Operation) {
        let _ = operation;
    }

    /// A wait of a task has ended, or is still in progress when the run ends.
    fn wait(&mut self, wait: &Wait);

    /// A block request has been completed.
    fn request(&mut self, request: &RequestRecord);

    /// The gauges and counters that [`Observer::sample`] receives. Called once, before anything else.
    fn metrics(&mut self, metrics: &'static [Metric]);

    /// The current value of each metric, in the order of [`Observer::metrics`]. `None`: no value.
    fn sample(&mut self, at_ns: u64, values: &[Option<i64>]);

    /// Sampling interval.
    fn sample_every_ns(&self) -> u64;

    /// Waits shorter than this need not be reported. Operations are always reported.
    fn slow_ns(&self) -> u64;
}

/// An operation of the workload, or of the kernel on its behalf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// `read`, `write`, `allocation`, `rpc`, ...: the classes of real runs, wherever they mean the same.
    pub class: &'static str,
    /// The task.
    pub tid: u32,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Bytes transferred; 0 if the class transfers none.
    pub bytes: u64,
}

/// A task was off the CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The task.
    pub tid: u32,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// The stack in the modelled kernel, innermost function first: what a recorder would have seen, and what
    /// explanations are made from.
    pub frames: &'static [&'static str],
    /// The task that ended the wait, if a task did.
    pub waker_tid: Option<u32>,
    /// The request whose completion ended the wait: [`RequestRecord::request`].
    pub request: Option<u32>,
}

/// A gauge or counter of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// `source.field`, with the kernel's name for it if it has one: `bufcache.numdirtybuffers`.
    pub name: &'static str,
    /// The instance; empty if there is only one.
    pub instance: &'static str,
    /// Unit.
    pub unit: Unit,
    /// Gauge or counter.
    pub semantics: Semantics,
}

/// Discards everything.
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
