//! Reclaim of memory: kswapd, direct reclaim, the shrinkers.

use super::inodes::CLUSTER_PAGES;
use super::memory::PAGE;
use super::parameters::Rule;
use super::reclaimer::{PRIORITY, Reclaim, Stage};
use super::task::Body;
use super::waits::Await;
use super::walk::Walk;
use super::world::World;

/// Pages that direct reclaim must reclaim before it may stop: SWAP_CLUSTER_MAX.
const ENOUGH: u64 = 32;

/// Batch sizes of a file system's inode shrinker and buffer shrinker: s_shrink.batch, SHRINK_BATCH.
const BATCHES: [u64; 2] = [1024, 128];

/// HZ/10.
const PAUSE_NS: u64 = 100_000_000;

impl World<'_> {
    /// Allocates the pages that the task needs. `false`: there are too few, and it enters direct reclaim.
    pub(super) fn get_pages(&mut self, tid: u32) -> bool {
        let need = self.task(tid).need;
        let given = self.memory.allocate(need);
        let task = self.task(tid);
        task.need -= given;
        task.pages += given;
        self.moved += u64::from(given > 0);
        if self.memory.is_low() {
            while let Some(kswapd) = self.idle_kswapds.pop() {
                self.wake(kswapd, Some(tid), None);
            }
        }
        if given < need {
            self.tally.allocation_stalls += 1;
            let task = self.task(tid);
            // xfs_setup_inode clears __GFP_FS in the page cache's allocations.
            let enters = !matches!(task.body, Body::Io(thread) if thread.fills_cache());
            task.reclaim = Some(Reclaim::new(false, enters));
        }
        given == need
    }

    pub(super) fn kswapd(&mut self, tid: u32) -> bool {
        if self.memory.is_high() {
            self.idle_kswapds.push(tid);
            self.wait(tid, Await::Work);
            return false;
        }
        self.task(tid).reclaim = Some(Reclaim::new(true, true));
        true
    }

    /// Continues the task's reclaim. Returns whether it has ended.
    pub(super) fn reclaim(&mut self, tid: u32) -> bool {
        let Some(mut reclaim) = self.task(tid).reclaim.take() else { return true };
        let over = loop {
            match self.reclaim_step(tid, &mut reclaim) {
                Step::Next => {}
                Step::Waits => break false,
                Step::Over => break true,
            }
        };
        if !over {
            self.task(tid).reclaim = Some(reclaim);
        }
        over
    }

    fn reclaim_step(&mut self, tid: u32, reclaim: &mut Reclaim) -> Step {
        match &mut reclaim.stage {
            Stage::List => {
                self.scan_list(tid, reclaim);
                Step::Waits
            }
            Stage::Shrinker(fs, which) => {
                reclaim.stage = self.call_shrinker(*fs, *which, reclaim.enters, reclaim.scanned);
                Step::Next
            }
            Stage::Shrinking(fs, left) => {
                let (fs, left) = (*fs, *left);
                self.shrink_inodes(tid, reclaim, fs, left)
            }
            Stage::Walking(walk, left) => {
                if !self.walk(tid, walk) {
                    return Step::Waits;
                }
                let (fs, left, progress) = (walk.fs, *left, walk.freed > walk.left);
                reclaim.stage = Stage::Shrinking(fs, left);
                if !progress && self.pause_for_progress(tid, fs) { Step::Waits } else { Step::Next }
            }
            Stage::Round => self.end_round(tid, reclaim),
            Stage::Last => Step::Over,
        }
    }

    /// Calls one of a file system's two shrinkers. Returns the next stage.
    fn call_shrinker(&mut self, fs: u8, which: usize, enters: bool, scanned: u64) -> Stage {
        if usize::from(fs) == self.systems.len() {
            return Stage::Round;
        }
        let left = self.shrinker_work(fs, which, scanned);
        match which {
            0 if enters => Stage::Shrinking(fs, left),
            0 => {
                // SHRINK_STOP: deferred to reclaimers that may enter file systems.
                self.systems[usize::from(fs)].deferred[which] += left;
                Stage::Shrinker(fs, 1)
            }
            _ => {
                self.shrink_buffers(fs, left);
                Stage::Shrinker(fs + 1, 0)
            }
        }
    }

    /// shrink_node_memcg: direct reclaim scans the whole share at the first priority, and later stops when it has
    /// enough.
    fn scan_list(&mut self, tid: u32, reclaim: &mut Reclaim) {
        let share = (self.memory.cached() >> reclaim.priority).max(ENOUGH);
        let whole = !reclaim.kswapd && reclaim.priority == PRIORITY;
        let enough = if reclaim.kswapd { self.memory.high() } else { ENOUGH };
        let most = if whole { share } else { share.min(enough.saturating_sub(reclaim.reclaimed).max(ENOUGH)) };
        let mut dropped = std::mem::take(&mut self.dropped);
        let done = self.memory.scan(most, &mut dropped);
        for id in dropped.drain(..) {
            let chunk = self.memory.chunk(id);
            self.systems[usize::from(chunk.fs)].drop_chunk(&mut self.memory, chunk.inode, id);
        }
        self.dropped = dropped;
        reclaim.scanned = done.scanned;
        reclaim.reclaimed += done.reclaimed;
        reclaim.unclean += done.unclean;
        self.moved += u64::from(done.reclaimed > 0);
        self.tally.scanned(reclaim.kswapd, done.scanned, done.reclaimed);
        reclaim.stage = Stage::Shrinker(0, 0);
        self.cpu(tid, done.scanned.max(1) * self.setup.page_reclaim_ns);
    }

    /// do_shrink_slab: the objects that a shrinker scans now. Less than a batch is deferred, unless that is all.
    fn shrinker_work(&mut self, fs: u8, which: usize, scanned: u64) -> u64 {
        let eligible = self.memory.cached() + 1;
        let system = &mut self.systems[usize::from(fs)];
        let freeable = match which {
            // Each inode cached by the VFS has a dentry.
            0 => 2 * system.list.len() as u64 + system.reclaimable,
            _ => system.buffers.len() as u64,
        };
        if freeable == 0 {
            return 0;
        }
        let added = 2 * scanned * freeable / eligible;
        let mut total = std::mem::take(&mut system.deferred[which]) + added;
        if added < freeable / 4 {
            total = total.min(freeable / 2);
        }
        total = total.min(freeable * 2);
        if total >= BATCHES[which] || total >= freeable {
            return total;
        }
        system.deferred[which] = total;
        0
    }

    fn shrink_buffers(&mut self, fs: u8, left: u64) {
        let system = &mut self.systems[usize::from(fs)];
        let rest = if left >= BATCHES[1] { left % BATCHES[1] } else { 0 };
        system.deferred[1] += rest;
        for _ in 0..left - rest {
            match system.prune_buffer() {
                Some(true) => self.memory.slab_free(PAGE * u64::from(CLUSTER_PAGES)),
                Some(false) => {}
                None => break,
            }
        }
    }

    /// super_cache_scan: scans dentries, the VFS's inodes, and XFS's, in proportion.
    fn shrink_inodes(&mut self, tid: u32, reclaim: &mut Reclaim, fs: u8, left: u64) -> Step {
        let system = &mut self.systems[usize::from(fs)];
        let (known, tagged) = (system.list.len() as u64, system.reclaimable);
        if left == 0 || (left < BATCHES[0] && left < 2 * known + tagged) {
            system.deferred[0] += left;
            reclaim.stage = Stage::Shrinker(fs, 1);
            return Step::Next;
        }
        let now = left.min(BATCHES[0]);
        let total = 2 * known + tagged + 1;
        let mut looked = 0;
        for _ in 0..=now * known / total {
            if system.prune_one(&mut self.memory).is_none() {
                break;
            }
            looked += 1;
        }
        self.tally.slabs_scanned += now;
        let of_xfs = now * tagged / total;
        let left = left - now;
        if of_xfs == 0 {
            reclaim.stage = Stage::Shrinking(fs, left);
            self.cpu(tid, (looked * self.setup.inode_reclaim_ns).max(1));
            return Step::Waits;
        }
        self.push_all(fs);
        let wait = self.setup.rule == Rule::Wait;
        reclaim.stage = Stage::Walking(Walk::new(fs, self.now_ns(), wait, of_xfs as i64 + 1), left);
        Step::Next
    }

    /// Ends reclaim if it has enough, else raises the priority.
    fn end_round(&mut self, tid: u32, reclaim: &mut Reclaim) -> Step {
        if std::mem::take(&mut reclaim.unclean) > 0 {
            for fs in 0..self.systems.len() as u8 {
                self.write_back(fs, true);
            }
        }
        reclaim.stage = Stage::List;
        if reclaim.kswapd {
            if self.memory.is_high() {
                return Step::Over;
            }
            if reclaim.priority == 1 {
                let nothing = reclaim.reclaimed == 0;
                *reclaim = *Reclaim::new(true, true);
                if nothing {
                    self.wait_at_most(tid, Await::Congestion, PAUSE_NS);
                    return Step::Waits;
                }
            } else if reclaim.scanned < self.memory.high() {
                reclaim.priority -= 1;
            }
            return Step::Next;
        }
        if reclaim.reclaimed >= ENOUGH {
            return Step::Over;
        }
        if reclaim.priority > 1 {
            reclaim.priority -= 1;
            return Step::Next;
        }
        reclaim.stage = Stage::Last;
        self.wait_at_most(tid, Await::Congestion, PAUSE_NS);
        Step::Waits
    }

    /// The worker that frees clean inodes every few seconds, with or without memory pressure.
    pub(super) fn reclaim_in_background(&mut self, tid: u32) -> bool {
        let now_ns = self.now_ns();
        let Body::Background(fs, walk) = &mut self.tasks[tid as usize - 1].body else { return false };
        let fs = *fs;
        let period_ns = self.setup.log_period_ns / 6;
        if walk.is_none() && self.systems[usize::from(fs)].reclaimable == 0 {
            self.wait_at_most(tid, Await::Work, period_ns);
            return false;
        }
        let mut walk = walk.take().unwrap_or_else(|| Walk::new(fs, now_ns, false, i64::MAX));
        if self.walk(tid, &mut walk) {
            self.wait_at_most(tid, Await::Work, period_ns);
        } else if let Body::Background(_, place) = &mut self.tasks[tid as usize - 1].body {
            *place = Some(walk);
        }
        false
    }
}

enum Step {
    Next,
    Waits,
    Over,
}
