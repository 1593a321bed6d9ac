//! Inode lookups: open files, and du.

use super::du::Walker;
use super::inodes::{CACHED, CLUSTER, GRABBED, RECLAIMABLE, REFERENCED};
use super::task::Body;
use super::waits::Await;
use super::world::World;

impl World<'_> {
    /// Opens a file's inode. `false`: the task waits, and then tries again.
    pub(super) fn open(&mut self, tid: u32, fs: u8, ino: u32) -> bool {
        if !self.look_up(tid, fs, ino) {
            return false;
        }
        self.systems[usize::from(fs)].inode(ino).users += 1;
        true
    }

    /// xfs_iget: looks up an inode, and reads it if it is not in memory.
    fn look_up(&mut self, tid: u32, fs: u8, ino: u32) -> bool {
        let system = &mut self.systems[usize::from(fs)];
        let inode = system.inodes[ino as usize];
        let cluster = ino / CLUSTER;
        let buffer = system.clusters[cluster as usize];
        if inode.is(CACHED) {
            system.inode(ino).set(REFERENCED);
        } else if inode.is(GRABBED) {
            system.waiters.grabbed.push((ino, tid));
            self.wait(tid, Await::Grabbed(fs, ino));
            return false;
        } else if inode.is(RECLAIMABLE) {
            system.revive(ino);
        } else if buffer.locked {
            system.waiters.buffer.push((cluster, tid));
            self.wait(tid, Await::BufferLock(fs, cluster));
            return false;
        } else if buffer.references == 0 {
            let du = matches!(self.task(tid).body, Body::Du(_));
            let ahead = if du { self.setup.du_clusters } else { 1 };
            self.read_clusters(tid, fs, cluster, ahead);
            return false;
        } else {
            system.touch_buffer(cluster);
            system.create(ino);
            self.memory.slab_take(self.setup.inode_bytes);
        }
        true
    }

    /// du: looks up the inodes of one cluster after another.
    pub(super) fn walk_tree(&mut self, tid: u32) -> bool {
        let Body::Du(mut walker) = self.task(tid).body else { return false };
        let first = walker.ino;
        let mut there = true;
        while there && walker.ino < self.setup.files && walker.ino / CLUSTER == first / CLUSTER {
            there = self.look_up(tid, walker.fs, walker.ino);
            walker.ino += u32::from(there);
        }
        self.task(tid).body = Body::Du(walker);
        if !there {
            return false;
        }
        if walker.ino == self.setup.files {
            self.task(tid).body = Body::Du(Walker::new(walker.fs));
            self.wait_at_most(tid, Await::Work, self.setup.du_pause_ns);
        } else {
            let looked = u64::from(walker.ino - first);
            self.cpu(tid, (looked * self.setup.inode_reclaim_ns).max(1));
        }
        false
    }
}
