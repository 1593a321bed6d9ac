//! I/O schedulers: why a write that nobody waits for takes a second while hundreds of reads pass it, what happens when
//! somebody does wait for it after all, and what a recorded load would meet under another scheduler.
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
    about: "I/O schedulers: sync over async, a journal's priority inversion, and a recorded load under another scheduler",
    policies: &[
        Policy { name: "cfq", about: "a slice for each task in turn; what nobody waits for comes last (Linux 3.9)" },
        Policy { name: "cfq-promote", about: "the same, but a write that somebody begins to wait for is as theirs" },
        Policy { name: "deadline", about: "mq-deadline: batches by place, reads first, nobody later than a deadline" },
        Policy { name: "deadline-promote", about: "the same with promotion, which changes nobody's direction" },
        Policy { name: "bfq", about: "a budget for each task in the order of weighted finish times" },
        Policy { name: "bfq-promote", about: "the same, but a write that somebody begins to wait for is as theirs" },
        Policy { name: "none", about: "to the device as it comes" },
    ],
    parameters: settings::PARAMETERS,
    run: run::run,
};
