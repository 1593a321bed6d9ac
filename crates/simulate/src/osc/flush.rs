//! Writes that do not wait for a full RPC: fsync, the kernel's flusher, and writes that find no room.

use super::extent::{Extent, List, State};
use super::simulation::{Due, Simulation};
use super::writer::Activity;

impl Simulation<'_> {
    /// A page of the file has become dirty.
    pub(super) fn dirtied(&mut self, inode: usize) {
        if self.inodes[inode].dirty_since_ns.is_none() {
            self.inodes[inode].dirty_since_ns = Some(self.agenda.now_ns());
            self.arm_flusher(inode / self.plan.files);
        }
    }

    fn arm_flusher(&mut self, client: usize) {
        let every_ns = self.plan.writeback_ns;
        if every_ns > 0 && !self.flusher_due[client] {
            self.flusher_due[client] = true;
            let next_ns = (self.agenda.now_ns() / every_ns + 1) * every_ns;
            self.agenda.at(next_ns, Due::Flusher(client));
        }
    }

    /// wb_writeback: writes files that have expired, by ll_writepages and osc_cache_writeback_range.
    pub(super) fn flusher(&mut self, client: usize) {
        self.flusher_due[client] = false;
        let now_ns = self.agenda.now_ns();
        for inode in client * self.plan.files..(client + 1) * self.plan.files {
            let Some(since_ns) = self.inodes[inode].dirty_since_ns else { continue };
            if now_ns - since_ns >= self.plan.expire_ns {
                let still_held = self.write_inode(inode).iter().any(|id| self.extents[*id].state == State::Active);
                self.inodes[inode].dirty_since_ns = still_held.then_some(now_ns);
            }
            if self.inodes[inode].dirty_since_ns.is_some() {
                self.arm_flusher(client);
            }
        }
    }

    /// Starts writing the file's dirty extents, and returns them.
    fn write_inode(&mut self, inode: usize) -> Vec<usize> {
        let mut all = Vec::new();
        for stripe in 0..self.plan.stripes {
            let object = self.object_of(inode, stripe);
            all.extend(self.writeback_range(object, 0, u64::MAX, List::Urgent));
            if self.list_maint(object) {
                self.check_rpcs(self.objects[object].osc);
            }
        }
        all
    }

    /// Writes all the file's dirty extents, and waits for them.
    pub(super) fn fsync(&mut self, id: usize) {
        let inode = self.writers[id].inode;
        let all = self.write_inode(inode);
        for extent in &all {
            self.extents[*extent].watchers.push(id);
        }
        let writer = &mut self.writers[id];
        (writer.activity, writer.since_ns, writer.awaits) = (Activity::Fsync, self.agenda.now_ns(), all.len());
        if all.is_empty() {
            self.agenda.after(0, Due::Written(id));
        }
    }

    /// Removes a written extent, and wakes the tasks for which it was the last one.
    pub(super) fn finish_extent(&mut self, id: usize) {
        let (object, first) = (self.extents[id].object, self.extents[id].first);
        if self.objects[object].tree.get(&first) == Some(&id) {
            self.objects[object].tree.remove(&first);
        }
        for watcher in std::mem::take(&mut self.extents[id].watchers) {
            self.writers[watcher].awaits -= 1;
            if self.writers[watcher].awaits == 0 {
                let delay_ns = self.random.time_ns(self.plan.wake_ns);
                self.agenda.after(delay_ns, Due::Written(watcher));
            }
        }
        if let Some(lock) = self.extents[id].lock.take() {
            self.lock_flushed(self.objects[object].resource, lock);
        }
        self.extents.remove(id);
    }
}

/// vvp_io_commit_sync: no grant will come. The rest of the batch is written without grant, and the writer waits for it.
pub(super) fn write_sync(simulation: &mut Simulation<'_>, id: usize) {
    let now_ns = simulation.agenda.now_ns();
    let writer = &mut simulation.writers[id];
    (writer.activity, writer.since_ns) = (Activity::Sync, now_ns);
    let (object, page, pages) = (writer.object, writer.page, writer.batch_left);
    let mut done = 0;
    while done < pages {
        let count = (pages - done).min(simulation.plan.rpc_pages);
        let extent = simulation.extents.add(Extent {
            object,
            state: State::Sync,
            first: page + done,
            pages: count,
            max_end: page + done + count - 1,
            urgent: true,
            awaited: true,
            on: None,
            dirty_since_ns: now_ns,
            writer: id,
            watchers: vec![id],
            lock: None,
        });
        simulation.put_on_list(extent, List::Urgent);
        simulation.objects[object].pending_pages += count;
        simulation.account.dirtied_pages += count;
        simulation.writers[id].awaits += 1;
        done += count;
    }
    simulation.unplug_async(object);
}
