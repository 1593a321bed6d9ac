//! What was behind a wait: the waits of those that it was for, and what is below a disk.

pub(crate) mod chain;
pub(crate) mod edge;
pub(crate) mod follow;
mod hops;
pub(crate) mod lower_device;
pub(crate) mod path;
pub(crate) mod segment;
pub(crate) mod waker_wait;

#[cfg(test)]
mod tests;
