//! Where programs were in their own code while they waited, or when they released a lock.

use serde::{Deserialize, Serialize};

/// A program's own stack, from one moment to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserStackRecord {
    /// The thread: [`crate::stall::TaskRecord::tid`].
    pub tid: u32,
    /// Since when it was there, on the monotonic clock: the begin of its first long wait in that system call.
    pub start_ns: u64,
    /// Until when; equal to the start where the thread woke one that waited for a lock.
    pub end_ns: u64,
    /// [`UserFrameRecord::frame`], innermost first.
    pub frames: Vec<u32>,
    /// The last frame is the thread's first function. Otherwise callers are missing.
    pub whole: bool,
}

/// A place in the code of a program, recorded once, and again when its names are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserFrameRecord {
    /// Number within the run.
    pub frame: u32,
    /// Path of the program or library, as its process saw it; `[vdso]` or `[anonymous]` where it is no file. `None`:
    /// the process had ended before its memory map was read.
    pub module: Option<String>,
    /// The file's build id, in hexadecimal.
    pub build_id: Option<String>,
    /// Offset in that file; the address where it is no file.
    pub offset: u64,
    /// It is where the innermost function was. Of a caller, the place is the one after its call.
    pub is_innermost: bool,
    /// The functions at that place: of inlined ones the innermost first. Empty where they are unknown.
    pub functions: Vec<String>,
    /// The source file of each; empty where it is unknown.
    pub files: Vec<String>,
    /// The line of each; 0 where it is unknown.
    pub lines: Vec<u32>,
}
