//! The board: memory shared by the program and the load process.
//!
//! ```text
//! 64-bit words                                                     32-bit words
//! ┌─────────┬─────────┬───────────────┬────────────┬────────┬──────┐ ┌───────────────────────────┐
//! │ control │ message │ counters      │ slots      │ shares │ ring │ │ latency buckets           │
//! │         │         │ class x shard │ thread x 2 │ thread │      │ │ class x shard x bucket    │
//! └─────────┴─────────┴───────────────┴────────────┴────────┴──────┘ └───────────────────────────┘
//! ```
//!
//! The load writes with relaxed atomics and never waits; the program may read at any time. Each thread of the load has
//! a separate shard while threads are few, so that counting is a load and a store; many threads share shards.

mod control;
mod job_threads;
mod memory;
mod read;
mod ring;
#[cfg(test)]
mod tests;
mod write;

pub use control::{LoadCommand, ProcessState};
pub use job_threads::ThreadShare;
#[cfg(test)]
pub(crate) use memory::RING_CAPACITY;
pub use memory::{Board, BoardShape};
pub(crate) use read::{BoardNames, BoardReader};
pub use write::{FinishedOperation, OperationLevel, OperationRecorder};
