//! Dumps of blocked tasks → who waits for whom, and what is likely at the root.
//!
//! A dump is what people have when a machine hangs: the kernel's reports of hung tasks, SysRq-w and SysRq-t,
//! collections of /proc/PID/stack, and `bt` of crash, in a log of any kind. [`Reader`] takes its lines, [`analyze`]
//! says what they mean. Stacks are classified by the rules that explain recorded stalls.
#![forbid(unsafe_code)]

mod advice;
mod analysis;
mod class;
mod dump;
mod dump_rules;
mod frame;
mod header;
mod holder;
mod journal;
mod prefix;
mod reader;
mod relation;
mod sign;
mod wait;

pub use advice::advice;
pub use analysis::{Analysis, Blocked, Group, Root, analyze};
pub use class::Class;
pub use dump::{Dump, Holder, Sign, Task};
pub use reader::Reader;
pub use wait::Wait;
