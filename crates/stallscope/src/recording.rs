//! Recording a run: the session around a load, the recorder's threads, the flight recorder.

pub mod args;
pub mod batch;
pub mod blocked;
pub mod command;
pub mod flight;
pub mod machine;
pub mod output_file;
pub mod output_metric;
pub mod own_path;
pub mod probes;
mod process_tree;
pub mod recorder;
pub mod rotation;
pub mod row;
pub mod run_directory;
mod sampling;
pub mod scratch;
pub mod session;
pub mod shared_live;
pub mod sharing;
pub mod sink;
mod slowest;
pub mod tap;
mod trace_queue;
pub mod tracer;
pub mod watchdog;
mod writing;
