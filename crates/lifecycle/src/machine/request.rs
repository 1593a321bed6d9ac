//! Requests go to the scheduler and the driver, and may be requeued.

use model::block::{BlockEvent, Operation};

use super::{Lifecycle, Observer, class_of, is_drivers_own};
use crate::bio::{Bio, State, UNSEEN, flag};
use crate::index::tag_of;

impl<O: Observer> Lifecycle<O> {
    pub(super) fn insert(&mut self, device: usize, event: &BlockEvent) {
        let id = match self.request_of(device, event) {
            Some(id) => id,
            None => self.add_unmatched(device, event, |anomalies| &mut anomalies.unmatched_insert),
        };
        let bio = &mut self.bios[id];
        if bio.inserted_ns == UNSEEN {
            bio.inserted_ns = event.time_ns;
        }
    }

    pub(super) fn issue(&mut self, device: usize, event: &BlockEvent) {
        let id = match self.request_of(device, event) {
            Some(id) => id,
            None => self.add_unmatched(device, event, |anomalies| &mut anomalies.unmatched_issue),
        };
        self.unindex_end(id);
        let bio = &mut self.bios[id];
        let at_driver = bio.state == State::Issued;
        bio.issued_ns = event.time_ns;
        bio.issues = bio.issues.saturating_add(1);
        bio.state = State::Issued;
        if bio.has(flag::NO_BIO) {
            bio.entered_event = self.events;
        }
        let first = bio.issues == 1;
        let owner = &mut self.devices[device];
        if first && !is_drivers_own(event) {
            owner.count_issue(event, self.clock.epoch);
        }
        if at_driver {
            // Its requeue was not recorded.
            self.anomalies.issued_again += 1;
        } else {
            owner.issued += 1;
        }
        owner.tables.timeline.issue(event.time_ns, owner.issued, first);
    }

    /// The request that a requeue refers to leaves the driver and waits again.
    pub(super) fn requeue(&mut self, device: usize, event: &BlockEvent) {
        self.devices[device].tables.requeues += 1;
        let tag = tag_of(device as u16, class_of(event.kind), event.sector);
        let fits = |_: &Self, bio: &Bio| match bio.state {
            State::Issued if bio.request_sector != event.sector => 0,
            State::Issued if bio.request_sectors == event.sectors() => 2,
            State::Issued => 1,
            _ => 0,
        };
        let Some(found) = self.find(tag, fits) else {
            self.anomalies.unmatched_requeue += 1;
            return;
        };
        self.anomalies.ambiguous += u64::from(found.ambiguous);
        let bio = &mut self.bios[found.id];
        let at_driver_ns = event.time_ns.saturating_sub(bio.issued_ns);
        bio.issued_ns = UNSEEN;
        bio.requeues = bio.requeues.saturating_add(1);
        bio.state = State::Requeued;
        self.index_end(found.id);
        let owner = &mut self.devices[device];
        owner.tables.requeued_ns = owner.tables.requeued_ns.saturating_add(at_driver_ns);
        owner.issued -= 1;
        owner.tables.timeline.issue(event.time_ns, owner.issued, false);
    }

    /// The request that an insert or issue refers to, extended to its length.
    fn request_of(&mut self, device: usize, event: &BlockEvent) -> Option<u32> {
        let own = is_drivers_own(event);
        let tag = tag_of(device as u16, class_of(event.kind), event.sector);
        let sectors = event.sectors();
        let fits = |_: &Self, bio: &Bio| {
            if bio.extent().0 != event.sector || own && !bio.has(flag::NO_BIO) {
                return 0;
            }
            match bio.state {
                State::Waiting | State::Requeued if bio.request_sectors == sectors => 4,
                State::Waiting | State::Requeued if bio.request_sectors > 0 && sectors > 0 => 3,
                State::Queued if bio.sectors <= sectors && sectors > 0 => 2,
                State::Issued if bio.request_sectors == sectors && !own => 1,
                _ => 0,
            }
        };
        let found = self.find(tag, fits)?;
        let id = found.id;
        if !own {
            self.anomalies.ambiguous += u64::from(found.ambiguous);
        }
        if self.bios[id].state == State::Queued {
            self.become_request(id);
        }
        if self.bios[id].request_sectors < sectors && event.kind.operation() != Operation::None && !own {
            self.grow(device, id, sectors);
        }
        Some(id)
    }
}
