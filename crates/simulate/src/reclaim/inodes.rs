//! A file system: its inodes in memory, allocation groups, inode clusters, log and AIL.

use std::collections::VecDeque;

use super::disk::Disk;
use super::memory::{Memory, NONE, State};

/// Inodes in a cluster: what is read, locked and written at once.
pub(super) const CLUSTER: u32 = 32;

/// Pages of a cluster's buffer: 32 inodes of 512 bytes.
pub(super) const CLUSTER_PAGES: u32 = 4;

/// Shrinker passes that a cluster's buffer survives: XFS_INO_REF.
const BUFFER_REFERENCES: u8 = 2;

/// An inode's state, as flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inode {
    flags: u16,
    /// Operations that have it open.
    pub(super) users: u16,
    /// Its first chunk of the page cache, or [`NONE`].
    chunk: u32,
}

/// In memory and known to the VFS.
pub(super) const CACHED: u16 = 1;
/// Evicted by the VFS, and tagged in its group's tree.
pub(super) const RECLAIMABLE: u16 = 2;
/// A reclaimer is about to check it and free it.
pub(super) const GRABBED: u16 = 4;
/// Newer than its cluster's buffer.
pub(super) const DIRTY: u16 = 8;
/// In the log's current checkpoint.
pub(super) const IN_CHECKPOINT: u16 = 16;
/// In the checkpoint that is being written.
pub(super) const IN_LOG_WRITE: u16 = 32;
/// The flush lock is held: its cluster is being written.
pub(super) const FLUSHING: u16 = 64;
/// In the AIL.
pub(super) const IN_AIL: u16 = 128;
/// Used since the shrinker's last pass.
pub(super) const REFERENCED: u16 = 256;
/// Modified since the last read: the next read logs its access time.
pub(super) const MODIFIED: u16 = 512;
/// It must not be written in place before the log is written.
pub(super) const PINNED: u16 = IN_CHECKPOINT | IN_LOG_WRITE;

impl Inode {
    pub(super) fn is(self, flags: u16) -> bool {
        self.flags & flags != 0
    }

    pub(super) fn set(&mut self, flags: u16) {
        self.flags |= flags;
    }

    pub(super) fn clear(&mut self, flags: u16) {
        self.flags &= !flags;
    }

    /// The inode leaves memory.
    pub(super) fn forget(&mut self) {
        self.flags &= MODIFIED;
    }
}

/// An allocation group: its reclaimable inodes, and its reclaimer.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// One bit per inode of the group.
    tags: Vec<u64>,
    pub(super) reclaimable: u32,
    /// pag_ici_reclaim_lock.
    pub(super) owner: Option<u32>,
    pub(super) queue: VecDeque<u32>,
    /// pag_ici_reclaim_cursor.
    pub(super) cursor: u32,
}

impl Group {
    /// The first tagged inode at or after `from`, as an index within the group.
    fn next(&self, from: u32) -> Option<u32> {
        let mut word = from as usize / 64;
        let mut bits = self.tags.get(word)? & !0 << (from % 64);
        while bits == 0 {
            word += 1;
            bits = *self.tags.get(word)?;
        }
        Some(word as u32 * 64 + bits.trailing_zeros())
    }
}

/// An inode cluster's buffer.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Cluster {
    /// 0: not in memory. Else one more than the shrinker passes it survives.
    pub(super) references: u8,
    /// It is being read or written.
    pub(super) locked: bool,
}

/// Tasks that wait for something of a file system.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    /// For an inode's flush lock.
    pub(super) flush: Vec<(u32, u32)>,
    /// For an inode to be unpinned.
    pub(super) unpin: Vec<(u32, u32)>,
    /// For an inode that a reclaimer is about to free.
    pub(super) grabbed: Vec<(u32, u32)>,
    /// For a cluster's buffer.
    pub(super) buffer: Vec<(u32, u32)>,
    /// For the log force in progress.
    pub(super) log: Vec<u32>,
    /// For any cluster to be written.
    pub(super) progress: Vec<u32>,
}

/// A file system.
#[derive(Debug)]
pub(super) struct FileSystem {
    pub(super) inodes: Vec<Inode>,
    pub(super) per_group: u32,
    pub(super) groups: Vec<Group>,
    pub(super) reclaimable: u64,
    /// The VFS's LRU list of inodes; the least recently used first.
    pub(super) list: VecDeque<u32>,
    pub(super) clusters: Vec<Cluster>,
    pub(super) buffers: VecDeque<u32>,
    /// Deferred work of the shrinkers: inodes, buffers.
    pub(super) deferred: [u64; 2],
    pub(super) checkpoint: Vec<u32>,
    pub(super) log_write: Vec<u32>,
    /// The log must be written again after this write.
    pub(super) force_again: bool,
    /// In the order of their first change, with its number.
    pub(super) ail: VecDeque<(u64, u32)>,
    pub(super) in_ail: u64,
    pub(super) changes: u64,
    /// Changes up to this one must be written.
    pub(super) ail_target: u64,
    /// Dirty chunks of the page cache, the oldest first.
    pub(super) dirty: VecDeque<(u64, u32)>,
    pub(super) under_writeback: u32,
    pub(super) waiters: Waiters,
    pub(super) disk: Disk,
}

