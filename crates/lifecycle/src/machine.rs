//! The state machine: one event at a time.

mod complete;
mod merge;
mod queue;
mod request;
#[cfg(test)]
mod tests;

use model::block::{Action, BlockEvent, DeviceNumber, Kind, Operation};

use super::arrivals::Arrivals;
use super::bio::{Bio, Bios, State, UNSEEN, flag};
use super::certainty::Certainty;
use super::class::Classes;
use super::clock::Clock;
use super::device::Device;
use super::index::{CHAIN_SEARCHED, Index, NIL, tag_of};
use super::overtake_index::OvertakeIndex;
use super::phase::PhaseTimes;
use super::report::{Anomalies, BlockReport, Collected};
use super::settings::Settings;
use super::slow::Slow;
use super::tally::Counter;
use super::zone_appends::{ZoneAppends, is_append};

/// A completed bio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishedBio {
    /// Device.
    pub device: DeviceNumber,
    /// Kind, as queued.
    pub kind: Kind,
    /// First sector.
    pub sector: u64,
    /// Length in sectors.
    pub sectors: u32,
    /// Thread that queued it.
    pub pid: u32,
    /// Its cgroup; 0 is unknown.
    pub cgroup: u64,
    /// When it was queued.
    pub queued_ns: u64,
    /// When it was completed.
    pub completed_ns: u64,
    /// Errno; 0 is success.
    pub error: u16,
    /// Whether it was merged into another bio's request.
    pub merged: bool,
    /// Whether it was split off another bio.
    pub split_off: bool,
    /// How far the times can be trusted.
    pub certainty: Certainty,
    /// Its phases.
    pub phases: PhaseTimes,
}

/// Receives each completed bio, in addition to the tables.
pub trait Observer {
    /// A bio completed.
    fn finished(&mut self, bio: &FinishedBio);
}

impl Observer for () {
    #[inline]
    fn finished(&mut self, _: &FinishedBio) {}
}

impl Observer for Vec<FinishedBio> {
    fn finished(&mut self, bio: &FinishedBio) {
        self.push(*bio);
    }
}

/// See the crate.
pub struct Lifecycle<O: Observer = ()> {
    settings: Settings,
    observer: O,
    events: u64,
    clock: Clock,
    devices: Vec<Device>,
    /// Number of the device looked up last.
    last_device: usize,
    bios: Bios,
    /// Bios without a request, and requests, by their first sector.
    starts: Index,
    /// Requests not at the driver, by the sector after their last.
    ends: Index,
    classes: Classes,
    overtakes: OvertakeIndex,
    slow: Slow,
    times: Counter,
    anomalies: Anomalies,
    arrivals: Arrivals,
    appends: ZoneAppends,
    /// Tags completed recently: they distinguish a duplicate completion from an unmatched one.
    completed: Vec<u32>,
    /// Tags of bios given up recently: their completion may still arrive, and must not count for another bio.
    given_up: Vec<u32>,
}

/// The result of a lookup.
#[derive(Clone, Copy)]
struct Found {
    id: u32,
    /// Several bios match equally well.
    ambiguous: bool,
}

/// Maximum number of devices. Only a damaged trace has more.
const DEVICES: usize = 1024;
/// Number of remembered tags of bios that are gone.
const REMEMBERED: usize = 4096;

/// The part of a kind that keys a range: a read and a write of one sector differ.
fn class_of(kind: Kind) -> u8 {
    kind.operation() as u8 | if kind.has(Kind::PASSTHROUGH) { 4 } else { 0 }
}

/// A request without a bio: a flush of the flush machinery, or a passthrough command.
fn is_drivers_own(event: &BlockEvent) -> bool {
    event.kind.has(Kind::PASSTHROUGH) || event.kind.operation() == Operation::None && event.kind.has(Kind::PREFLUSH)
}

impl Lifecycle {
    /// A lifecycle that keeps tables only.
    pub fn new(settings: Settings) -> Lifecycle {
        Lifecycle::with_observer(settings, ())
    }
}

impl<O: Observer> Lifecycle<O> {
    /// A lifecycle that also passes each completed bio to `observer`.
    pub fn with_observer(settings: Settings, observer: O) -> Lifecycle<O> {
        let (slow, times) = (Slow::new(settings.max_slow), Counter::new(settings.threads_after));
        Lifecycle {
            settings,
            observer,
            events: 0,
            clock: Clock::default(),
            devices: Vec::new(),
            last_device: 0,
            bios: Bios::new(),
            starts: Index::new(),
            ends: Index::new(),
            classes: Classes::new(),
            overtakes: OvertakeIndex::new(),
            slow,
            times,
            anomalies: Anomalies::default(),
            arrivals: Arrivals::default(),
            appends: ZoneAppends::default(),
            completed: vec![0; REMEMBERED],
            given_up: vec![0; REMEMBERED],
        }
    }

