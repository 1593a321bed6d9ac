//! Bits of [`super::StallRecord::flags`].

/// The task belongs to the recorded command: all its waits are recorded.
pub const WATCHED: u32 = 1;
/// The wait began before the recording; its start is the recording's.
pub const CUT: u32 = 2;
/// The same of the system call.
pub const CALL_CUT: u32 = 4;
/// The task was runnable, and its cgroup had used up its CPU quota. The detail names the cgroup and its quota.
pub const CPU_QUOTA: u32 = 8;
/// The holder of a lock is one of its readers, and may have released it: a hint.
pub const HOLDER_IS_HINT: u32 = 16;
/// Any thread of the holder's process may be meant; the holder is its first one.
pub const ANY_THREAD: u32 = 32;
/// The task that ended the wait began after it.
pub const WAKER_IS_NEWER: u32 = 64;
