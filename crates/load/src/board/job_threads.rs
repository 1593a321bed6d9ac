//! A phase with a common start: its threads wait for each other, and report when their share is done.

use std::sync::atomic::Ordering;

use model::event::Member;
use serde::{Deserialize, Serialize};

use super::memory::{ARRIVED, Board, JOB_THREADS_ENDED, JOB_THREADS_START, LINE, SHARE_WORDS};
use crate::clock;

/// Time from the last thread's arrival to the common start, enough for all sleeping threads to notice.
const COUNTDOWN_NS: u64 = 3_000_000;

const SEQUENCE: usize = 0;
const TID: usize = 1;
const START: usize = 2;
const END: usize = 3;
const ITEMS: usize = 4;
const BYTES: usize = 5;
const BUSY: usize = 6;
const CPU: usize = 7;
/// Plus one; 0: unknown.
const USED: usize = 8;
/// 0: none.
const OPENED: usize = 9;
const CLOSING: usize = 10;

/// What a thread did in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThreadShare {
    /// Kernel thread id.
    pub tid: u32,
    /// When it began.
    pub start_ns: u64,
    /// When its share was done.
    pub end_ns: u64,
    /// Items done.
    pub items: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time spent in operations.
    pub busy_ns: u64,
    /// CPU time of the thread.
    pub cpu_ns: u64,
    /// How full its file system was, as in [`Member::used_ppm`].
    pub used_ppm: Option<u32>,
    /// As in [`Member::opened_ns`].
    pub opened_ns: Option<u64>,
    /// As in [`Member::closing_ns`].
    pub closing_ns: Option<u64>,
}

impl ThreadShare {
    /// The share of an actor's thread.
    pub(crate) fn member(self, actor: &str, ordinal: u64) -> Member {
        let ThreadShare { tid, start_ns, end_ns, items, bytes, busy_ns, used_ppm, opened_ns, closing_ns, .. } = self;
        let (actor, cpu_ns) = (actor.to_owned(), Some(self.cpu_ns));
        let what = Member { actor, ordinal, tid, items, bytes, busy_ns, cpu_ns, used_ppm, ..Member::default() };
        Member { start_ns, end_ns, opened_ns, closing_ns, ..what }
    }

    /// The same on a clock that is ahead by that much.
    pub fn moved(self, by_ns: i64) -> ThreadShare {
        let moved = |ns: u64| ns.wrapping_add_signed(by_ns);
        ThreadShare {
            start_ns: moved(self.start_ns),
            end_ns: moved(self.end_ns),
            opened_ns: self.opened_ns.map(moved),
            closing_ns: self.closing_ns.map(moved),
            ..self
        }
    }
}

impl Board {
    /// Prepares the barrier of a phase. Called before the command that starts the phase; threads that are
    /// late from the previous phase no longer count.
    pub(crate) fn prepare_job(&self, sequence: u32) {
        self.word(JOB_THREADS_START).store(0, Ordering::Relaxed);
        self.word(ARRIVED).store(u64::from(sequence) << 32, Ordering::Relaxed);
        self.word(JOB_THREADS_ENDED).store(u64::from(sequence) << 32, Ordering::Release);
    }

    /// A thread is ready for a phase. The last of `expected` threads sets the common start; `None`: the program does,
    /// once all nodes are ready.
    pub(crate) fn arrive(&self, sequence: u32, expected: Option<u64>) {
        let arrived = self.count_in(ARRIVED, sequence);
        if arrived.is_some() && arrived == expected {
            self.start_job(clock::now_ns() + COUNTDOWN_NS);
        }
    }

    /// Threads that are ready for the latest phase.
    pub(crate) fn arrived(&self) -> u64 {
        self.word(ARRIVED).load(Ordering::Acquire) & u64::from(u32::MAX)
    }

    /// Sets the common start.
    pub(crate) fn start_job(&self, start_ns: u64) {
        self.word(JOB_THREADS_START).store(start_ns, Ordering::Release);
    }

    /// The common start of the latest job; `None` while threads are missing.
    pub(crate) fn job_start_ns(&self) -> Option<u64> {
        Some(self.word(JOB_THREADS_START).load(Ordering::Acquire)).filter(|start_ns| *start_ns != 0)
    }

    /// A thread has done its share of a phase; `counts`: the phase waits for it.
    pub(crate) fn end_share(&self, sequence: u32, thread: usize, share: &ThreadShare, counts: bool) {
        let words = self.share(thread);
        let put = |index: usize, value: u64| words[index].store(value, Ordering::Relaxed);
        put(TID, u64::from(share.tid));
        put(START, share.start_ns);
        put(END, share.end_ns);
        put(ITEMS, share.items);
        put(BYTES, share.bytes);
        put(BUSY, share.busy_ns);
        put(CPU, share.cpu_ns);
        put(USED, share.used_ppm.map_or(0, |used_ppm| u64::from(used_ppm) + 1));
        put(OPENED, share.opened_ns.unwrap_or(0));
        put(CLOSING, share.closing_ns.unwrap_or(0));
        words[SEQUENCE].store(u64::from(sequence) + 1, Ordering::Release);
        if counts {
            self.count_in(JOB_THREADS_ENDED, sequence);
        }
    }

    /// Threads that have done their share of the latest phase.
    pub(crate) fn shares_ended(&self) -> u64 {
        self.word(JOB_THREADS_ENDED).load(Ordering::Acquire) & u64::from(u32::MAX)
    }

    /// What thread number `thread` did in a phase; `None`: it has not ended.
    pub(crate) fn share_of(&self, sequence: u32, thread: usize) -> Option<ThreadShare> {
        let words = self.share(thread);
        if words[SEQUENCE].load(Ordering::Acquire) != u64::from(sequence) + 1 {
            return None;
        }
        let get = |index: usize| words[index].load(Ordering::Relaxed);
        Some(ThreadShare {
            tid: get(TID) as u32,
            start_ns: get(START),
            end_ns: get(END),
            items: get(ITEMS),
            bytes: get(BYTES),
            busy_ns: get(BUSY),
            cpu_ns: get(CPU),
            used_ppm: get(USED).checked_sub(1).map(|used_ppm| used_ppm as u32),
            opened_ns: Some(get(OPENED)).filter(|ns| *ns != 0),
            closing_ns: Some(get(CLOSING)).filter(|ns| *ns != 0),
        })
    }

    /// Items that thread number `thread` did in its latest phase; `None`: it has not ended any.
    pub(crate) fn items_of(&self, thread: usize) -> Option<u64> {
        let words = self.share(thread);
        (words[SEQUENCE].load(Ordering::Acquire) != 0).then(|| words[ITEMS].load(Ordering::Relaxed))
    }

    /// Counts one more in that phase and returns the new count; `None` if another phase has begun.
    fn count_in(&self, word: usize, sequence: u32) -> Option<u64> {
        let of_sequence = |value: u64| (value >> 32 == u64::from(sequence)).then_some(value + 1);
        let before = self.word(word).fetch_update(Ordering::AcqRel, Ordering::Acquire, of_sequence).ok()?;
        Some((before & u64::from(u32::MAX)) + 1)
    }

    fn share(&self, thread: usize) -> &[std::sync::atomic::AtomicU64] {
        const { assert!(CLOSING < SHARE_WORDS && SHARE_WORDS.is_multiple_of(LINE)) };
        let start = self.layout.shares() + thread * SHARE_WORDS;
        &self.memory.words()[start..start + SHARE_WORDS]
    }
}
