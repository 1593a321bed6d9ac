//! The stacks of waits, and the tasks that can end them.

use super::inodes::PINNED;
use super::parameters::Rule;
use super::task::{Body, Task};
use super::waits::Await;
use super::world::World;
use crate::liveness::Waiter;

/// Most holders of memory to name.
const NAMED: usize = 8;

/// The stack of a wait in reclaim, by kswapd or direct.
macro_rules! in_reclaim {
    ($kswapd:expr, [$($inner:literal),*]) => {
        if $kswapd {
            &[$($inner,)* "shrink_node", "balance_pgdat", "kswapd", "kthread"]
        } else {
            &[$($inner,)* "shrink_node", "do_try_to_free_pages", "try_to_free_pages", "__alloc_pages_nodemask"]
        }
    };
}

macro_rules! in_inode_reclaim {
    ($kswapd:expr, [$($inner:literal),*]) => {
        in_reclaim!($kswapd, [
            $($inner,)* "xfs_reclaim_inodes_ag", "xfs_reclaim_inodes_nr", "xfs_fs_free_cached_objects",
            "super_cache_scan", "shrink_slab"
        ])
    };
}

type Frames = &'static [&'static str];

impl World<'_> {
    /// The stack in v4.8, innermost function first, without the scheduler's functions, as the kernel shows it.
    // tidy: table
    pub(super) fn frames(&self, tid: u32, for_what: Await) -> Frames {
        let body = &self.tasks[tid as usize - 1].body;
        let kswapd = matches!(body, Body::Kswapd);
        match for_what {
            Await::Work => &[],
            Await::Space if matches!(body, Body::Io(thread) if thread.faults()) => {
                &["__do_page_fault", "do_page_fault", "page_fault"]
            }
            Await::Space => &["vm_mmap_pgoff", "SyS_mmap_pgoff", "do_syscall_64"],
            Await::Join => &["futex_wait_queue_me", "futex_wait", "do_futex", "SyS_futex", "do_syscall_64"],
            Await::Read(_) => &[
                "__lock_page_killable",
                "generic_file_read_iter",
                "xfs_file_buffered_aio_read",
                "xfs_file_read_iter",
                "vfs_read",
                "do_syscall_64",
            ],
            Await::Throttle => &[
                "balance_dirty_pages",
                "balance_dirty_pages_ratelimited",
                "iomap_file_buffered_write",
                "xfs_file_buffered_aio_write",
                "vfs_write",
                "do_syscall_64",
            ],
            Await::Log(_) => &["_xfs_log_force", "xfs_log_force", "xfsaild", "kthread"],
            Await::Congestion => in_reclaim!(kswapd, ["congestion_wait", "shrink_inactive_list"]),
            Await::Progress(_) => in_reclaim!(kswapd, ["reclaim_throttle"]),
            Await::Flush(..) => in_inode_reclaim!(kswapd, ["__xfs_iflock", "xfs_reclaim_inode"]),
            Await::OwnWrite(..) => {
                in_inode_reclaim!(
                    kswapd,
                    ["xfs_buf_submit_wait", "_xfs_buf_ioapply", "xfs_bwrite", "xfs_reclaim_inode"]
                )
            }
            Await::Unpin(..) => in_inode_reclaim!(kswapd, ["xfs_iunpin_wait", "xfs_reclaim_inode"]),
            Await::Backoff(..) => in_inode_reclaim!(kswapd, ["xfs_reclaim_inode"]),
            Await::Group(..) => in_inode_reclaim!(kswapd, []),
            Await::BufferRead(..) => self.frames_of_read(tid),
            Await::BufferLock(..) => &["xfs_buf_lock", "_xfs_buf_find", "xfs_imap_to_bp", "xfs_iread", "xfs_iget"],
            Await::Grabbed(..) => &["xfs_iget", "xfs_lookup", "xfs_vn_lookup", "path_openat", "do_syscall_64"],
        }
    }

    fn frames_of_read(&self, tid: u32) -> Frames {
        let task = &self.tasks[tid as usize - 1];
        let kswapd = matches!(task.body, Body::Kswapd);
        if matches!(task.body, Body::Pusher(_)) {
            return &[
                "xfs_buf_iowait",
                "xfs_buf_read_map",
                "xfs_imap_to_bp",
                "xfs_iflush",
                "xfs_inode_item_push",
                "xfsaild_push",
                "xfsaild",
                "kthread",
            ];
        }
        if task.reclaim.is_some() || kswapd {
            return in_inode_reclaim!(
                kswapd,
                ["xfs_buf_iowait", "xfs_buf_read_map", "xfs_imap_to_bp", "xfs_iflush", "xfs_reclaim_inode"]
            );
        }
        &["xfs_buf_iowait", "xfs_buf_read_map", "xfs_imap_to_bp", "xfs_iread", "xfs_iget", "xfs_lookup"]
    }

    /// The wait has timed out: removes the task from the waiters.
    pub(super) fn forget_waiter(&mut self, tid: u32, for_what: Await) {
        if let Await::Progress(fs) = for_what {
            self.systems[usize::from(fs)].waiters.progress.retain(|who| *who != tid);
        }
    }

    /// The waiting tasks in a hang.
    pub(super) fn waiters(&self) -> Vec<Waiter> {
        let waiting = self.tasks.iter().zip(1..).filter_map(|(task, tid)| Some((tid, task.waits?)));
        let waiter = |(tid, (for_what, since_ns)): (u32, (Await, u64))| {
            let (awaits, from) = self.awaited(tid, for_what)?;
            Some(Waiter { task: self.name(tid), awaits, from, since_ns })
        };
        waiting.filter_map(waiter).collect()
    }

    fn awaited(&self, tid: u32, for_what: Await) -> Option<(String, Vec<String>)> {
        let names = |tids: &mut dyn Iterator<Item = u32>| tids.map(|tid| self.name(tid)).collect::<Vec<_>>();
        let disk = |fs: u8| vec![format!("disk {fs}")];
        Some(match for_what {
            Await::Work => return None,
            Await::Space => ("mmap_sem".to_owned(), names(&mut self.space.holders())),
            Await::Join => ("its threads".to_owned(), names(&mut self.parts_of(tid))),
            Await::Read(fs) => ("pages to be read".to_owned(), disk(fs)),
            Await::Throttle => ("fewer dirty pages".to_owned(), (0..self.systems.len() as u8).flat_map(disk).collect()),
            Await::Flush(fs, ino) => (format!("the flush lock of inode {ino} of {fs}"), vec![self.pusher_name(fs)]),
            Await::OwnWrite(fs, cluster) => (format!("its write of inode cluster {cluster}"), disk(fs)),
            Await::Unpin(fs, ino) => {
                let pinned = self.systems[usize::from(fs)].inodes[ino as usize].is(PINNED);
                let from = if pinned { disk(fs) } else { Vec::new() };
                (format!("inode {ino} of {fs} to be unpinned"), from)
            }
            Await::BufferRead(fs, cluster) => (format!("its read of inode cluster {cluster}"), disk(fs)),
            Await::BufferLock(fs, cluster) | Await::Backoff(fs, cluster) => {
                (format!("the buffer of inode cluster {cluster}"), disk(fs))
            }
            Await::Group(fs, group) => {
                let owner = self.systems[usize::from(fs)].groups[group as usize].owner;
                (format!("the reclaim lock of group {group} of {fs}"), names(&mut owner.into_iter()))
            }
            Await::Grabbed(fs, ino) => (format!("inode {ino} of {fs}, which is being reclaimed"), Vec::new()),
            Await::Log(fs) => ("the log".to_owned(), disk(fs)),
            Await::Congestion => ("free memory".to_owned(), names(&mut self.holders_of_memory(tid))),
            Await::Progress(fs) => ("an inode to be written".to_owned(), vec![self.pusher_name(fs)]),
        })
    }

    /// Some of the tasks that hold memory which they will free.
    fn holders_of_memory(&self, but: u32) -> impl Iterator<Item = u32> {
        let holds = |task: &Task| task.pages > 0;
        self.tasks.iter().zip(1..).filter(move |(task, tid)| holds(task) && *tid != but).map(|(_, tid)| tid).take(NAMED)
    }

    /// Pauses a direct reclaimer whose call made too little progress, if the policy says so. Returns whether it pauses.
    pub(super) fn pause_for_progress(&mut self, tid: u32, fs: u8) -> bool {
        let kswapd = matches!(self.task(tid).body, Body::Kswapd);
        let system = &mut self.systems[usize::from(fs)];
        let to_come = system.in_ail > 0 || !system.checkpoint.is_empty() || !system.log_write.is_empty();
        if self.setup.rule != Rule::Progress || kswapd || !to_come {
            return false;
        }
        system.waiters.progress.push(tid);
        self.wait_at_most(tid, Await::Progress(fs), self.setup.progress_timeout_ns);
        true
    }
}