    /// Takes the next event.
    #[inline]
    pub fn feed(&mut self, event: &BlockEvent) {
        let Some(device) = self.device(event) else {
            self.anomalies.too_many_devices += 1;
            return;
        };
        if event.action == Action::Lost {
            self.devices[device].lose(event.sector, event.argument);
            self.arrivals.interrupt();
            return;
        }
        self.clock.tick(event.time_ns, self.events, self.bios.len() > 0, self.settings.clock_jump_ns);
        self.events += 1;
        if !self.devices[device].pending_remaps.is_empty() {
            self.settle_remap(device, event);
        }
        let tables = &mut self.devices[device].tables;
        tables.events += 1;
        tables.actions[event.action as usize % 20] += 1;
        if is_append(event.kind) {
            let placed = self.appends.placed(event);
            return self.dispatch(device, &placed);
        }
        self.dispatch(device, event);
    }

    #[inline]
    fn dispatch(&mut self, device: usize, event: &BlockEvent) {
        match event.action {
            Action::Queue => self.queue(device, event),
            Action::Split => self.split(device, event),
            Action::Remap => self.remap(device, event),
            Action::GetRequest => self.get_request(device, event),
            Action::BackMerge => self.back_merge(device, event),
            Action::FrontMerge => self.front_merge(device, event),
            Action::Insert => self.insert(device, event),
            Action::Issue => self.issue(device, event),
            Action::Requeue => self.requeue(device, event),
            Action::Complete => self.complete(device, event),
            Action::Plug => self.devices[device].plug(event.pid, event.time_ns),
            Action::Unplug => self.devices[device].unplug(event, false),
            Action::TimerUnplug => self.devices[device].unplug(event, true),
            Action::Sleep => self.devices[device].tables.sleeps += 1,
            Action::Bounce
            | Action::Abort
            | Action::DriverData
            | Action::ZonePlug
            | Action::ZoneUnplug
            | Action::Lost => {}
        }
    }

    /// Takes events in order.
    pub fn feed_all(&mut self, events: &[BlockEvent]) {
        for event in events {
            self.feed(event);
        }
    }

    /// Ends the trace: gives up bios in flight and returns the findings.
    pub fn finish(mut self) -> (BlockReport, O) {
        self.settle_all_remaps();
        self.anomalies.in_flight_at_end = self.bios_in_flight();
        while self.bios.oldest != NIL {
            self.give_up(self.bios.oldest);
        }
        let tally = self.times.finish();
        self.devices.iter_mut().zip(tally.devices).for_each(|(device, tally)| device.tables.take(tally));
        self.classes.take(tally.classes);
        let collected = Collected {
            events: self.events,
            devices: &self.devices,
            classes: &self.classes,
            q2q: self.arrivals.q2q,
            clock: self.clock.report,
            anomalies: self.anomalies,
            slow: self.slow,
            first_ns: self.clock.first_ns.unwrap_or(0),
            last_ns: self.clock.now_ns,
        };
        (collected.into_report(), self.observer)
    }

    /// Bios in flight now, over all devices.
    pub fn bios_in_flight(&self) -> u64 {
        self.devices.iter().map(|device| u64::from(device.in_flight)).sum()
    }

    #[inline]
    fn device(&mut self, event: &BlockEvent) -> Option<usize> {
        match self.devices.get(self.last_device) {
            Some(device) if device.number == event.device => Some(self.last_device),
            _ => self.look_up_device(event.device, event.time_ns),
        }
    }

    fn look_up_device(&mut self, number: DeviceNumber, now_ns: u64) -> Option<usize> {
        let at = match self.devices.iter().position(|device| device.number == number) {
            Some(at) => at,
            None if self.devices.len() >= DEVICES => return None,
            None => {
                let start_ns = self.clock.first_ns.unwrap_or(now_ns);
                self.devices.push(Device::new(number, start_ns));
                self.devices.len() - 1
            }
        };
        self.last_device = at;
        Some(at)
    }

