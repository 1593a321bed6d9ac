//! Kernel stacks, classified once.

use model::occasion::Occasion;
use model::signal::{SIGNALS, SignalMeaning};
use model::stall::StackRecord;

use crate::blame::facts::names::{Name, Names};
use crate::blame::facts::stack_rules::{RANKS, StackRule, any_fits, occasion};
use crate::hashing::FastMap;

/// Innermost functions of a stack that are shown.
const SHOWN: usize = 4;

/// A classified stack.
#[derive(Debug)]
pub(crate) struct Stack {
    /// The matching rule.
    pub(crate) rule: Option<&'static StackRule>,
    /// Announcements that this stack may follow, as bits.
    announced: u64,
    /// It sleeps until another thread of its program, or its child, releases it.
    pub(crate) on_thread: bool,
    /// It sleeps until a request completes that it submitted itself.
    pub(crate) submitted: bool,
    /// In a page fault outside any system call.
    pub(crate) faults: bool,
    /// In an interrupt.
    pub(crate) interrupt: bool,
    /// A timer's function wakes a task: the task that it interrupts did not act.
    pub(crate) timer: bool,
    /// Of a kernel thread.
    pub(crate) kernel_thread: bool,
    /// Of a kernel worker: the function of its work.
    pub(crate) work: Option<Name>,
    /// A kernel worker has done a work, and wakes the tasks that flush it.
    pub(crate) follows_work: bool,
    /// It waits until a kernel worker has done a work.
    pub(crate) flushes: bool,
    /// It waits for new work, or for another program to open the FIFO, not for work to complete.
    pub(crate) idle: bool,
    /// It waits in an open of a FIFO for that of the other end.
    pub(crate) opens_fifo: bool,
    /// It detaches what a tracer had attached, and waits for readers of RCU: no storage.
    pub(crate) detaches: bool,
    /// It thaws the tasks of a cgroup.
    pub(crate) thaws: bool,
    /// It answers a request of a FUSE file system.
    pub(crate) answers: bool,
    /// It sends a signal to another process, as PostgreSQL wakes a session that waits for a lock.
    pub(crate) signals: bool,
    /// Its task ends.
    pub(crate) ends: bool,
    /// A new client connects.
    pub(crate) connects: bool,
    /// Its task closes a socket of this machine.
    pub(crate) closes_socket: bool,
    /// Its task sends a message to a socket without a connection.
    pub(crate) sends_datagram: bool,
    /// It reads or writes past the page cache.
    pub(crate) direct: bool,
    /// It waits for what another task writes to a pipe.
    pub(crate) reads_pipe: bool,
    /// Its task writes to a pipe, or closes one.
    pub(crate) writes_pipe: bool,
    /// It ends an I/O, which held what others waited for.
    pub(crate) ends_io: bool,
    /// It makes room in a journal, which a task does for all who fill it.
    pub(crate) makes_room: bool,
    /// Why its call waits, if not for what the program asked for.
    pub(crate) occasion: Option<Occasion>,
    /// It reads pages of a file into the page cache.
    pub(crate) reads_pages: bool,
    /// Its innermost functions.
    pub(crate) top: Name,
}

