//! What was behind a wait: the waits of those that it was for, and what is below a disk.

pub(crate) mod chain;
pub(crate) mod choice;
pub(crate) mod edge;
pub(crate) mod lower_device;
pub(crate) mod operation_chain;
pub(crate) mod path;
pub(crate) mod since;
pub(crate) mod wait_graph;

#[cfg(test)]
mod tests;
