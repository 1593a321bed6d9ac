//! Completion of requests and bios.

use model::block::{Action, BlockEvent, Kind};

use super::{FinishedBio, Found, Lifecycle, Observer, REMEMBERED, class_of, is_drivers_own};
use crate::bio::{Bio, State, UNSEEN, flag};
use crate::certainty::Certainty;
use crate::index::{NIL, tag_of};
use crate::phase::{Phase, PhaseTimes};
use crate::slow::Completion;
use crate::tally::Done;

impl<O: Observer> Lifecycle<O> {
    pub(super) fn complete(&mut self, device: usize, event: &BlockEvent) {
        let tag = tag_of(device as u16, class_of(event.kind), event.sector);
        let sectors = event.sectors();
        let own = is_drivers_own(event);
        let Some(found) = self.find_completed(device, event, tag).or_else(|| self.completed_alone(device, event))
        else {
            self.unmatched_complete(tag);
            return;
        };
        if !own {
            self.anomalies.ambiguous += u64::from(found.ambiguous);
        }
        self.completed[tag as usize % REMEMBERED] = tag;
        let bio = &mut self.bios[found.id];
        let at_driver = bio.state == State::Issued;
        if at_driver && bio.request_sectors > sectors && sectors > 0 && !own {
            self.complete_part(device, found.id, event);
        } else if is_flush_data(bio, event) {
            bio.state = State::Flushing;
            bio.data_done_ns = event.time_ns;
            self.unindex_end(found.id);
            if at_driver {
                self.leave_driver(device, event.time_ns);
            }
        } else {
            self.complete_whole(device, found.id, event);
        }
    }

    /// The bio or request that a completion ends.
    fn find_completed(&mut self, device: usize, event: &BlockEvent, tag: u32) -> Option<Found> {
        let sectors = event.sectors();
        let own = is_drivers_own(event);
        let flush_issued = self.devices[device].flush_issued_event;
        self.find(tag, |_, bio| {
            if bio.extent().0 != event.sector || own && !bio.has(flag::NO_BIO) {
                return 0;
            }
            let length = bio.extent().1;
            match bio.state {
                State::Flushing if sectors == 0 => 5,
                State::Issued if length == sectors || own => 4,
                State::Issued if length > sectors && sectors > 0 => 3,
                // A flush without data: the flush that just ended carried those queued before it was issued.
                State::Waiting if sectors == 0 && length == 0 && bio.entered_event < flush_issued => 3,
                State::Waiting | State::Requeued if length == sectors => 2,
                State::Queued if length == sectors => 1,
                _ => 0,
            }
        })
    }

    /// In a trace of completions alone each is a bio, of which nothing else is known.
    fn completed_alone(&mut self, device: usize, event: &BlockEvent) -> Option<Found> {
        let actions = &self.devices[device].tables.actions;
        let others = [Action::Queue, Action::GetRequest, Action::Insert, Action::Issue];
        let is_alone = others.iter().all(|action| actions[*action as usize] == 0);
        (is_alone && !is_drivers_own(event)).then(|| Found { id: self.add_unqueued(device, event), ambiguous: false })
    }

    fn unmatched_complete(&mut self, tag: u32) {
        let given_up = &mut self.given_up[tag as usize % REMEMBERED];
        if *given_up == tag {
            // Its completion has arrived.
            *given_up = 0;
        }
        if self.completed[tag as usize % REMEMBERED] == tag {
            self.anomalies.duplicate_complete += 1;
        } else {
            self.anomalies.unmatched_complete += 1;
        }
    }

    fn leave_driver(&mut self, device: usize, now_ns: u64) {
        let owner = &mut self.devices[device];
        owner.issued -= 1;
        owner.tables.timeline.issue(now_ns, owner.issued, false);
    }