const THREADS: &[&str] = &["futex_wait_queue", "futex_do_wait", "futex_wait", "do_futex", "do_wait", "kernel_wait4"];
/// Innermost, where a parent sleeps until its child executes another program: vfork, posix_spawn.
const FORKS: &[&str] = &["kernel_clone", "_do_fork", "wait_for_vfork_done"];
/// Innermost, where a task waits for the end of a work, or of all works of a queue.
const FLUSHES: &[&str] = &[
    "__flush_work",
    "flush_work",
    "__flush_workqueue",
    "flush_workqueue",
    "drain_workqueue",
    "__cancel_work_sync",
    "__cancel_work_timer",
];
/// What a worker calls in place of a work: the barrier behind one, and the end of the last one that is flushed. The
/// compiler may leave only the function at their end.
const AFTER_WORK: &[&str] = &["wq_barrier_func", "pwq_dec_nr_in_flight", "complete"];
const SUBMITTERS: &[&str] = &["submit_bio_wait", "blkdev_issue_flush", "jbd2_journal_commit_transaction"];
const SYSTEM_CALLS: &[&str] = &["do_syscall_64", "entry_SYSCALL_64_after_hwframe", "el0_svc", "invoke_syscall"];
const FAULTS: &[&str] = &["asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault", "do_page_fault", "el0_da"];
const KERNEL_THREADS: &[&str] = &["kthread"];
const IDLE: &[&str] = &[
    "worker_thread",
    "rescuer_thread",
    "kjournald2",
    "kswapd",
    "kswapd_try_to_sleep",
    "xfsaild",
    "kthread_worker_fn",
    "transaction_kthread",
    "cleaner_kthread",
    "kcompactd",
    "oom_reaper",
    "io_wq_worker",
    "fuse_dev_do_read",
    "smpboot_thread_fn",
    FIFO_OPENER,
];
const FIFO_OPENER: &str = "wait_for_partner";
const PIPE_READS: &[&str] = &["anon_pipe_read", "fifo_pipe_read", "pipe_read"];
const PIPE_WRITES: &[&str] = &["anon_pipe_write", "fifo_pipe_write", "pipe_write", "pipe_release"];
const IO_ENDS: &[&str] = &[
    "bio_endio",
    "blk_update_request",
    "btrfs_bio_end_io",
    "end_bio_bh_io_sync",
    "xfs_buf_bio_end_io",
    "xfs_buf_ioend",
    "xfs_buf_ioend_work",
];
const ROOM: &[&str] = &["__jbd2_log_wait_for_space", "jbd2_log_do_checkpoint"];
const PAGE_READS: &[&str] = &[
    "filemap_read",
    "filemap_get_pages",
    "filemap_fault",
    "filemap_splice_read",
    "generic_file_buffered_read",
    "generic_file_read_iter",
    "page_cache_ra_unbounded",
    "page_cache_ra_order",
    "force_page_cache_ra",
    "__do_page_cache_readahead",
    "read_pages",
    "read_cache_folio",
    "do_read_cache_folio",
];
/// What functions of direct I/O begin with.
const DIRECT: &[&str] =
    &["__iomap_dio_", "iomap_dio_", "__blkdev_direct_IO", "blkdev_direct_", "btrfs_direct_", "btrfs_dio_"];
const SIGNALLING: &[&str] =
    &["__x64_sys_kill", "__x64_sys_tgkill", "__arm64_sys_kill", "kill_something_info", "do_tkill", "do_send_specific"];
const DETACHING: &[&str] = &[
    "bpf_link_free",
    "bpf_link_release",
    "bpf_tracing_link_release",
    "tracepoint_probe_unregister",
    "perf_release",
    "perf_event_release_kernel",
];
const THAWS: &[&str] = &["__thaw_task", "unfreeze_cgroup"];
const ANSWERS: &[&str] = &["fuse_request_end", "fuse_dev_do_write"];
/// A client connects, to a server of this machine: what it does, or what its first packet does in an interrupt.
const CONNECTS: &[&str] = &["unix_stream_connect", "tcp_v4_syn_recv_sock", "tcp_v6_syn_recv_sock", "tcp_child_process"];
const CLOSES_SOCKET: &[&str] = &["unix_release_sock"];
const ENDS: &[&str] = &["do_exit"];
const DATAGRAMS: &[&str] = &["unix_dgram_sendmsg"];
/// They send datagrams in order through a connection, as a stream does.
const SEQUENCED: &[&str] = &["unix_seqpacket_sendmsg"];
const INTERRUPTS: &[&str] =
    &["asm_common_interrupt", "common_interrupt", "handle_irq_event", "do_softirq", "__do_softirq", "handle_softirqs"];
const INTERRUPT_FAMILIES: &[&str] = &["asm_sysvec_", "sysvec_", "__sysvec_", "hrtimer_", "tick_", "el1_interrupt"];
/// What timers call to wake a task up, or to send it a signal.
const TIMERS: &[&str] = &[
    "hrtimer_wakeup",
    "process_timeout",
    "posix_timer_fn",
    "it_real_fn",
    "alarm_timer_callback",
    "timerfd_tmrproc",
    "timerfd_triggered",
];