impl FileSystem {
    pub(super) fn new(groups: u32, files: u32) -> FileSystem {
        let per_group = files / groups;
        let group = || Group { tags: vec![0; per_group.div_ceil(64) as usize], ..Group::default() };
        FileSystem {
            inodes: vec![Inode { flags: 0, users: 0, chunk: NONE }; files as usize],
            per_group,
            groups: (0..groups).map(|_| group()).collect(),
            reclaimable: 0,
            list: VecDeque::new(),
            clusters: vec![Cluster::default(); (files / CLUSTER) as usize],
            buffers: VecDeque::new(),
            deferred: [0; 2],
            checkpoint: Vec::new(),
            log_write: Vec::new(),
            force_again: false,
            ail: VecDeque::new(),
            in_ail: 0,
            changes: 0,
            ail_target: 0,
            dirty: VecDeque::new(),
            under_writeback: 0,
            waiters: Waiters::default(),
            disk: Disk::default(),
        }
    }

    pub(super) fn inode(&mut self, ino: u32) -> &mut Inode {
        &mut self.inodes[ino as usize]
    }

    /// The inode enters memory, cached by the VFS.
    pub(super) fn create(&mut self, ino: u32) {
        self.inode(ino).set(CACHED);
        self.list.push_back(ino);
    }

    /// A reclaimable inode is used again.
    pub(super) fn revive(&mut self, ino: u32) {
        self.untag(ino);
        self.create(ino);
    }

    /// Adds a chunk of the page cache to an inode.
    pub(super) fn add_chunk(&mut self, memory: &mut Memory, ino: u32, id: u32) {
        let inode = self.inode(ino);
        memory.link(id, inode.chunk);
        inode.chunk = id;
    }

    /// Removes a chunk from an inode.
    pub(super) fn drop_chunk(&mut self, memory: &mut Memory, ino: u32, id: u32) {
        let next = memory.chunk(id).next;
        let inode = self.inode(ino);
        if inode.chunk == id {
            inode.chunk = next;
            return;
        }
        let mut before = inode.chunk;
        while before != NONE {
            let after = memory.chunk(before).next;
            if after == id {
                memory.link(before, next);
                return;
            }
            before = after;
        }
    }

    /// Drops an inode's pages if all are clean. Returns whether it did.
    fn steal(&mut self, memory: &mut Memory, ino: u32) -> bool {
        let first = self.inodes[ino as usize].chunk;
        let chain = |memory: &Memory, id| Some(memory.chunk(id).next).filter(|next| *next != NONE);
        let mut at = Some(first).filter(|first| *first != NONE);
        while let Some(id) = at {
            if memory.chunk(id).state != State::Clean {
                return false;
            }
            at = chain(memory, id);
        }
        at = Some(first).filter(|first| *first != NONE);
        while let Some(id) = at {
            at = chain(memory, id);
            memory.invalidate(id);
        }
        self.inode(ino).chunk = NONE;
        true
    }

    /// The VFS checks the least recently used inode. `Some(true)`: it evicted the inode and its pages, and the inode is
    /// reclaimable. `None`: the list is empty.
    pub(super) fn prune_one(&mut self, memory: &mut Memory) -> Option<bool> {
        let ino = self.list.pop_front()?;
        let inode = &mut self.inodes[ino as usize];
        let used = inode.users > 0 || inode.is(REFERENCED);
        inode.clear(REFERENCED);
        let kept = used || !self.steal(memory, ino);
        let inode = &mut self.inodes[ino as usize];
        if kept {
            self.list.push_back(ino);
        } else {
            inode.clear(CACHED);
            inode.set(RECLAIMABLE);
            let (group, index) = self.place(ino);
            let group = &mut self.groups[group];
            group.tags[index as usize / 64] |= 1 << (index % 64);
            group.reclaimable += 1;
            self.reclaimable += 1;
        }
        Some(!kept)
    }

    /// Frees an inode.
    pub(super) fn free(&mut self, ino: u32) {
        self.untag(ino);
        self.inode(ino).forget();
    }

    /// Up to 32 reclaimable inodes of a group, in ascending order, from an index.
    pub(super) fn batch(&self, group: usize, from: u32, found: &mut Vec<u32>) {
        found.clear();
        let mut from = from;
        let of_group = &self.groups[group];
        while found.len() < 32
            && let Some(index) = of_group.next(from)
        {
            found.push(group as u32 * self.per_group + index);
            from = index + 1;
        }
    }

