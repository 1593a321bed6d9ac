//! The buffers: which blocks have one, and its state.

use std::collections::VecDeque;

use super::cluster::ClusterState;
use crate::random::Random;

/// State of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It has no buffer.
    Absent,
    /// Its buffer waits for data; locked.
    Reading,
    /// The buffer is the same as the block on disk.
    Clean,
    /// The buffer is newer than the block on disk.
    Dirty,
    /// The buffer is being written; locked.
    Writing,
}

/// Who holds a vnode's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Free,
    /// Its process, to read.
    Shared,
    /// Its process, to write.
    Exclusive,
    /// bufdaemon.
    Daemon,
}

/// A file: its vnode and blocks.
#[derive(Debug)]
pub(super) struct File {
    states: Vec<State>,
    pub(super) dirty: u64,
    /// No block below it is dirty.
    lowest: u64,
    pub(super) lock: Lock,
    /// Its process waits for the lock, or was woken for it and does not run yet.
    pub(super) wanted: bool,
    /// The block in use by its process: neither recycled nor flushed.
    pub(super) held: Option<u64>,
    pub(super) cluster: ClusterState,
}

/// All buffers, and the space that they share.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) files: Vec<File>,
    capacity: u64,
    /// Buffers in use.
    pub(super) used: u64,
    pub(super) dirty: u64,
    /// Clean buffers, least recently used first; some have changed state since.
    clean: VecDeque<(u32, u32)>,
    breaks: u64,
    seed: u64,
}

impl Buffers {
    pub(super) fn new(files: usize, blocks: u64, capacity: u64, breaks: u64, seed: u64) -> Buffers {
        let file = || File {
            states: vec![State::Absent; blocks as usize],
            dirty: 0,
            lowest: 0,
            lock: Lock::Free,
            wanted: false,
            held: None,
            cluster: ClusterState::default(),
        };
        Buffers {
            files: (0..files).map(|_| file()).collect(),
            capacity,
            used: 0,
            dirty: 0,
            clean: VecDeque::new(),
            breaks,
            seed,
        }
    }

    pub(super) fn state(&self, file: usize, block: u64) -> State {
        self.files[file].states[block as usize]
    }

    /// Changes the state of a block's buffer, and updates the counts.
    pub(super) fn set(&mut self, file: usize, block: u64, to: State) {
        let of = &mut self.files[file];
        let from = std::mem::replace(&mut of.states[block as usize], to);
        if from == State::Dirty {
            of.dirty -= 1;
            self.dirty -= 1;
        }
        if to == State::Dirty {
            of.dirty += 1;
            self.dirty += 1;
            of.lowest = of.lowest.min(block);
        }
        if to == State::Clean {
            self.clean.push_back((file as u32, block as u32));
        }
        self.used += u64::from(from == State::Absent);
        self.used -= u64::from(to == State::Absent);
    }

    /// Makes room for one more buffer, and recycles a clean one if necessary: `getnewbuf_scan()`. False: all are dirty
    /// or busy.
    pub(super) fn room(&mut self) -> bool {
        // A held buffer is put back once; a process that holds one needs at most one more.
        let mut held = self.files.len();
        while self.used >= self.capacity {
            let Some((file, block)) = self.clean.pop_front() else { return false };
            if self.state(file as usize, u64::from(block)) != State::Clean {
                continue;
            }
            if self.files[file as usize].held == Some(u64::from(block)) {
                self.clean.push_back((file, block));
                if held == 0 {
                    return false;
                }
                held -= 1;
                continue;
            }
            self.set(file as usize, u64::from(block), State::Absent);
        }
        true
    }

    /// Whether the block follows its predecessor on disk. The layout of a file depends only on the seed.
    pub(super) fn contiguous(&self, file: usize, block: u64) -> bool {
        let key = self.seed ^ (block << 20) ^ file as u64;
        Random::new(key.wrapping_mul(0xd6e8_feb8_6659_fd93)).below(1 << 32) >= self.breaks
    }

    /// Whether a task other than its process may write the block.
    pub(super) fn flushable(&self, file: usize, block: u64) -> bool {
        self.state(file, block) == State::Dirty && self.files[file].held != Some(block)
    }

    /// The first block of the file that can be flushed.
    pub(super) fn first_dirty(&mut self, file: usize) -> Option<u64> {
        let of = &mut self.files[file];
        if of.dirty == 0 {
            return None;
        }
        while of.states[of.lowest as usize] != State::Dirty {
            of.lowest += 1;
        }
        // A process writes forwards, so the block it holds is the lowest only if it is the only one.
        let lowest = of.lowest;
        self.flushable(file, lowest).then_some(lowest)
    }

    /// The dirty blocks around this one that a single request can write: the first, and how many. `vfs_bio_awrite()`.
    pub(super) fn cluster_around(&self, file: usize, block: u64, most: u64) -> (u64, u64) {
        let blocks = self.files[file].states.len() as u64;
        let mut end = block + 1;
        while end - block < most && end < blocks && self.flushable(file, end) && self.contiguous(file, end) {
            end += 1;
        }
        let mut start = block;
        while end - start < most && start > 0 && self.flushable(file, start - 1) && self.contiguous(file, start) {
            start -= 1;
        }
        (start, end - start)
    }

    /// Checks the counts against the states; for tests.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let count = |file: &File, which: State| file.states.iter().filter(|state| **state == which).count() as u64;
        let dirty: u64 = self.files.iter().map(|file| count(file, State::Dirty)).sum();
        let absent: u64 = self.files.iter().map(|file| count(file, State::Absent)).sum();
        let all: u64 = self.files.iter().map(|file| file.states.len() as u64).sum();
        assert_eq!((self.dirty, self.used), (dirty, all - absent));
        assert!(self.used <= self.capacity, "{} of {}", self.used, self.capacity);
        assert!(self.files.iter().all(|file| file.dirty == count(file, State::Dirty)));
    }
}
