//! The daemons of a file system: log, xfsaild, writeback; and the completion of requests.

use super::disk::{Purpose, Request};
use super::inodes::{CLUSTER, CLUSTER_PAGES, DIRTY, FLUSHING, IN_AIL, IN_CHECKPOINT, IN_LOG_WRITE, PINNED};
use super::memory::{PAGE, State};
use super::pusher::Pusher;
use super::task::Body;
use super::waits::Await;
use super::world::World;

/// Pages of a write of the log.
const LOG_PAGES: u32 = 16;

/// xfsaild's pause while it has items that it could not write.
const PUSH_AGAIN_NS: u64 = 50_000_000;

/// Most writes of a flusher in flight.
const WRITES: u32 = 32;

/// Age at which dirty pages are written: dirty_expire_centisecs.
const OLD_NS: u64 = 30_000_000_000;

impl World<'_> {
    /// Forces the log: writes the checkpoint as it is.
    pub(super) fn force_log(&mut self, fs: u8) {
        let tid = self.daemons[usize::from(fs)].pusher;
        let system = &mut self.systems[usize::from(fs)];
        if system.checkpoint.is_empty() {
            return;
        }
        if !system.log_write.is_empty() {
            system.force_again = true;
            return;
        }
        system.log_write = std::mem::take(&mut system.checkpoint);
        for ino in &system.log_write {
            let inode = &mut system.inodes[*ino as usize];
            inode.clear(IN_CHECKPOINT);
            inode.set(IN_LOG_WRITE);
        }
        self.submit(fs, tid, Purpose::Log, LOG_PAGES, true);
    }

    /// xfs_ail_push_all: requests that all items now in the AIL are written.
    pub(super) fn push_all(&mut self, fs: u8) {
        let pusher = self.daemons[usize::from(fs)].pusher;
        let system = &mut self.systems[usize::from(fs)];
        system.ail_target = system.changes;
        let rests = matches!(self.task(pusher).waits, Some((Await::Work, _)));
        if rests && self.systems[usize::from(fs)].in_ail > 0 {
            self.wake(pusher, None, None);
        }
    }

    /// xfsaild. Always `false`: it waits or rests.
    pub(super) fn push_ail(&mut self, tid: u32) -> bool {
        let Body::Pusher(pusher) = &mut self.tasks[tid as usize - 1].body else { return false };
        let mut pusher = std::mem::replace(pusher, Pusher::new(pusher.fs));
        self.push_some(tid, &mut pusher);
        self.task(tid).body = Body::Pusher(pusher);
        false
    }

    fn push_some(&mut self, tid: u32, pusher: &mut Pusher) {
        let fs = pusher.fs;
        if pusher.at.is_none() && self.begin_push(tid, pusher) {
            return;
        }
        let mut at = pusher.at.take().unwrap_or(0);
        loop {
            let system = &mut self.systems[usize::from(fs)];
            let Some(&(change, ino)) = system.ail.get(at) else { break };
            if change > system.ail_target {
                break;
            }
            let inode = system.inodes[ino as usize];
            let cluster = ino / CLUSTER;
            let buffer = system.clusters[cluster as usize];
            if inode.is(PINNED) {
                pusher.force = true;
            } else if inode.is(DIRTY) && !inode.is(FLUSHING) && !buffer.locked {
                if buffer.references == 0 {
                    pusher.at = Some(at);
                    self.read_clusters(tid, fs, cluster, 1);
                    return;
                }
                system.flush_cluster(cluster);
                system.clusters[cluster as usize].locked = false;
                pusher.clusters.push(cluster);
            }
            at += 1;
        }
        self.write_clusters(tid, pusher);
        self.rest(tid, fs);
    }

    /// Starts a pass over the AIL. True if the log must be forced first, and xfsaild waits for it.
    fn begin_push(&mut self, tid: u32, pusher: &mut Pusher) -> bool {
        let system = &mut self.systems[usize::from(pusher.fs)];
        let inodes = &system.inodes;
        system.ail.retain(|(_, ino)| inodes[*ino as usize].is(IN_AIL));
        let force = std::mem::take(&mut pusher.force) && !(system.checkpoint.is_empty() && system.log_write.is_empty());
        if force {
            system.waiters.log.push(tid);
            self.wait(tid, Await::Log(pusher.fs));
            self.force_log(pusher.fs);
        }
        force
    }

    /// xfsaild rests until its next push, or for a while if it has more to write.
    fn rest(&mut self, tid: u32, fs: u8) {
        let system = &self.systems[usize::from(fs)];
        let more = system.ail.front().is_some_and(|(change, _)| *change <= system.ail_target);
        if more && system.in_ail > 0 {
            self.wait_at_most(tid, Await::Work, PUSH_AGAIN_NS);
        } else {
            self.wait(tid, Await::Work);
        }
    }

    /// Submits the clusters, sorted.
    fn write_clusters(&mut self, tid: u32, pusher: &mut Pusher) {
        pusher.clusters.sort_unstable();
        pusher.clusters.dedup();
        let mut clusters = std::mem::take(&mut pusher.clusters);
        for cluster in clusters.drain(..) {
            let buffer = &mut self.systems[usize::from(pusher.fs)].clusters[cluster as usize];
            // A locked buffer is being written, with these inodes.
            if !buffer.locked {
                buffer.locked = true;
                self.submit(pusher.fs, tid, Purpose::ClusterWrite(cluster), CLUSTER_PAGES, false);
            }
        }
        pusher.clusters = clusters;
    }

    /// Dirty pages above which the flushers start, and above which writers pause: dirty_background_ratio, and midway
    /// between it and dirty_ratio.
    pub(super) fn dirty_limits(&self) -> (u64, u64) {
        let dirtyable = self.memory.dirtyable();
        (dirtyable / 10, dirtyable * 3 / 20)
    }

    /// Writes dirty pages that have expired, that exceed the background limit, or that reclaim requests.
    pub(super) fn write_back(&mut self, fs: u8, wanted: bool) {
        let now_ns = self.now_ns();
        let flusher = self.daemons[usize::from(fs)].flusher;
        let background = self.dirty_limits().0;
        while let system = &mut self.systems[usize::from(fs)]
            && system.under_writeback < WRITES
            && let Some(&(since_ns, chunk)) = system.dirty.front()
            && (wanted || self.memory.dirty() > background || now_ns - since_ns >= OLD_NS)
        {
            system.dirty.pop_front();
            system.under_writeback += 1;
            self.memory.write_back(chunk);
            let pages = self.memory.chunk(chunk).pages;
            self.submit(fs, flusher, Purpose::Writeback(chunk), pages, false);
        }
    }

    /// Handles a completed request.
    pub(super) fn completed(&mut self, fs: u8, request: &Request) {
        match request.what {
            Purpose::Read => self.wake(request.tid, None, Some(request.number)),
            Purpose::ClusterRead(first, count) => {
                for cluster in first..first + count {
                    let system = &mut self.systems[usize::from(fs)];
                    system.clusters[cluster as usize].locked = false;
                    if system.touch_buffer(cluster) {
                        self.memory.slab_take(PAGE * u64::from(CLUSTER_PAGES));
                    }
                    self.wake_buffer(fs, cluster, request.number);
                }
            }
            Purpose::ClusterWrite(cluster) => {
                self.systems[usize::from(fs)].cluster_written(cluster);
                self.wake_buffer(fs, cluster, request.number);
                let system = &mut self.systems[usize::from(fs)];
                let inodes = &system.inodes;
                let free = |(ino, _): &mut (u32, u32)| !inodes[*ino as usize].is(FLUSHING);
                let ready = system.waiters.flush.extract_if(.., free).map(|(_, who)| who);
                let mut ready: Vec<u32> = ready.collect();
                ready.append(&mut system.waiters.progress);
                self.wake_all(&ready, request.number);
            }
            Purpose::Log => self.log_written(fs, request),
            Purpose::Writeback(chunk) => {
                debug_assert_eq!(self.memory.chunk(chunk).state, State::Writeback);
                self.memory.written(chunk);
                self.systems[usize::from(fs)].under_writeback -= 1;
                self.write_back(fs, false);
            }
        }
    }

    fn log_written(&mut self, fs: u8, request: &Request) {
        let system = &mut self.systems[usize::from(fs)];
        system.commit();
        let inodes = &system.inodes;
        let free = |(ino, _): &mut (u32, u32)| !inodes[*ino as usize].is(PINNED);
        let mut ready: Vec<u32> = system.waiters.unpin.extract_if(.., free).map(|(_, who)| who).collect();
        let again = std::mem::take(&mut system.force_again) || !system.waiters.unpin.is_empty();
        if !again || system.checkpoint.is_empty() {
            ready.append(&mut system.waiters.log);
        }
        self.wake_all(&ready, request.number);
        if again {
            self.force_log(fs);
        }
    }

    fn wake_buffer(&mut self, fs: u8, cluster: u32, number: u32) {
        let waiting = &mut self.systems[usize::from(fs)].waiters.buffer;
        if waiting.is_empty() {
            return;
        }
        let ready: Vec<u32> = waiting.extract_if(.., |(what, _)| *what == cluster).map(|(_, who)| who).collect();
        self.wake_all(&ready, number);
    }

    fn wake_all(&mut self, tids: &[u32], number: u32) {
        for tid in tids {
            self.wake(*tid, None, Some(number));
        }
    }
}
