//! Which functions and tracepoints mean which cause: tables, to be read and extended.
//!
//! The kernel leaves functions of its scheduler out of the stacks of sleeping tasks (`stack_trace_save_tsk` skips the
//! section `.sched.text`): mutex_lock, down_write, io_schedule, wait_for_completion and the like never appear, and
//! the innermost function is the one that called them.

use super::cause::Cause;

mod stacks;

pub(super) use stacks::RANKS;

/// A tracepoint that is told as a span, or that announces a wait: the name without `_begin`, `_end`, `_start`.
#[derive(Debug)]
pub(super) struct Announcement {
    pub(super) tracepoint: &'static str,
    pub(super) cause: Cause,
    /// What the person reads.
    pub(super) words: &'static str,
    /// A request's completion may end it, and then the request's life says more.
    pub(super) on_request: bool,
    /// One of these is on the stack of the wait that was announced: not every announced wait comes. None: it surely
    /// comes.
    pub(super) frames: &'static [&'static str],
}

const fn told(tracepoint: &'static str, cause: Cause, words: &'static str) -> Announcement {
    Announcement { tracepoint, cause, words, on_request: false, frames: &[] }
}

impl Announcement {
    const fn of(self, frames: &'static [&'static str]) -> Announcement {
        Announcement { frames, ..self }
    }

    const fn on_request(self) -> Announcement {
        Announcement { on_request: true, ..self }
    }
}

pub(super) const ANNOUNCEMENTS: &[Announcement] = &[
    told("mm_vmscan_direct_reclaim", Cause::DirectReclaim, "freeing memory of the machine"),
    told("mm_vmscan_memcg_reclaim", Cause::DirectReclaim, "freeing memory of its cgroup"),
    told("mm_vmscan_throttled", Cause::ReclaimThrottle, "paused by reclaim"),
    told("mm_shrink_slab", Cause::Shrinker, "shrinking a cache"),
    told("mm_compaction", Cause::Compaction, "moving pages for a large allocation"),
    told("balance_dirty_pages", Cause::DirtyThrottle, "paused, because too much is dirty")
        .of(&["balance_dirty_pages*"]),
    told("folio_wait_writeback", Cause::WritebackWait, "pages under writeback").of(&["folio_wait_*"]).on_request(),
    told("contention", Cause::Lock, "a lock"),
    told("jbd2_lock_buffer_stall", Cause::Journal, "a buffer that the journal's commit holds"),
    told("jbd2_checkpoint", Cause::Journal, "the journal's checkpoint").of(&["*jbd2_*"]),
    told("xfs_log_grant_sleep", Cause::FsLog, "space in the XFS log").of(&["xlog_grant_*"]),
    told("xfs_log_force", Cause::FsLog, "a force of the XFS log").of(&["xlog_*", "xfs_log_*"]),
    told("xlog_iclog_wait_on", Cause::FsLog, "a write of the XFS log").of(&["xlog_*", "xfs_log_*"]),
    told("xfs_log_cil_wait", Cause::FsLog, "a push of the XFS log").of(&["xlog_*", "xfs_log_*"]),
    told("xfs_inodegc_throttle", Cause::FsTransaction, "XFS's background removal of inodes").of(&["xfs_inodegc_*"]),
    told("xfs_buf_lock", Cause::Lock, "the lock of an XFS metadata buffer").of(&["xfs_buf_*"]),
    told("xfs_buf_iowait", Cause::Device, "I/O of an XFS metadata buffer").of(&["xfs_buf_*"]).on_request(),
    told("btrfs_transaction_commit", Cause::FsTransaction, "a commit of btrfs"),
    told("btrfs_reserve_ticket", Cause::FsTransaction, "a reservation of space in btrfs"),
    told("btrfs_tree_read_lock", Cause::Lock, "a lock in a tree of btrfs"),
    told("btrfs_tree_lock", Cause::Lock, "a lock in a tree of btrfs"),
];

/// The announcement of that name. A wait names the very tracepoint, a span the pair.
pub(super) fn announcement(tracepoint: &str) -> Option<&'static Announcement> {
    let ends = ["_begin", "_start", "_end"];
    let pair = ends.iter().find_map(|end| tracepoint.strip_suffix(end)).unwrap_or(tracepoint);
    ANNOUNCEMENTS.iter().find(|known| known.tracepoint == pair)
}

/// Stacks that mean a cause.
#[derive(Debug)]
pub(super) struct Rule {
    /// One of these is on the stack. A `*` at the end or the begin stands for any rest.
    pub(super) frames: &'static [&'static str],
    /// And one of these called it, where any is given.
    pub(super) callers: &'static [&'static str],
    /// It must be the innermost function: it calls what is left out of stacks, and calls other things too.
    pub(super) innermost: bool,
    pub(super) cause: Cause,
    /// What the person reads.
    pub(super) words: &'static str,
    /// A request's completion may end it, and then the request's life says more.
    pub(super) on_request: bool,
    /// Kernel versions that it was seen on.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the tables and of docs/BLAME.md"))]
    pub(super) seen_on: &'static [&'static str],
}

/// Rules of equal rank: the one that matches the innermost function wins.
pub(super) type Rank = &'static [Rule];

impl Rule {
    /// Whether it matches the function at that place of a stack.
    pub(super) fn matches(&self, frames: &[&str], at: usize) -> bool {
        let called = || frames.get(at + 1).is_some_and(|caller| any_fits(self.callers, &[caller]));
        (at == 0 || !self.innermost) && any_fits(self.frames, &frames[at..=at]) && (self.callers.is_empty() || called())
    }
}

/// Whether one of the functions fits one of the patterns.
pub(super) fn any_fits(patterns: &[&str], frames: &[&str]) -> bool {
    frames.iter().any(|frame| patterns.iter().any(|pattern| fits(pattern, frame)))
}

fn fits(pattern: &str, frame: &str) -> bool {
    // Every function of a stack is held against every pattern, and most have no star.
    let is_star = |byte: Option<&u8>| byte == Some(&b'*');
    match (is_star(pattern.as_bytes().first()), is_star(pattern.as_bytes().last())) {
        (false, false) => frame == pattern,
        (true, false) => frame.ends_with(&pattern[1..]),
        (false, true) => frame.starts_with(&pattern[..pattern.len() - 1]),
        (true, true) => frame.contains(pattern.trim_matches('*')),
    }
}
