//! Bios get a request or merge into one.

use model::block::{Action, BlockEvent, Operation};

use super::{Lifecycle, Observer, class_of, is_drivers_own};
use crate::bio::{Bio, State, UNSEEN, flag};
use crate::index::{CHAIN_SEARCHED, NIL, tag_of};
use crate::report::Anomalies;

impl<O: Observer> Lifecycle<O> {
    pub(super) fn get_request(&mut self, device: usize, event: &BlockEvent) {
        self.age();
        let tag = tag_of(device as u16, class_of(event.kind), event.sector);
        let sectors = event.sectors();
        let fits = |this: &Self, bio: &Bio| match bio.state {
            State::Queued if bio.sector != event.sector => 0,
            State::Queued if bio.sectors == sectors => 3 + this.is_by_its_thread(bio, event),
            State::Queued if bio.sectors > sectors && sectors > 0 => 1 + this.is_by_its_thread(bio, event),
            _ => 0,
        };
        let Some(found) = self.find(tag, fits) else {
            let id = self.add_unmatched(device, event, |anomalies| &mut anomalies.unmatched_getrq);
            self.bios[id].entered_ns = event.time_ns;
            return;
        };
        self.anomalies.ambiguous += u64::from(found.ambiguous);
        if self.bios[found.id].sectors > sectors {
            // The split was not traced.
            self.anomalies.implicit_splits += 1;
            self.cut(device, found.id, event.sector.wrapping_add(u64::from(sectors)), event.time_ns);
        }
        self.bios[found.id].entered_ns = event.time_ns;
        self.bios[found.id].entered_event = self.events;
        self.become_request(found.id);
        if event.kind.operation() == Operation::Discard {
            self.devices[device].newest_discard = (found.id, self.events);
        }
        if sectors == 0 {
            // Flushes without data share one range and complete in this order.
            self.unindex_start(found.id);
            self.index_start(found.id);
        }
    }

    /// A queued bio becomes the head of a request.
    pub(super) fn become_request(&mut self, id: u32) {
        let bio = &mut self.bios[id];
        bio.state = State::Waiting;
        (bio.request_sector, bio.request_sectors) = (bio.sector, bio.sectors);
        self.index_end(id);
    }

    /// A request whose bio was not recorded: it is not counted, but its events have something to match.
    pub(super) fn add_request(&mut self, device: usize, event: &BlockEvent) -> u32 {
        self.make_room();
        let mut request = self.new_bio(device, event);
        request.flags = flag::NO_BIO;
        request.state = State::Waiting;
        let id = self.bios.add(request);
        self.index_start(id);
        self.index_end(id);
        id
    }

    /// A request that matches no bio. Where the trace has no queue events, it is how a bio becomes known.
    pub(super) fn add_unmatched(
        &mut self,
        device: usize,
        event: &BlockEvent,
        count: fn(&mut Anomalies) -> &mut u64,
    ) -> u32 {
        if is_drivers_own(event) {
            return self.add_request(device, event);
        }
        let owner = &self.devices[device];
        if owner.tables.actions[Action::Queue as usize] == 0 && !owner.has_lost() {
            return self.add_unqueued(device, event);
        }
        *count(&mut self.anomalies) += 1;
        self.add_request(device, event)
    }

    /// A bio that becomes known with its request: its queue time is unknown.
    pub(super) fn add_unqueued(&mut self, device: usize, event: &BlockEvent) -> u32 {
        self.age();
        let class = self.class_of_event(device, event);
        self.devices[device].count_unqueued(event);
        let sums = self.classes.get_mut(class);
        sums.queued += 1;
        sums.queued_bytes += u64::from(event.bytes);
        let mut bio = self.new_bio(device, event);
        bio.flags = flag::UNQUEUED;
        bio.entered_event = self.events;
        let id = self.enter(device, bio, class, event.time_ns);
        self.become_request(id);
        id
    }

    fn make_room(&mut self) {
        while self.bios.len() >= self.settings.max_in_flight {
            self.anomalies.evicted += 1;
            self.give_up(self.bios.oldest);
        }
    }

    pub(super) fn back_merge(&mut self, device: usize, event: &BlockEvent) {
        let Some(id) = self.merging(device, event) else { return };
        match self.request_ending_at(device, event, id).or_else(|| self.open_discard(device, event)) {
            Some(head) => {
                self.join(head, id, event.time_ns);
                self.unindex_end(head);
                let sectors = self.bios[id].sectors;
                let head_bio = &mut self.bios[head];
                head_bio.request_sectors = head_bio.request_sectors.saturating_add(sectors);
                self.index_end(head);
            }
            None => self.merged_into_unknown(id, event),
        }
    }

    pub(super) fn front_merge(&mut self, device: usize, event: &BlockEvent) {
        let Some(id) = self.merging(device, event) else { return };
        let tag = tag_of(device as u16, class_of(event.kind), self.bios[id].end());
        let end = self.bios[id].end();
        let fits = |this: &Self, bio: &Bio| {
            let fit = matches!(bio.state, State::Waiting | State::Requeued) && bio.request_sector == end;
            if fit { 1 + this.is_by_its_thread(bio, event) } else { 0 }
        };
        match self.find(tag, fits) {
            Some(found) => {
                let head = found.id;
                self.anomalies.ambiguous += u64::from(found.ambiguous);
                self.join(head, id, event.time_ns);
                self.unindex_start(head);
                let (sector, sectors) = (self.bios[id].sector, self.bios[id].sectors);
                let head_bio = &mut self.bios[head];
                head_bio.request_sector = sector;
                head_bio.request_sectors = head_bio.request_sectors.saturating_add(sectors);
                self.index_start(head);
            }
            None => self.merged_into_unknown(id, event),
        }
    }

