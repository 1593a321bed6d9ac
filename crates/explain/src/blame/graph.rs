//! What was behind a wait: the waits of those that it was for, and what is beneath a disk.

pub(crate) mod beneath;
pub(crate) mod chain;
pub(crate) mod operation_chain;
pub(crate) mod path;
pub(crate) mod wait_graph;
