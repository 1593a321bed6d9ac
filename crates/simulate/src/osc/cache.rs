//! How a page enters the cache: grant, room below the dirty limit, and the extent that takes it.

use super::extent::{Extent, List, State};
use super::flush;
use super::plan::Trigger;
use super::simulation::{Due, Simulation};
use super::writer::{Activity, CACHE};

impl Simulation<'_> {
    /// osc_queue_async_io: adds the page to the writer's active extent, to another that it continues, or to a new one.
    /// False if the writer sleeps, or writes synchronously.
    pub(super) fn queue_async_io(&mut self, id: usize) -> bool {
        let (object, page) = (self.writers[id].object, self.writers[id].page);
        let osc = self.objects[object].osc;
        if let Some(extent) = self.writers[id].active {
            if page <= self.extents[extent].max_end && self.enter_cache_try(osc) {
                self.extents[extent].pages += 1;
                return true;
            }
            self.writers[id].active = None;
            self.release(extent);
        }
        if self.enter_cache(id) {
            self.find_extent(id);
            return true;
        }
        false
    }

    /// osc_enter_cache_try: one page of grant, and of the dirty limit.
    fn enter_cache_try(&mut self, osc: usize) -> bool {
        let osc = &mut self.oscs[osc];
        let room = osc.dirty_pages < self.plan.dirty_limit_pages && osc.grant_pages > 0;
        if room {
            osc.dirty_pages += 1;
            osc.grant_pages -= 1;
        }
        room
    }

    /// osc_enter_cache: waits while pages are dirty or in flight, since their completion may free room. If none are, no
    /// grant will come, and the page is written synchronously.
    fn enter_cache(&mut self, id: usize) -> bool {
        let osc_id = self.objects[self.writers[id].object].osc;
        if self.enter_cache_try(osc_id) {
            return true;
        }
        let osc = &mut self.oscs[osc_id];
        if osc.dirty_pages == 0 && osc.in_flight == 0 {
            self.finish_cache_wait(id);
            flush::write_sync(self, id);
            return false;
        }
        osc.waiters.push_back(id);
        let now_ns = self.agenda.now_ns();
        let writer = &mut self.writers[id];
        if !matches!(writer.activity, Activity::Cache { .. }) {
            writer.since_ns = now_ns;
        }
        writer.activity = Activity::Cache { woken: false, entered: false };
        if !writer.timeout_due && self.plan.cache_timeout_ns > 0 {
            writer.timeout_due = true;
            self.agenda.after(self.plan.cache_timeout_ns, Due::Timeout(id));
        }
        self.queue_work(osc_id);
        false
    }

    /// osc_wake_cache_waiters: all waiters leave the queue. Those for whom there is room have it; the others must try
    /// again. Until they run, they do not count as waiters.
    pub(super) fn wake_cache_waiters(&mut self, osc: usize) {
        while let Some(id) = self.oscs[osc].waiters.pop_front() {
            let entered = self.enter_cache_try(osc);
            self.writers[id].activity = Activity::Cache { woken: true, entered };
            let delay_ns = self.random.time_ns(self.plan.wake_ns);
            self.agenda.after(delay_ns, Due::Woken(id));
        }
    }

    /// The rest of osc_enter_cache.
    pub(super) fn woken(&mut self, id: usize) {
        let Activity::Cache { entered, .. } = self.writers[id].activity else {
            unreachable!("only cache waiters are woken for the cache")
        };
        if entered || self.enter_cache(id) {
            self.finish_cache_wait(id);
            self.find_extent(id);
            self.added(id);
        }
    }

    fn finish_cache_wait(&mut self, id: usize) {
        if matches!(self.writers[id].activity, Activity::Cache { .. }) {
            self.report_wait(id, CACHE);
            self.writers[id].activity = Activity::Busy;
        }
    }

    /// l_wait_event has timed out for a task that still waits: -EDQUOT, and a synchronous write.
    pub(super) fn timeout(&mut self, id: usize) {
        let writer = &mut self.writers[id];
        writer.timeout_due = false;
        if !matches!(writer.activity, Activity::Cache { woken: false, .. }) {
            return;
        }
        let at_ns = writer.since_ns + self.plan.cache_timeout_ns;
        if at_ns > self.agenda.now_ns() {
            writer.timeout_due = true;
            return self.agenda.at(at_ns, Due::Timeout(id));
        }
        let osc = self.objects[self.writers[id].object].osc;
        self.oscs[osc].waiters.retain(|waiter| *waiter != id);
        self.finish_cache_wait(id);
        flush::write_sync(self, id);
    }

    /// osc_extent_find: finds a cached extent that the page continues, within one RPC's slot, or adds a new one.
    fn find_extent(&mut self, id: usize) {
        let writer = &self.writers[id];
        let (object, page, inode) = (writer.object, writer.page, writer.inode);
        let max_end = self.max_end(id);
        let (before, after) = self.objects[object].neighbours(page, page);
        let fits = |extent: &Extent| extent.state == State::Cache && !extent.awaited && extent.max_end == max_end;
        let found = if let Some(before) = before.filter(|before| {
            let extent = &self.extents[*before];
            fits(extent) && extent.last() + 1 == page
        }) {
            self.hold(before);
            before
        } else if let Some(after) = after.filter(|after| fits(&self.extents[*after])) {
            self.hold(after);
            let tree = &mut self.objects[object].tree;
            tree.remove(&(page + 1));
            tree.insert(page, after);
            self.extents[after].first = page;
            after
        } else {
            self.add_extent(object, page, max_end)
        };
        self.extents[found].pages += 1;
        self.extents[found].writer = id;
        self.writers[id].active = Some(found);
        self.dirtied(inode);
    }

    fn add_extent(&mut self, object: usize, page: u64, max_end: u64) -> usize {
        let extent = self.extents.add(Extent {
            object,
            state: State::Active,
            first: page,
            pages: 0,
            max_end,
            urgent: false,
            awaited: false,
            on: None,
            dirty_since_ns: self.agenda.now_ns(),
            writer: 0,
            watchers: Vec::new(),
            lock: None,
        });
        self.objects[object].tree.insert(page, extent);
        extent
    }

    /// The end of the RPC's slot, or of the lock.
    fn max_end(&self, id: usize) -> u64 {
        let writer = &self.writers[id];
        let slot_end = writer.page - writer.page % self.plan.rpc_pages + self.plan.rpc_pages - 1;
        slot_end.min(self.lock_end(id))
    }

    /// osc_extent_hold: the extent is no longer available for an RPC.
    fn hold(&mut self, extent: usize) {
        self.take_off_list(extent);
        let (object, pages) = (self.extents[extent].object, self.extents[extent].pages);
        self.extents.set_state(extent, State::Active);
        self.objects[object].pending_pages -= pages;
    }

    /// osc_extent_release: the extent may be written from now on. Queues work for ptlrpcd if the object now makes an
    /// RPC.
    pub(super) fn release(&mut self, extent: usize) {
        let (object, pages) = (self.extents[extent].object, self.extents[extent].pages);
        self.extents.set_state(extent, State::Cache);
        self.objects[object].pending_pages += pages;
        self.merge(extent);
        if self.extents[extent].urgent {
            self.put_on_list(extent, List::Urgent);
        } else if self.trigger != Trigger::Old && self.extents[extent].pages == self.plan.rpc_pages {
            self.put_on_list(extent, List::Full);
        }
        self.unplug_async(object);
    }

    /// osc_extent_merge, with the extents before and after.
    fn merge(&mut self, id: usize) {
        let extent = &self.extents[id];
        let (object, first, last, max_end) = (extent.object, extent.first, extent.last(), extent.max_end);
        let (before, after) = self.objects[object].neighbours(first, last);
        for other in [before, after].into_iter().flatten() {
            let victim = &self.extents[other];
            let touches = victim.last() + 1 == first || victim.first == last + 1;
            if victim.state != State::Cache || victim.awaited || victim.max_end != max_end || !touches {
                continue;
            }
            self.take_off_list(other);
            let victim = self.extents[other].clone();
            self.extents.remove(other);
            let tree = &mut self.objects[object].tree;
            tree.remove(&victim.first);
            tree.remove(&self.extents[id].first);
            let extent = &mut self.extents[id];
            extent.first = extent.first.min(victim.first);
            extent.pages += victim.pages;
            extent.urgent |= victim.urgent;
            extent.dirty_since_ns = extent.dirty_since_ns.min(victim.dirty_since_ns);
            tree.insert(extent.first, id);
        }
    }

    pub(super) fn take_off_list(&mut self, id: usize) {
        if let Some(list) = self.extents[id].on.take() {
            let object = self.extents[id].object;
            self.objects[object].list(list).retain(|extent| *extent != id);
        }
    }

    pub(super) fn put_on_list(&mut self, id: usize, list: List) {
        self.take_off_list(id);
        self.extents[id].on = Some(list);
        let object = self.extents[id].object;
        self.objects[object].list(list).push_back(id);
    }
}