    fn complete_whole(&mut self, device: usize, head: u32, event: &BlockEvent) {
        self.unindex_start(head);
        self.unindex_end(head);
        match self.bios[head].state {
            State::Issued => self.leave_driver(device, event.time_ns),
            State::Flushing => self.devices[device].sequences_end = true,
            _ => {}
        }
        if is_drivers_own(event) {
            self.count_drivers_own(device, head, event);
        } else if self.bios[head].sectors == 0 && self.bios[head].kind.has(Kind::PREFLUSH) {
            self.take_flush_times(device, head);
        }
        let mut id = head;
        // Members take their times from the head, so it goes last.
        let mut next = self.bios[head].next_member;
        while next != NIL {
            id = next;
            next = self.bios[id].next_member;
            self.finish_bio(id, head, event.time_ns, event.error);
        }
        debug_assert!(id == head || self.bios[head].last_member == id);
        self.finish_bio(head, head, event.time_ns, event.error);
    }

    fn count_drivers_own(&mut self, device: usize, id: u32, event: &BlockEvent) {
        let (issued_ns, issued_event) = (self.bios[id].issued_ns, self.bios[id].entered_event);
        let lost = self.devices[device].lost_since(self.bios[id].losses_before) > 0;
        let certain = !lost && !self.bios[id].has(flag::DOUBTFUL) && self.bios[id].epoch == self.clock.epoch;
        let owner = &mut self.devices[device];
        if issued_ns == UNSEEN || event.time_ns < issued_ns {
            return;
        }
        let passthrough = event.kind.has(Kind::PASSTHROUGH);
        if !passthrough {
            owner.flush_ended(issued_ns, issued_event);
        }
        if certain {
            let times = if passthrough { &mut owner.tables.passthrough } else { &mut owner.tables.flushes };
            times.record(event.time_ns - issued_ns);
        }
    }

    /// A flush without data is never issued. The flush that just ended carried it if it was issued after the bio was
    /// queued.
    fn take_flush_times(&mut self, device: usize, id: u32) {
        let owner = &self.devices[device];
        let bio = &mut self.bios[id];
        if bio.entered_event < owner.flush_issued_event && bio.issues == 0 {
            bio.issued_ns = owner.flush_issued_ns;
            bio.issues = 1;
        }
    }

    /// The first part of a request completes, and with it the bios within that part.
    fn complete_part(&mut self, device: usize, head: u32, event: &BlockEvent) {
        let done = event.sector.wrapping_add(u64::from(event.sectors()));
        self.unindex_start(head);
        let (mut kept, mut id) = (head, self.bios[head].next_member);
        while id != NIL {
            let next = self.bios[id].next_member;
            if self.bios[id].end() <= done {
                self.bios[kept].next_member = next;
                self.finish_bio(id, head, event.time_ns, event.error);
            } else {
                // Its former head, absorbed since, may complete here: link it to the current head.
                self.bios[id].head = head;
                kept = id;
            }
            id = next;
        }
        self.bios[head].last_member = kept;
        let request = &mut self.bios[head];
        request.request_sectors -= event.sectors();
        request.request_sector = done;
        if request.end() > done || request.has(flag::NO_BIO) {
            self.index_start(head);
            return;
        }
        match request.next_member {
            // The rest of the request belongs to a bio whose queueing was not recorded.
            NIL => self.leave_driver(device, event.time_ns),
            next => self.hand_over(head, next),
        }
        self.bios[head].next_member = NIL;
        self.finish_bio(head, head, event.time_ns, event.error);
    }

    /// The request of the completed `head` continues under its next bio.
    fn hand_over(&mut self, head: u32, next: u32) {
        let old = &self.bios[head];
        let (state, issued_ns, issues, requeues) = (old.state, old.issued_ns, old.issues, old.requeues);
        let (sector, sectors, last) = (old.request_sector, old.request_sectors, old.last_member);
        let doubtful = old.flags & flag::DOUBTFUL;
        let bio = &mut self.bios[next];
        (bio.state, bio.issued_ns, bio.issues, bio.requeues) = (state, issued_ns, issues, requeues);
        (bio.request_sector, bio.request_sectors, bio.last_member) = (sector, sectors, last);
        bio.flags |= doubtful;
        let mut member = next;
        while member != NIL {
            self.bios[member].head = next;
            member = self.bios[member].next_member;
        }
        self.index_start(next);
    }