    /// Changes an inode; the change goes into the log's current checkpoint.
    pub(super) fn log_inode(&mut self, ino: u32) {
        let inode = self.inode(ino);
        let there = inode.is(IN_CHECKPOINT);
        inode.set(DIRTY | IN_CHECKPOINT);
        if !there {
            self.checkpoint.push(ino);
        }
    }

    /// The log is written: its inodes are unpinned, and enter the AIL.
    pub(super) fn commit(&mut self) {
        for ino in std::mem::take(&mut self.log_write) {
            let inode = &mut self.inodes[ino as usize];
            inode.clear(IN_LOG_WRITE);
            if !inode.is(IN_AIL) {
                inode.set(IN_AIL);
                self.changes += 1;
                self.in_ail += 1;
                self.ail.push_back((self.changes, ino));
            }
        }
    }

    /// Copies a cluster's dirty, unpinned inodes into its buffer, and locks the buffer. Returns whether there were any.
    pub(super) fn flush_cluster(&mut self, cluster: u32) -> bool {
        let mut any = false;
        for ino in cluster * CLUSTER..(cluster + 1) * CLUSTER {
            let inode = self.inode(ino);
            if inode.is(DIRTY) && !inode.is(PINNED | FLUSHING) {
                inode.clear(DIRTY);
                inode.set(FLUSHING);
                any = true;
            }
        }
        self.clusters[cluster as usize].locked |= any;
        any
    }

    /// A cluster has been written.
    pub(super) fn cluster_written(&mut self, cluster: u32) {
        for ino in cluster * CLUSTER..(cluster + 1) * CLUSTER {
            let inode = &mut self.inodes[ino as usize];
            if inode.is(FLUSHING) {
                inode.clear(FLUSHING);
                if inode.is(IN_AIL) && !inode.is(DIRTY) {
                    inode.clear(IN_AIL);
                    self.in_ail -= 1;
                }
            }
        }
        self.clusters[cluster as usize].locked = false;
    }

    /// A cluster's buffer was read, or is used again. Returns whether it was not in memory.
    pub(super) fn touch_buffer(&mut self, cluster: u32) -> bool {
        let buffer = &mut self.clusters[cluster as usize];
        let came = buffer.references == 0;
        buffer.references = BUFFER_REFERENCES + 1;
        if came {
            self.buffers.push_back(cluster);
        }
        came
    }

    /// The shrinker checks the oldest buffer. `Some(true)`: it was freed.
    pub(super) fn prune_buffer(&mut self) -> Option<bool> {
        let cluster = self.buffers.pop_front()?;
        let buffer = &mut self.clusters[cluster as usize];
        if !buffer.locked {
            buffer.references -= 1;
        }
        if buffer.references > 0 {
            self.buffers.push_back(cluster);
        }
        Some(buffer.references == 0)
    }

    /// An inode's group, and its index within the group.
    pub(super) fn place(&self, ino: u32) -> (usize, u32) {
        ((ino / self.per_group) as usize, ino % self.per_group)
    }

    fn untag(&mut self, ino: u32) {
        self.inode(ino).clear(RECLAIMABLE);
        let (group, index) = self.place(ino);
        let group = &mut self.groups[group];
        group.tags[index as usize / 64] &= !(1 << (index % 64));
        group.reclaimable -= 1;
        self.reclaimable -= 1;
    }

    /// Whether the counts agree with the inodes, and every inode's state is valid.
    pub(super) fn adds_up(&self) -> bool {
        let count = |flag| self.inodes.iter().filter(|inode| inode.is(flag)).count() as u64;
        let tags: u32 = self.groups.iter().flat_map(|group| &group.tags).map(|word| word.count_ones()).sum();
        let sane = |inode: &Inode| {
            !(inode.is(CACHED) && inode.is(RECLAIMABLE))
                && (inode.is(CACHED | RECLAIMABLE) || !inode.is(DIRTY | PINNED | FLUSHING | IN_AIL | GRABBED))
                && (!inode.is(GRABBED) || inode.is(RECLAIMABLE))
                && (inode.is(CACHED) || inode.chunk == NONE && inode.users == 0)
        };
        self.inodes.iter().all(sane)
            && count(RECLAIMABLE) == self.reclaimable
            && count(CACHED) == self.list.len() as u64
            && u64::from(tags) == self.reclaimable
            && count(IN_AIL) == self.in_ail
            && count(IN_CHECKPOINT) == self.checkpoint.len() as u64
            && count(IN_LOG_WRITE) == self.log_write.len() as u64
            && self.groups.iter().map(|group| u64::from(group.reclaimable)).sum::<u64>() == self.reclaimable
    }
}
