//! When an object makes an RPC, and which extents go into it: the subject of LU-8515.

use std::collections::VecDeque;

use super::extent::{List, State};
use super::plan::Trigger;
use super::rpc::Reason;
use super::simulation::{Due, Simulation};

impl Simulation<'_> {
    /// osc_makes_rpc.
    pub(super) fn makes_rpc(&self, id: usize) -> Option<Reason> {
        let object = &self.objects[id];
        let enough = match self.trigger {
            Trigger::Old | Trigger::Both => object.pending_pages >= self.plan.rpc_pages,
            Trigger::Full => !object.full.is_empty(),
        };
        if object.pending_pages == 0 {
            None
        } else if !object.high_priority.is_empty() {
            Some(Reason::HighPriority)
        } else if !object.urgent.is_empty() {
            Some(Reason::Urgent)
        } else if self.waiters_force(object.osc) {
            Some(Reason::CacheWaiters)
        } else if enough {
            Some(Reason::Enough)
        } else {
            None
        }
    }

    fn waiters_force(&self, osc: usize) -> bool {
        self.plan.heed_waiters && !self.oscs[osc].waiters.is_empty()
    }

    /// osc_list_maint: updates the object's membership of its OSC's lists. True if it is ready.
    pub(super) fn list_maint(&mut self, id: usize) -> bool {
        let high_priority = !self.objects[id].high_priority.is_empty();
        let ready = !high_priority && self.makes_rpc(id).is_some();
        let object = &mut self.objects[id];
        let osc = &mut self.oscs[object.osc];
        on_list(&mut osc.high_priority, &mut object.on_high_priority, id, high_priority);
        on_list(&mut osc.ready, &mut object.on_ready, id, ready);
        on_list(&mut osc.write, &mut object.on_write, id, object.pending_pages > 0);
        high_priority || ready
    }

    /// osc_io_unplug_async: queues work for ptlrpcd if the object is ready.
    pub(super) fn unplug_async(&mut self, object: usize) {
        if self.list_maint(object) {
            self.queue_work(self.objects[object].osc);
        }
    }

    /// ptlrpcd_queue_work: work that is already queued is not queued again.
    pub(super) fn queue_work(&mut self, osc: usize) {
        if !self.oscs[osc].work_queued {
            self.oscs[osc].work_queued = true;
            let delay_ns = self.random.time_ns(self.plan.wake_ns);
            self.agenda.after(delay_ns, Due::Work(osc));
        }
    }

    /// osc_check_rpcs: sends RPCs while an object has a reason for one, up to the limit.
    pub(super) fn check_rpcs(&mut self, osc: usize) {
        while let Some(object) = self.next_object(osc) {
            // One more than the limit for extents that another client's lock waits for.
            let extra = u64::from(!self.objects[object].high_priority.is_empty());
            if self.oscs[osc].in_flight >= self.plan.rpcs_in_flight + extra {
                self.list_maint(object);
                return;
            }
            if let Some(reason) = self.makes_rpc(object) {
                let extents = self.write_extents(object);
                if !extents.is_empty() {
                    self.send(object, extents, reason);
                }
            }
            self.list_maint(object);
        }
    }

    /// osc_next_obj: high priority first, then ready; if tasks wait for the cache, any object with pages.
    fn next_object(&mut self, id: usize) -> Option<usize> {
        let force = self.waiters_force(id);
        let osc = &mut self.oscs[id];
        if let Some(object) = osc.high_priority.pop_front() {
            self.objects[object].on_high_priority = false;
            return Some(object);
        }
        if let Some(object) = osc.ready.pop_front() {
            self.objects[object].on_ready = false;
            return Some(object);
        }
        let object = if force { osc.write.pop_front() } else { None }?;
        self.objects[object].on_write = false;
        Some(object)
    }

    /// get_write_extents, before the patch and with it.
    fn write_extents(&self, id: usize) -> Vec<usize> {
        let object = &self.objects[id];
        let mut chosen = Chosen { extents: Vec::new(), pages: 0, most: self.plan.rpc_pages };
        for extent in &object.high_priority {
            if !self.try_to_add(*extent, &mut chosen) {
                return chosen.extents;
            }
        }
        for extent in &object.urgent {
            if chosen.extents.contains(extent) {
                continue;
            }
            if !self.try_to_add(*extent, &mut chosen) {
                return chosen.extents;
            }
            // Before the patch, the extents after an urgent one went with it.
            let follow = self.trigger == Trigger::Old && self.extents[*extent].state == State::Cache;
            if follow && !self.add_from(id, self.extents[*extent].last() + 1, &mut chosen) {
                return chosen.extents;
            }
        }
        for extent in &object.full {
            if !self.try_to_add(*extent, &mut chosen) {
                break;
            }
        }
        self.add_from(id, 0, &mut chosen);
        chosen.extents
    }

    /// Adds cached extents in page order, beginning at `page`. False when one does not fit.
    fn add_from(&self, object: usize, page: u64, chosen: &mut Chosen) -> bool {
        for extent in self.objects[object].tree.range(page..).map(|(_, extent)| *extent) {
            if chosen.pages == chosen.most {
                return false;
            }
            let free = self.extents[extent].state == State::Cache && !chosen.extents.contains(&extent);
            if free && !self.try_to_add(extent, chosen) {
                return false;
            }
        }
        true
    }

    /// try_to_add_extent_for_io: within the page limit, and never an extent with grant beside one without.
    fn try_to_add(&self, id: usize, chosen: &mut Chosen) -> bool {
        let extent = &self.extents[id];
        let mixed = chosen
            .extents
            .first()
            .is_some_and(|first| (self.extents[*first].state == State::Sync) != (extent.state == State::Sync));
        if mixed || chosen.pages + extent.pages > chosen.most {
            return false;
        }
        chosen.pages += extent.pages;
        chosen.extents.push(id);
        true
    }

    /// Takes the extents off the lists and out of the count.
    pub(super) fn take_for_rpc(&mut self, object: usize, extents: &[usize]) {
        for id in extents {
            self.take_off_list(*id);
            self.objects[object].pending_pages -= self.extents[*id].pages;
            let cached = self.extents[*id].state == State::Cache;
            self.extents.set_state(*id, State::Rpc);
            debug_assert!(cached || !self.objects[object].tree.values().any(|other| other == id));
        }
    }

    /// osc_cache_writeback_range: cached extents in the range are written now, active ones when their writer releases
    /// them. Returns all extents in the range.
    pub(super) fn writeback_range(&mut self, object: usize, first: u64, last: u64, list: List) -> Vec<usize> {
        let begin = self.objects[object].tree.range(..=first).next_back().map_or(first, |(page, _)| *page);
        let within = self.objects[object].tree.range(begin..=last).map(|(_, extent)| *extent);
        let within: Vec<usize> = within.filter(|extent| self.extents[*extent].last() >= first).collect();
        for id in &within {
            self.extents[*id].awaited = true;
            match self.extents[*id].state {
                State::Cache if list == List::HighPriority => self.put_on_list(*id, list),
                State::Cache if !self.extents[*id].urgent => {
                    self.extents[*id].urgent = true;
                    self.put_on_list(*id, list);
                }
                State::Active => self.extents[*id].urgent = true,
                _ => {}
            }
        }
        within
    }
}

/// The extents chosen for an RPC so far.
struct Chosen {
    extents: Vec<usize>,
    pages: u64,
    most: u64,
}

fn on_list(list: &mut VecDeque<usize>, is_on: &mut bool, id: usize, should_be: bool) {
    if should_be && !*is_on {
        list.push_back(id);
    } else if !should_be && *is_on {
        list.retain(|other| *other != id);
    }
    *is_on = should_be;
}