    /// Counts a completed bio and removes it.
    fn finish_bio(&mut self, id: u32, head: u32, now_ns: u64, error: u16) {
        let bio = &self.bios[id];
        if bio.has(flag::NO_BIO) {
            self.bios.remove(id);
            return;
        }
        let mut phases = bio.phases(&self.bios[head], now_ns);
        let certainty = self.certainty(id, head);
        if certainty == Certainty::Part {
            self.keep_certain_part(id, head, &mut phases);
        }
        self.record(id, &phases, certainty, now_ns, error);
        self.forget(id, now_ns, phases.longest_known().filter(|_| certainty != Certainty::AcrossJump));
    }

    fn certainty(&self, id: u32, head: u32) -> Certainty {
        let bio = &self.bios[id];
        let owner = &self.devices[usize::from(bio.device)];
        // A loss may be reported after it happened; events missing from the bio itself show it immediately.
        let lacking = if owner.has_lost() { self.lacking(id, head) } else { 0 };
        let lost = owner.lost_since(bio.losses_before).max(lacking);
        // Flushes without data share one range: a single loss can confuse two of them.
        let most = u32::from(bio.sectors > 0);
        if bio.epoch != self.clock.epoch {
            Certainty::AcrossJump
        } else if lost > most || bio.has(flag::DOUBTFUL) || self.bios[head].has(flag::DOUBTFUL) {
            Certainty::Likely
        } else if lost == 1 {
            Certainty::Part
        } else {
            Certainty::Exact
        }
    }

    /// Number of events that this bio lacks and other bios of its device have.
    fn lacking(&self, id: u32, head: u32) -> u32 {
        let bio = &self.bios[id];
        let actions = &self.devices[usize::from(bio.device)].tables.actions;
        let usual = |action: Action| actions[action as usize] > 0;
        let request = usual(Action::GetRequest) && bio.entered_ns == UNSEEN;
        let issue = usual(Action::Issue) && self.bios[head].issued_ns == UNSEEN;
        u32::from(request) + u32::from(issue)
    }

    /// With one event lost, drops the phases that it could have changed: see docs/BLOCK.md.
    fn keep_certain_part(&self, id: u32, head: u32, phases: &mut PhaseTimes) {
        let (bio, head_bio) = (&self.bios[id], &self.bios[head]);
        phases.clear(Phase::G2D);
        if bio.entered_ns == UNSEEN || head_bio.requeues > 0 || head_bio.issues > 1 {
            phases.clear(Phase::G2I);
            phases.clear(Phase::I2D);
        }
        if head_bio.requeues > 0 || head_bio.issues > 1 {
            phases.clear(Phase::M2D);
            phases.clear(Phase::I2D);
            phases.clear(Phase::D2C);
        }
    }

    /// Adds a completed bio to the tables and passes it to the observer.
    fn record(&mut self, id: u32, phases: &PhaseTimes, certainty: Certainty, done_ns: u64, error: u16) {
        let bio = &self.bios[id];
        let owner = &mut self.devices[usize::from(bio.device)];
        let class = self.classes.get_mut(bio.class);
        owner.tables.count_completion(certainty, error != 0);
        class.errors += u64::from(error != 0);
        if certainty.is_certain() {
            let (phases, is_exact) = (*phases, certainty == Certainty::Exact);
            self.times.add(Done { phases, device: bio.device, class: bio.class, kind: bio.kind, is_exact });
        }
        let key = class.key;
        self.observer.finished(&FinishedBio {
            device: owner.number,
            kind: bio.kind,
            sector: bio.sector,
            sectors: bio.sectors,
            pid: key.pid,
            cgroup: key.cgroup,
            queued_ns: bio.queued_ns,
            completed_ns: done_ns,
            error,
            merged: bio.has(flag::MERGED),
            split_off: bio.has(flag::SPLIT_OFF),
            certainty,
            phases: *phases,
        });
        if phases.longest_known().is_some_and(|time_ns| time_ns > self.settings.slower_than_ns) {
            self.add_slow(id, phases, certainty, done_ns);
        }
    }

