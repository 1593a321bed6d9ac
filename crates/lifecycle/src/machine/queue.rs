//! Bios enter: queue, split, remap. Bios that never complete age out.

use model::block::{Action, BlockEvent};

use super::{Lifecycle, Observer, REMEMBERED, class_of};
use crate::bio::{Bio, State, UNSEEN, flag};
use crate::class::ClassKey;
use crate::index::{NIL, tag_of};

/// Remaps of a device that wait for what follows them.
const PENDING_REMAPS: usize = 256;

impl<O: Observer> Lifecycle<O> {
    pub(super) fn queue(&mut self, device: usize, event: &BlockEvent) {
        self.age();
        if self.is_remainder_again(device, event) {
            self.anomalies.remainders_queued_again += 1;
            return;
        }
        let class = self.class_of_event(device, event);
        self.devices[device].count_queue(event, self.clock.epoch);
        self.arrivals.count(event.time_ns, self.clock.epoch);
        let sums = self.classes.get_mut(class);
        sums.queued += 1;
        sums.queued_bytes += u64::from(event.bytes);
        let bio = self.new_bio(device, event);
        self.enter(device, bio, class, event.time_ns);
    }

    pub(super) fn class_of_event(&mut self, device: usize, event: &BlockEvent) -> u16 {
        self.classes.number_of(ClassKey {
            device: device as u16,
            kind: event.kind,
            pid: event.pid,
            cgroup: event.cgroup,
        })
    }

    pub(super) fn enter(&mut self, device: usize, mut bio: Bio, class: u16, now_ns: u64) -> u32 {
        bio.class = class;
        bio.position = Some(self.overtakes.queue(class));
        self.devices[device].enter(now_ns);
        let id = self.bios.add(bio);
        self.index_start(id);
        let tag = self.bios[id].start_tag;
        if self.given_up[tag as usize % REMEMBERED] == tag {
            self.bios[id].flags |= flag::DOUBTFUL;
        }
        id
    }

    /// Before Linux 4.12 the second piece of a split bio was queued again. It is the same bio: same extent, same
    /// thread, no request yet. It is the newest at that range, because its thread does nothing else in between.
    fn is_remainder_again(&self, device: usize, event: &BlockEvent) -> bool {
        if self.devices[device].tables.splits == 0 || event.bytes == 0 {
            return false;
        }
        let id = self.starts.last(tag_of(device as u16, class_of(event.kind), event.sector));
        if id == NIL {
            return false;
        }
        let bio = &self.bios[id];
        bio.has(flag::SPLIT_OFF)
            && bio.state == State::Queued
            && (bio.sector, bio.sectors) == (event.sector, event.sectors())
            && self.classes.get(bio.class).key.pid == event.pid
    }

    /// Splits a bio: the first piece keeps the bio, the rest becomes a new bio with the same queue time.
    pub(super) fn split(&mut self, device: usize, event: &BlockEvent) {
        self.age();
        self.devices[device].tables.splits += 1;
        let tag = tag_of(device as u16, class_of(event.kind), event.sector);
        let cut = event.argument;
        let fits = |this: &Self, bio: &Bio| {
            let fit = bio.state == State::Queued && bio.sector == event.sector && bio.sector < cut && cut < bio.end();
            if fit { 1 + this.is_by_its_thread(bio, event) } else { 0 }
        };
        match self.find(tag, fits) {
            Some(found) => {
                self.anomalies.ambiguous += u64::from(found.ambiguous);
                self.cut(device, found.id, cut, event.time_ns);
            }
            None => self.anomalies.unmatched_split += 1,
        }
    }

