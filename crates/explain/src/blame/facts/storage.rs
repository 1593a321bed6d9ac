//! What is known of disks, their requests, limits and users.

pub(crate) mod dirty_limit;
pub(crate) mod disks;
pub(crate) mod io_limits;
pub(crate) mod mappers;
pub(crate) mod memory_limits;
pub(crate) mod queues;
pub(crate) mod refaults;
pub(crate) mod request;
pub(crate) mod requests;
pub(crate) mod usage;