    /// The bio at `tag` with the highest `fitness`, the oldest of equals; 0 is no match. Where events were lost and
    /// another bio matches, both become doubtful.
    fn find(&mut self, tag: u32, fitness: impl Fn(&Self, &Bio) -> u8) -> Option<Found> {
        let first = self.starts.first(tag);
        if first == NIL {
            return None;
        }
        let (mut best, mut best_fitness) = (NIL, 0);
        let (mut fit, mut equals) = (0, 0);
        let mut id = first;
        for _ in 0..CHAIN_SEARCHED {
            if id == NIL {
                break;
            }
            let fitness = fitness(self, &self.bios[id]);
            if fitness > 0 {
                fit += 1;
                if fitness > best_fitness {
                    (best, best_fitness, equals) = (id, fitness, 1);
                } else if fitness == best_fitness {
                    equals += 1;
                }
            }
            id = self.starts.after(id);
        }
        if best == NIL {
            return None;
        }
        if fit > 1 {
            self.doubt_all(first, &fitness);
        }
        Some(Found { id: best, ambiguous: equals > 1 })
    }

    #[cold]
    fn doubt_all(&mut self, first: u32, fitness: &impl Fn(&Self, &Bio) -> u8) {
        let following = |id: &u32| Some(self.starts.after(*id)).filter(|&id| id != NIL);
        let fit: Vec<u32> = std::iter::successors(Some(first), following)
            .take(CHAIN_SEARCHED)
            .filter(|&id| fitness(self, &self.bios[id]) > 0)
            .collect();
        let doubtful = |id: &u32| {
            let bio = &self.bios[*id];
            bio.has(flag::DOUBTFUL) || self.devices[usize::from(bio.device)].lost_since(bio.losses_before) > 0
        };
        if fit.iter().any(doubtful) {
            for id in fit {
                self.bios[id].flags |= flag::DOUBTFUL;
            }
        }
    }

    /// Whether the event is by the thread that queued the bio. That thread does everything up to the insertion, except
    /// for throttled bios. This distinguishes bios of equal extent.
    fn is_by_its_thread(&self, bio: &Bio, event: &BlockEvent) -> u8 {
        u8::from(!bio.has(flag::NO_BIO) && self.classes.get(bio.class).key.pid == event.pid)
    }

    fn index_start(&mut self, id: u32) {
        let bio = &self.bios[id];
        let tag = tag_of(bio.device, class_of(bio.kind), bio.extent().0);
        self.bios[id].start_tag = tag;
        self.starts.insert(tag, id);
    }

    fn unindex_start(&mut self, id: u32) {
        let tag = std::mem::take(&mut self.bios[id].start_tag);
        if tag != 0 {
            self.starts.remove(tag, id);
        }
    }

    fn index_end(&mut self, id: u32) {
        let bio = &self.bios[id];
        if bio.request_sectors == 0 {
            return;
        }
        let tag = tag_of(bio.device, class_of(bio.kind), bio.request_end());
        self.bios[id].end_tag = tag;
        self.ends.insert(tag, id);
    }

    fn unindex_end(&mut self, id: u32) {
        let tag = std::mem::take(&mut self.bios[id].end_tag);
        if tag != 0 {
            self.ends.remove(tag, id);
        }
    }

    /// The initial state of a bio or request.
    fn new_bio(&mut self, device: usize, event: &BlockEvent) -> Bio {
        let owner = &mut self.devices[device];
        let is_flush = event.bytes == 0 && event.kind.has(Kind::PREFLUSH);
        let losses_before = if is_flush { owner.losses_before_flushes() } else { owner.losses_before(event.time_ns) };
        Bio {
            sector: event.sector,
            queued_ns: event.time_ns,
            born_ns: self.clock.lived_ns,
            entered_ns: UNSEEN,
            entered_event: u64::MAX,
            inserted_ns: UNSEEN,
            issued_ns: UNSEEN,
            remapped_ns: UNSEEN,
            data_done_ns: UNSEEN,
            sectors: event.sectors(),
            bytes: event.bytes,
            position: None,
            losses_before,
            epoch: self.clock.epoch,
            class: 0,
            device: device as u16,
            kind: event.kind,
            state: State::Queued,
            flags: 0,
            request_sector: event.sector,
            request_sectors: event.sectors(),
            issues: 0,
            requeues: 0,
            head: NIL,
            next_member: NIL,
            last_member: NIL,
            start_tag: 0,
            end_tag: 0,
            older: NIL,
            newer: NIL,
        }
    }
}