    /// The queued bio that a merge refers to. A merge that refers to a request merges it immediately.
    fn merging(&mut self, device: usize, event: &BlockEvent) -> Option<u32> {
        let tag = tag_of(device as u16, class_of(event.kind), event.sector);
        let extent = (event.sector, event.sectors());
        let queued = |this: &Self, bio: &Bio| {
            let free = bio.state == State::Queued && bio.entered_ns == UNSEEN;
            if free && (bio.sector, bio.sectors) == extent { 1 + this.is_by_its_thread(bio, event) } else { 0 }
        };
        if let Some(found) = self.find(tag, queued) {
            self.anomalies.ambiguous += u64::from(found.ambiguous);
            self.devices[device].tables.merges += 1;
            return Some(found.id);
        }
        let waiting = |_: &Self, bio: &Bio| u8::from(bio.state == State::Waiting && bio.extent() == extent);
        if let Some(found) = self.find(tag, waiting)
            && let Some(head) = self.request_ending_at(device, event, found.id)
        {
            self.devices[device].tables.request_merges += 1;
            self.absorb(head, found.id);
            return None;
        }
        self.anomalies.unmatched_merge += 1;
        None
    }

    /// The newest request, except `id`, that ends where the event starts and can still grow. Plugs merge into their
    /// newest request first; a request of the same thread is preferred.
    fn request_ending_at(&mut self, device: usize, event: &BlockEvent, id: u32) -> Option<u32> {
        let tag = tag_of(device as u16, class_of(event.kind), event.sector);
        let mut at = self.ends.last(tag);
        let mut newest = None;
        for _ in 0..CHAIN_SEARCHED {
            if at == NIL {
                break;
            }
            let bio = &self.bios[at];
            if at != id && bio.request_end() == event.sector && usize::from(bio.device) == device {
                if !bio.has(flag::NO_BIO) && self.classes.get(bio.class).key.pid == event.pid {
                    return Some(at);
                }
                newest = newest.or(Some(at));
            }
            at = self.ends.before(at);
        }
        newest
    }

    /// The newest discard request, if it can still grow: the ranges of one discard need not be adjacent.
    fn open_discard(&self, device: usize, event: &BlockEvent) -> Option<u32> {
        let (id, since) = self.devices[device].newest_discard;
        if event.kind.operation() != Operation::Discard || since == 0 {
            return None;
        }
        let head = &self.bios[id];
        let open = head.state == State::Waiting && head.entered_event == since && usize::from(head.device) == device;
        // With events lost since, a newer request may be missing.
        (open && self.devices[device].lost_since(head.losses_before) == 0).then_some(id)
    }

    /// The request that the bio merged into is not known yet; its issue will show it.
    fn merged_into_unknown(&mut self, id: u32, event: &BlockEvent) {
        self.bios[id].entered_ns = event.time_ns;
        self.bios[id].flags |= flag::MERGED;
        self.anomalies.unmatched_merge += 1;
    }

    /// Adds a queued bio to the request of `head`. The caller updates the request's extent.
    fn join(&mut self, head: u32, id: u32, now_ns: u64) {
        self.unindex_start(id);
        let bio = &mut self.bios[id];
        bio.entered_ns = now_ns;
        bio.state = State::Member;
        bio.head = head;
        bio.flags |= flag::MERGED;
        self.append_members(head, id);
    }

    fn append_members(&mut self, head: u32, first: u32) {
        let last = self.bios[head].last_member;
        self.bios[last].next_member = first;
        self.bios[head].last_member = self.bios[first].last_member;
    }

    /// Merges the whole request of `other`, which starts where that of `head` ends, into it.
    pub(super) fn absorb(&mut self, head: u32, other: u32) {
        self.unindex_start(other);
        self.unindex_end(other);
        self.unindex_end(head);
        let sectors = self.bios[other].request_sectors;
        self.bios[other].state = State::Member;
        self.bios[other].head = head;
        self.append_members(head, other);
        let head_bio = &mut self.bios[head];
        head_bio.request_sectors = head_bio.request_sectors.saturating_add(sectors);
        self.index_end(head);
    }

    /// Extends the request to at least `sectors` with what follows it: requests merged without an event (older kernels)
    /// and bios whose merge was not recorded. The rest belongs to bios whose queueing was not recorded.
    pub(super) fn grow(&mut self, device: usize, head: u32, sectors: u32) {
        while self.bios[head].request_sectors < sectors {
            let at = self.bios[head].request_end();
            let left = sectors - self.bios[head].request_sectors;
            let tag = tag_of(device as u16, class_of(self.bios[head].kind), at);
            let fits = |_: &Self, bio: &Bio| {
                let (sector, length) = bio.extent();
                let joinable = matches!(bio.state, State::Queued | State::Waiting);
                u8::from(joinable && sector == at && length > 0 && length <= left)
            };
            let Some(found) = self.find(tag, fits).filter(|found| found.id != head) else {
                self.unindex_end(head);
                self.bios[head].request_sectors = sectors;
                self.index_end(head);
                return;
            };
            if self.bios[found.id].state == State::Queued {
                // Its merge time, if known, was noted when it merged into a request unknown at the time.
                let entered_ns = self.bios[found.id].entered_ns;
                self.bios[found.id].flags |= flag::MERGED;
                self.devices[device].tables.merges += u64::from(entered_ns == UNSEEN);
                self.become_request(found.id);
            } else {
                self.devices[device].tables.request_merges += 1;
            }
            self.absorb(head, found.id);
        }
    }
}
