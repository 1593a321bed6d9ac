//! I/O schedulers: why an async write takes a second while hundreds of reads overtake it, what happens when a task
//! waits for it after all, and how a recorded load would fare under another scheduler.
//!
//! docs/models/SCHED.md says what is modelled and what is left out.

mod arrivals;
mod bfq;
mod bio;
mod cfq;
mod deadline;
mod device;
mod elevator;
mod fifo;
mod fit;
mod layer;
mod mix;
mod places;
mod pool;
pub mod predict;
mod replay;
mod run;
mod settings;
mod tally;
mod traffic;

#[cfg(test)]
mod tests;

use crate::policy::{Model, Policy};

/// `simulate sched`.
pub const MODEL: Model = Model {
    name: "sched",
    about: "I/O schedulers: sync over async, a journal's priority inversion, and a recorded load under another \
            scheduler",
    policies: &[
        Policy { name: "cfq", about: "a time slice per task, round-robin; async requests come last (Linux 3.9)" },
        Policy { name: "cfq-promote", about: "the same, but an async write is promoted when a task waits for it" },
        Policy { name: "deadline", about: "mq-deadline: batches in sector order, reads first, with deadlines" },
        Policy { name: "deadline-promote", about: "the same with promotion, which does not turn a write into a read" },
        Policy { name: "bfq", about: "a budget per task, in the order of weighted finish times" },
        Policy { name: "bfq-promote", about: "the same, but an async write is promoted when a task waits for it" },
        Policy { name: "none", about: "dispatch in arrival order" },
    ],
    parameters: settings::PARAMETERS,
    run: run::run,
};
