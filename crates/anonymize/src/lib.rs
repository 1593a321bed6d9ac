//! A run without the names of the machine and the people that it was recorded from.
//!
//! [`Names`] holds what each name is replaced by: the same name by the same one, wherever it occurs, and each part of a
//! path by itself, so that `/a/b` and `/a/c` still have a parent in common. What every machine has stays: kernel
//! functions, devices, `/usr/bin`, `system.slice`. What stays is noted by its kind.
//!
//! Each kind of record has one function here, which takes the record apart without `..`: a new column does not compile
//! until somebody has decided what becomes of it.
#![forbid(unsafe_code)]

mod address;
mod cgroup;
mod description;
mod disk;
mod event;
mod file_name;
mod known;
mod names;
mod path;
mod program;
mod prose;
mod rows;
mod substitution;

pub use description::description;
pub use event::event;
pub use names::{Comms, Kept, Names};
pub use rows::{descriptor, interval, operation, stack, stall, task, usage, user_frame};
pub use substitution::Substitution;