    /// Splits the bio at `sector`, which lies within it.
    pub(super) fn cut(&mut self, device: usize, id: u32, sector: u64, now_ns: u64) {
        let first = &self.bios[id];
        let sectors = sector.wrapping_sub(first.sector) as u32;
        let (rest_sectors, class) = (first.sectors - sectors, first.class);
        let event = BlockEvent {
            sector,
            bytes: rest_sectors.saturating_mul(512),
            kind: first.kind,
            ..BlockEvent::new(first.queued_ns, Action::Queue, self.devices[device].number)
        };
        let mut rest = self.new_bio(device, &event);
        let first = &mut self.bios[id];
        rest.losses_before = first.losses_before;
        rest.epoch = first.epoch;
        rest.born_ns = first.born_ns;
        rest.remapped_ns = first.remapped_ns;
        rest.flags = flag::SPLIT_OFF | first.flags & flag::DOUBTFUL;
        first.sectors = sectors;
        first.request_sectors = sectors;
        first.bytes = sectors.saturating_mul(512);
        self.enter(device, rest, class, now_ns);
    }

    /// The remap that precedes a queue event is of the same bio. Where the trace has no queue events, it stands for
    /// one: it waits for the next event of its thread or its sector, which shows that.
    #[cold]
    pub(super) fn settle_remap(&mut self, device: usize, event: &BlockEvent) {
        let pending = &mut self.devices[device].pending_remaps;
        let is_of = |remap: &BlockEvent| remap.pid == event.pid || remap.sector == event.sector;
        let Some(at) = pending.iter().position(is_of) else { return };
        let remap = pending.swap_remove(at);
        let is_its_queue = event.action == Action::Queue && event.sector == remap.sector;
        if !is_its_queue {
            self.queue_remapped(device, &remap);
        }
    }

    /// Remaps that nothing followed.
    pub(super) fn settle_all_remaps(&mut self) {
        for device in 0..self.devices.len() {
            for remap in std::mem::take(&mut self.devices[device].pending_remaps) {
                self.queue_remapped(device, &remap);
            }
        }
    }

    fn queue_remapped(&mut self, device: usize, remap: &BlockEvent) {
        let owner = &self.devices[device];
        let may_be_lost = owner.tables.actions[Action::Queue as usize] > 0 || owner.has_lost();
        if !may_be_lost {
            self.queue(device, &BlockEvent { action: Action::Queue, ..*remap });
        }
    }

    /// A bio was remapped: from a partition, which has no other events, or from a stacked device, where it waits.
    pub(super) fn remap(&mut self, device: usize, event: &BlockEvent) {
        self.devices[device].remap(event.from_device);
        let owner = &mut self.devices[device];
        if owner.tables.actions[Action::Queue as usize] == 0 && owner.pending_remaps.len() < PENDING_REMAPS {
            owner.pending_remaps.push(*event);
        }
        let Some(from) = self.devices.iter().position(|device| device.number == event.from_device) else { return };
        let tag = tag_of(from as u16, class_of(event.kind), event.argument);
        let waits = |this: &Self, bio: &Bio| {
            let fit = bio.state == State::Queued && bio.remapped_ns == UNSEEN && bio.sector == event.argument;
            if fit { 1 + this.is_by_its_thread(bio, event) } else { 0 }
        };
        if let Some(found) = self.find(tag, waits) {
            self.bios[found.id].remapped_ns = event.time_ns;
        }
    }

    /// Gives up bios that are too old, and the oldest when there are too many.
    #[inline]
    pub(super) fn age(&mut self) {
        while self.bios.oldest != NIL {
            let oldest = &self.bios[self.bios.oldest];
            let age_ns = self.clock.lived_ns - oldest.born_ns;
            if age_ns > self.settings.max_age_ns {
                self.anomalies.aged_out += 1;
                self.anomalies.oldest_age_ns = self.anomalies.oldest_age_ns.max(age_ns);
            } else if self.bios.len() >= self.settings.max_in_flight {
                self.anomalies.evicted += 1;
                self.anomalies.oldest_age_ns = self.anomalies.oldest_age_ns.max(age_ns);
            } else {
                return;
            }
            self.give_up(self.bios.oldest);
        }
    }
}
