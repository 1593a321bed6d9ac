//! Parts of the flight recorder: the ring, its conditions, and what is kept of it.

pub mod args;
pub mod directory;
pub mod hook;
pub mod keeper;
pub mod kept_runs;
pub mod limiter;
pub mod marker;
pub mod messages;
pub mod ring;
pub mod watcher;
