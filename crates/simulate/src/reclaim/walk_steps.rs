//! xfs_reclaim_inodes_ag: a walk over the allocation groups that frees inodes.

use super::disk::Purpose;
use super::inodes::{CLUSTER, CLUSTER_PAGES, Cluster, DIRTY, FLUSHING, GRABBED, PINNED};
use super::tally::Caller;
use super::task::Body;
use super::waits::Await;
use super::walk::Walk;
use super::world::World;

/// Inodes per lookup: XFS_LOOKUP_BATCH.
const BATCH: i64 = 32;

/// Index of a group that is done.
const OVER: u32 = u32::MAX;

/// Two ticks, after which an inode with a locked buffer is retried.
const BACKOFF_NS: u64 = 8_000_000;

impl World<'_> {
    /// Continues the walk. Returns whether it is done.
    pub(super) fn walk(&mut self, tid: u32, walk: &mut Walk) -> bool {
        loop {
            if let Some(&ino) = walk.batch.get(walk.at) {
                if !self.reclaim_inode(tid, walk, ino) {
                    return false;
                }
                walk.at += 1;
            } else if walk.owed_ns > 0 {
                self.cpu(tid, std::mem::take(&mut walk.owed_ns));
                return false;
            } else if walk.held {
                self.next_batch(tid, walk);
            } else if walk.group == self.systems[usize::from(walk.fs)].groups.len() {
                if !(walk.wait && walk.skipped > 0 && walk.to_scan > 0) {
                    let now_ns = self.now_ns();
                    let by = match self.task(tid).body {
                        Body::Background(..) => Caller::Background,
                        Body::Kswapd => Caller::Kswapd,
                        _ => Caller::Direct,
                    };
                    self.tally.call(by, now_ns - walk.began_ns);
                    return true;
                }
                (walk.trying, walk.skipped, walk.group) = (false, 0, 0);
            } else if !self.next_group(tid, walk) {
                return false;
            }
        }
    }

    /// Takes the next group's lock, or skips the group. `false`: the task waits for the lock.
    fn next_group(&mut self, tid: u32, walk: &mut Walk) -> bool {
        let group = &mut self.systems[usize::from(walk.fs)].groups[walk.group];
        match group.owner {
            Some(owner) if owner == tid => {}
            _ if group.reclaimable == 0 => {
                walk.group += 1;
                return true;
            }
            None => group.owner = Some(tid),
            Some(_) if walk.trying => {
                walk.skipped += 1;
                walk.group += 1;
                return true;
            }
            Some(_) => {
                group.queue.push_back(tid);
                self.wait(tid, Await::Group(walk.fs, walk.group as u32));
                return false;
            }
        }
        walk.index = if walk.trying { group.cursor } else { 0 };
        walk.held = true;
        true
    }

    /// Looks up the next inodes and grabs those that are free, or releases the group.
    fn next_batch(&mut self, tid: u32, walk: &mut Walk) {
        walk.at = 0;
        walk.batch.clear();
        let system = &mut self.systems[usize::from(walk.fs)];
        if walk.index != OVER {
            system.batch(walk.group, walk.index, &mut walk.batch);
            if let Some(last) = walk.batch.last() {
                walk.index = system.place(*last).1 + 1;
                walk.owed_ns = walk.batch.len() as u64 * self.setup.inode_reclaim_ns;
                walk.to_scan = walk.to_scan.saturating_sub(BATCH);
                walk.batch.retain(|ino| !system.inodes[*ino as usize].is(FLUSHING | GRABBED));
                for ino in &walk.batch {
                    system.inode(*ino).set(GRABBED);
                }
                system.groups[walk.group].cursor = if walk.trying { walk.index } else { 0 };
                if walk.to_scan <= 0 {
                    walk.index = OVER;
                }
                return;
            }
            system.groups[walk.group].cursor = 0;
        }
        let group = &mut system.groups[walk.group];
        group.owner = group.queue.pop_front();
        walk.held = false;
        walk.group += 1;
        if let Some(next) = group.owner {
            self.wake(next, Some(tid), None);
        }
    }

    /// xfs_reclaim_inode. `false`: the task waits, and then looks again.
    fn reclaim_inode(&mut self, tid: u32, walk: &mut Walk, ino: u32) -> bool {
        let fs = walk.fs;
        let system = &mut self.systems[usize::from(fs)];
        let inode = system.inodes[ino as usize];
        if !inode.is(FLUSHING | PINNED | DIRTY) {
            system.free(ino);
            self.memory.slab_free(self.setup.inode_bytes);
            walk.freed += 1;
            self.tally.inodes_freed += 1;
            self.moved += 1;
            self.wake_grabbed(tid, fs, ino);
            return true;
        }
        self.tally.unclean += 1;
        if !walk.wait {
            walk.left += 1;
            system.inode(ino).clear(GRABBED);
            self.wake_grabbed(tid, fs, ino);
            return true;
        }
        if inode.is(FLUSHING) {
            system.waiters.flush.push((ino, tid));
            self.wait(tid, Await::Flush(fs, ino));
        } else if inode.is(PINNED) {
            system.waiters.unpin.push((ino, tid));
            self.wait(tid, Await::Unpin(fs, ino));
            self.force_log(fs);
        } else {
            self.write_inode(tid, fs, ino);
        }
        false
    }

    /// Writes the inode's cluster, which is read first where it is not in memory.
    fn write_inode(&mut self, tid: u32, fs: u8, ino: u32) {
        let cluster = ino / CLUSTER;
        let system = &mut self.systems[usize::from(fs)];
        let buffer = system.clusters[cluster as usize];
        if buffer.locked {
            self.wait_at_most(tid, Await::Backoff(fs, cluster), BACKOFF_NS);
        } else if buffer.references == 0 {
            self.read_clusters(tid, fs, cluster, 1);
        } else {
            system.flush_cluster(cluster);
            system.waiters.flush.push((ino, tid));
            self.wait(tid, Await::OwnWrite(fs, cluster));
            self.submit(fs, tid, Purpose::ClusterWrite(cluster), CLUSTER_PAGES, true);
        }
    }

    /// Reads an unlocked cluster, and waits for it. Reads up to `most` clusters at once if the following ones are not
    /// in memory either.
    pub(super) fn read_clusters(&mut self, tid: u32, fs: u8, cluster: u32, most: u32) {
        let system = &mut self.systems[usize::from(fs)];
        let following = &mut system.clusters[cluster as usize..];
        let missing = |buffer: &Cluster| !buffer.locked && buffer.references == 0;
        let count = following.iter().take(most as usize).take_while(|buffer| missing(buffer)).count();
        following[..count].iter_mut().for_each(|buffer| buffer.locked = true);
        system.waiters.buffer.push((cluster, tid));
        self.wait(tid, Await::BufferRead(fs, cluster));
        let count = count as u32;
        self.submit(fs, tid, Purpose::ClusterRead(cluster, count), count * CLUSTER_PAGES, true);
    }

    fn wake_grabbed(&mut self, tid: u32, fs: u8, ino: u32) {
        let waiting = &mut self.systems[usize::from(fs)].waiters.grabbed;
        if waiting.is_empty() {
            return;
        }
        let ready: Vec<u32> = waiting.extract_if(.., |(what, _)| *what == ino).map(|(_, who)| who).collect();
        for who in ready {
            self.wake(who, Some(tid), None);
        }
    }
}