impl Stack {
    pub(crate) fn new(record: &StackRecord, names: &mut Names) -> Stack {
        let frames: Vec<&str> = record.frames.iter().map(|frame| function(frame)).collect();
        let any = |of: &[&str]| frames.iter().any(|frame| of.contains(frame));
        let family = |frame: &&str| INTERRUPT_FAMILIES.iter().any(|begin| frame.starts_with(begin));
        let interrupt = any(INTERRUPTS) || frames.iter().any(family);
        let shown: Vec<&str> = frames.iter().copied().take(SHOWN).collect();
        Stack {
            rule: find(&frames),
            announced: announced(&frames),
            on_thread: any(THREADS) || frames.first().is_some_and(|frame| FORKS.contains(frame)),
            submitted: any(SUBMITTERS),
            faults: any(FAULTS) && !any(SYSTEM_CALLS),
            interrupt,
            timer: any(TIMERS),
            kernel_thread: any(KERNEL_THREADS),
            work: work(&frames).map(|function| names.insert(function)),
            follows_work: called_by_worker(&frames).is_some_and(|function| AFTER_WORK.contains(&function)),
            flushes: frames.first().is_some_and(|frame| FLUSHES.contains(frame)),
            idle: shown.first().is_some_and(|frame| IDLE.contains(frame)),
            opens_fifo: shown.first() == Some(&FIFO_OPENER),
            detaches: any(DETACHING),
            thaws: any(THAWS),
            // A timer that interrupts an answer wakes others.
            answers: any(ANSWERS) && !interrupt,
            signals: any(SIGNALLING) && !interrupt,
            ends: any(ENDS) && !interrupt,
            connects: any(CONNECTS),
            closes_socket: any(CLOSES_SOCKET) && !interrupt,
            sends_datagram: any(DATAGRAMS) && !any(SEQUENCED) && !interrupt,
            direct: frames.iter().any(|frame| DIRECT.iter().any(|begin| frame.starts_with(begin))),
            reads_pipe: any(PIPE_READS),
            writes_pipe: any(PIPE_WRITES) && !interrupt,
            ends_io: any(IO_ENDS),
            makes_room: any(ROOM),
            occasion: occasion(&frames),
            reads_pages: any(PAGE_READS),
            top: names.insert(&shown.join(" < ")),
        }
    }
}

impl Stack {
    /// Whether the stack shows the announced wait.
    pub(crate) fn agrees_with(&self, announcement: &SignalMeaning) -> bool {
        self.announced & 1 << announcement.signal as u32 != 0
    }
}

/// The function that a kernel worker was called for.
fn work<'a>(frames: &[&'a str]) -> Option<&'a str> {
    called_by_worker(frames).filter(|function| !AFTER_WORK.contains(function))
}

fn called_by_worker<'a>(frames: &[&'a str]) -> Option<&'a str> {
    let caller = frames.iter().position(|frame| *frame == "process_one_work")?;
    frames.get(caller.checked_sub(1)?).copied()
}

fn announced(frames: &[&str]) -> u64 {
    const { assert!(SIGNALS.len() <= 64) };
    let meanings = SIGNALS.iter().filter_map(|signal| signal.meaning.as_ref());
    let fitting = meanings.filter(|meaning| meaning.frames.is_empty() || any_fits(meaning.frames, frames));
    fitting.map(|meaning| 1 << meaning.signal as u32).sum()
}

/// The function of a frame such as `xfs_log_force+0x5a [xfs]`, without compiler suffixes (`.isra.0`).
fn function(frame: &str) -> &str {
    let end = frame.find(['+', ' ', '.']).unwrap_or(frame.len());
    &frame[..end]
}

fn find(frames: &[&str]) -> Option<&'static StackRule> {
    let in_rank = |rank: &&'static [StackRule]| {
        (0..frames.len()).find_map(|at| rank.iter().find(|rule| rule.matches(frames, at)))
    };
    RANKS.iter().find_map(in_rank)
}

/// All stacks of a run, by number.
pub(crate) type Stacks = FastMap<u32, Stack>;

#[cfg(test)]
mod tests;