    #[cold]
    fn add_slow(&mut self, id: u32, phases: &PhaseTimes, certainty: Certainty, done_ns: u64) {
        if certainty == Certainty::AcrossJump {
            self.slow.across_clock_jump();
            return;
        }
        let bio = &self.bios[id];
        let surroundings = bio.position.and_then(|position| self.overtakes.surroundings(position, bio.class));
        self.classes.get_mut(bio.class).slow += 1;
        let completion = Completion { bio, phases, certainty, completed_ns: done_ns };
        self.slow.add(&completion, surroundings, &self.classes, &self.devices);
    }

    /// Removes a bio from all in-flight counts.
    fn forget(&mut self, id: u32, now_ns: u64, latency_ns: Option<u64>) {
        let bio = &self.bios[id];
        let owner = &mut self.devices[usize::from(bio.device)];
        owner.leave(now_ns);
        owner.tables.timeline.complete(now_ns, owner.in_flight, bio.kind.operation(), u64::from(bio.bytes), latency_ns);
        if let Some(position) = bio.position {
            self.overtakes.complete(position, bio.class);
        }
        self.bios.remove(id);
    }

    /// Gives up a bio and the whole request that carries it.
    pub(super) fn give_up(&mut self, id: u32) {
        let id = self.bios.head_of(id);
        let now_ns = self.clock.now_ns;
        let bio = &self.bios[id];
        let device = usize::from(bio.device);
        let (state, data_done_ns) = (bio.state, bio.data_done_ns);
        let owner = &self.devices[device];
        let may_complete = owner.sequences_end || owner.lost_since(bio.losses_before) > 0;
        let tag = self.bios[id].start_tag;
        self.given_up[tag as usize % REMEMBERED] = tag;
        self.unindex_start(id);
        self.unindex_end(id);
        if state == State::Flushing && !may_complete && self.bios[id].next_member == NIL {
            // The data completed, and this kernel does not complete the sequence again.
            self.anomalies.flushes_without_end += 1;
            self.finish_bio(id, id, data_done_ns, 0);
            return;
        }
        if state == State::Issued {
            self.leave_driver(device, now_ns);
        }
        let mut next = id;
        while next != NIL {
            let following = self.bios[next].next_member;
            self.abandon(next, now_ns);
            next = following;
        }
    }

    /// Removes a bio that did not complete.
    fn abandon(&mut self, id: u32, now_ns: u64) {
        let bio = &self.bios[id];
        if !bio.has(flag::NO_BIO) {
            self.anomalies.unmatched_queue += 1;
            self.devices[usize::from(bio.device)].leave(now_ns);
            if let Some(position) = bio.position {
                self.overtakes.complete(position, bio.class);
            }
        }
        self.bios.remove(id);
    }
}

/// Whether the completion is that of a flush sequence's data. For a write with PREFLUSH, or with FUA on a device
/// without FUA, the flush machinery completes the write again, without length, after the last flush.
fn is_flush_data(bio: &Bio, event: &BlockEvent) -> bool {
    let sequence = bio.kind.has(Kind::PREFLUSH) || bio.kind.has(Kind::FUA) && !event.kind.has(Kind::FUA);
    let has_request = matches!(bio.state, State::Waiting | State::Issued | State::Requeued);
    sequence && has_request && event.sectors() > 0
}
