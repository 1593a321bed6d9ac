//! Reads programs and libraries (ELF files): which function and line an address lies in, and who called it.
//!
//! Files are read in parts and never mapped: one that is overwritten meanwhile gives wrong names, but ends no process.
//! Of a crafted one no more is read than a real one has.
#![forbid(unsafe_code)]

mod binary;
mod budget;
mod debug_file;
mod names;
mod program_file;
mod registers;
mod unwind;

pub use binary::Binary;
pub use debug_file::debug_file;
pub use names::{Question, SourceLocation};
pub use program_file::open;
pub use registers::Registers;
pub use unwind::{Caller, by_frame_pointer};

#[cfg(test)]
mod tests;
