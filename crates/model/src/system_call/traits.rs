//! What system calls do, one bit each.

/// It sends a message to another task.
pub const SENDS: u32 = 1;
/// It receives one.
pub const RECEIVES: u32 = 1 << 1;
/// It ends a connection.
pub const CLOSES: u32 = 1 << 2;
/// It waits for messages.
pub const WAITS: u32 = 1 << 3;
/// It waits for another thread.
pub const WAITS_FOR_THREAD: u32 = 1 << 4;
/// It sends a signal, or does what wakes others without a message.
pub const SIGNALS: u32 = 1 << 5;
/// It works on a System V semaphore.
pub const SEMAPHORE: u32 = 1 << 6;
/// It waits for a child.
pub const WAITS_FOR_CHILD: u32 = 1 << 7;
/// It puts a message into a queue.
pub const QUEUES: u32 = 1 << 8;
/// It takes one out of a queue.
pub const DEQUEUES: u32 = 1 << 9;
/// It accepts a connection.
pub const ACCEPTS: u32 = 1 << 10;
/// All that concern other tasks: `enum with_others` of the BPF programs.
pub const WITH_OTHERS: u32 = (1 << 11) - 1;
/// It is an operation if it is slow.
pub const FOLLOWED: u32 = 1 << 11;
/// It seldom works on storage, or may idle: an operation only if it waited for storage. A task's last open files, also
/// deleted ones, are released when it exits.
pub const SELDOM: u32 = 1 << 12;
/// It returns a number of bytes.
pub const BYTES: u32 = 1 << 13;
/// It makes no page dirty, though inodes change: it reads, or writes out what others made dirty.
pub const CLEAN: u32 = 1 << 14;
/// Programs wait in it for their next work.
pub const IDLES: u32 = 1 << 15;
/// It waits for events of several descriptors.
pub const POLLS: u32 = 1 << 16;
/// It does nothing but sleep.
pub const SLEEPS: u32 = 1 << 17;
/// It reads a file through the page cache.
pub const READS_FILE: u32 = 1 << 18;
/// It reads an inode or a folder.
pub const READS_METADATA: u32 = 1 << 19;
/// It writes a file's pages to the disk.
pub const SYNCS_FILE: u32 = 1 << 20;
/// It writes all of the file system of a file to the disk.
pub const SYNCS_FILE_SYSTEM: u32 = 1 << 21;
/// It writes to the disk what all processes made dirty in a file system, or in all.
pub const SYNCS_OTHERS: u32 = 1 << 22;
/// It waits for the completion of asynchronous I/O.
pub const REAPS: u32 = 1 << 23;
/// It opens a file.
pub const OPENS: u32 = 1 << 24;
/// It waits for locks of files.
pub const LOCKS_FILE: u32 = 1 << 25;
/// It waits until the lease of a file is given up.
pub const MEETS_LEASE: u32 = 1 << 26;
/// It waits until its child executes a program or exits.
pub const VFORKS: u32 = 1 << 27;
