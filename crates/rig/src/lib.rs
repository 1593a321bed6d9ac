//! The environment of a load: memory cgroup, slow device, temporary file system. A register lets the next run remove
//! what a crash left behind.
//!
//! Everything made here is entered in the [`Register`] *before* it is made. It is removed in reverse order, within a
//! bounded time even if the kernel does not answer. What cannot be removed is reported and stays registered.
#![forbid(unsafe_code)]

mod cgroup;
mod child;
mod device;
mod effect;
mod environment;
mod error;
mod exec;
mod hierarchy;
mod kernel_files;
mod memory;
mod outcome;
mod owner;
mod preflight;
mod register;
mod remove;
mod resource;
mod rig;
mod roots;
mod setting;
mod temporary_file_system;
mod throttle;
mod write_back;

#[cfg(test)]
mod tests;

pub use device::{BlockDevice, devices_under};
pub use environment::clean_environment;
pub use error::RigError;
pub use exec::exec_in_cgroup;
pub use hierarchy::{Hierarchies, Hierarchy};
pub use kernel_files::KernelFiles;
pub use memory::available_bytes;
pub use outcome::Removed;
pub use owner::Owner;
pub use preflight::preflight;
pub use register::{Entry, Register};
pub use resource::{MARKER, Resource};
pub use rig::{Rig, RigRequest, SMALLEST_MEMORY_LIMIT_BYTES};
pub use roots::{MountEntry, Roots};
pub use setting::Setting;
pub use temporary_file_system::{FileSystem, FsKind, TemporaryFileSystem, set_default_queue};
pub use write_back::{sync_all, sync_file_system};
