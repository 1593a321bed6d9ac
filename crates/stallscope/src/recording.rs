//! Recording a run: the session around a load, the recorder's threads, the flight recorder.

pub mod args;
pub mod batch;
pub mod blocked;
pub mod flight;
pub mod machine;
pub mod probes;
pub mod recorder;
pub mod rotation;
pub mod row;
pub mod run_directory;
mod sampling;
pub mod scratch;
pub mod session;
pub mod sink;
pub mod tap;
mod trace_queue;
pub mod tracer;
mod writing;
