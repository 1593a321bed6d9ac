//! The programs while they are attached: their rings, and what they lost.

use std::sync::{Arc, Mutex, PoisonError};

use libbpf_rs::{Link, MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};
use model::loss_kind::{OF_PROGRAMS, SKIPPED_EVENTS};
use model::preflight::Finding;
use model::stall::{RequestIntervalRecord, Traced};

use super::cost::{self, CostMeter, Measured};
use super::drivers::Drivers;
use super::event::{RequestNote, TraceEvent};
use super::issues::Issues;
use super::programs::{self, Kernel, Loaded, Missing};
use super::requests::RequestHistograms;
use super::row_builder::RowBuilder;
use super::settings::ProgramSettings;
use super::tracepoints::{FOLLOW, FOLLOWED, LONG_WAITS, TASKS_AT_END, TASKS_AT_START, TraceSource, When};
use super::usage::UsageReader;
use super::user_stacks::UserStackEvent;
use crate::clock::monotonic_ns;
use crate::roots::Roots;

/// Events of one kind that were lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostEvents {
    /// Which kind, and why, in words.
    pub what: &'static str,
    /// How many since the last poll.
    pub count: u64,
}

/// What came through the rings.
#[derive(Default)]
pub(super) struct Arrived {
    pub(super) events: Vec<TraceEvent>,
    pub(super) requests: Vec<RequestNote>,
    pub(super) user_stacks: Vec<UserStackEvent>,
}

/// The programs, attached.
pub(super) struct Attachment {
    ring: RingBuffer<'static>,
    /// The programs that were loaded first, then those of each module that was loaded later, with the same maps.
    objects: Vec<Object>,
    sources: Vec<TraceSource>,
    /// Sources whose modules are not loaded.
    waiting: Vec<TraceSource>,
    settings: ProgramSettings,
    links: Vec<Link>,
    issues: Issues,
    arrived: Arc<Mutex<Arrived>>,
    lost: [u64; OF_PROGRAMS.len()],
    skipped: u64,
    histograms: RequestHistograms,
    meter: CostMeter,
    usage: UsageReader,
}

impl Attachment {
    pub(super) fn open(
        roots: &Roots,
        kernel: &Kernel,
        drivers: &Drivers,
        settings: &ProgramSettings,
        sources: &[TraceSource],
        findings: &mut Vec<Finding>,
    ) -> Result<Attachment, libbpf_rs::Error> {
        let useful = |source: &&TraceSource| settings.all_requests || source.when != When::EachRequest;
        let sources: Vec<TraceSource> = sources.iter().filter(useful).copied().collect();
        let mut loaded = programs::load(&sources, kernel, settings, None)?;
        drivers.set(&loaded.object);
        let arrived = Arc::new(Mutex::new(Arrived::default()));
        let ring = rings(&loaded.object, &arrived)?;
        let links = programs::attach(&mut loaded, &sources, findings)?;
        findings.extend(settings.user_stacks.then(|| user_stacks_finding(&loaded.object)));
        let (waiting, sources) = (waiting(&sources, &loaded), loaded.sources);
        // Where the kernel has no such programs, a finding says so.
        let _ = programs::visit_tasks(&loaded.object, TASKS_AT_START);
        let issues = Issues::new(&loaded.object, &sources, &roots.sys);
        let now_ns = monotonic_ns();
        let (histograms, mut meter) = (RequestHistograms::new(now_ns), CostMeter::new(now_ns));
        let objects = vec![loaded.object];
        meter.tick(&objects, now_ns);
        Ok(Attachment {
            ring,
            objects,
            sources,
            waiting,
            settings: settings.clone(),
            links,
            issues,
            arrived,
            lost: [0; OF_PROGRAMS.len()],
            skipped: 0,
            histograms,
            meter,
            usage: UsageReader::new(roots, now_ns),
        })
    }

    pub(super) fn set_attached(&mut self, attached: bool) {
        self.links.clear();
        self.issues.detach();
        if attached {
            let wanted = |source: &&TraceSource| match source.when {
                When::Wanted => self.issues.are_traced(),
                When::Asked => false,
                When::Always | When::EachRequest => true,
            };
            let attach = |object, source| programs::attach_source(object, source).unwrap_or_default();
            let of_source = |source| self.objects.iter().flat_map(move |object| attach(object, source));
            self.links = self.sources.iter().filter(wanted).flat_map(of_source).collect();
        }
    }

    /// Takes note of modules that were loaded or unloaded: attaches the sources that waited for them. A source that
    /// cannot be attached becomes a finding, as one that can.
    pub(super) fn modules_changed(&mut self, kernel: &Kernel, drivers: &Drivers) -> Vec<Finding> {
        drivers.set(self.object());
        let is_waiting = |source: &TraceSource| source.module.is_some_and(|module| kernel.lacks_module(module));
        let (waiting, ready) = std::mem::take(&mut self.waiting).into_iter().partition(is_waiting);
        self.waiting = waiting;
        let mut findings = Vec::new();
        if ready.is_empty() {
            return findings;
        }
        match programs::load(&ready, kernel, &self.settings, Some(self.object())) {
            Ok(mut loaded) => {
                self.links.extend(programs::attach(&mut loaded, &ready, &mut findings).unwrap_or_default());
                self.sources.extend(loaded.sources);
                self.objects.push(loaded.object);
            }
            Err(error) => {
                let missing = |source: &TraceSource| {
                    let why = format!("its module was loaded later, and its programs could not be loaded: {error}");
                    Finding::missing(source.name, source.purpose, why, "record again, now that the module is loaded")
                };
                findings.extend(ready.iter().map(missing));
            }
        }
        findings
    }

    /// The programs that were loaded first, with all maps.
    fn object(&self) -> &Object {
        &self.objects[0]
    }

    /// Takes what the kernel put into the rings, hands it to `visit`, and drops what is left of it.
    pub(super) fn consume(&mut self, visit: impl FnOnce(&mut Arrived)) {
        self.issues.poll(&self.objects[0]);
        // An error would come from the callback, which returns none.
        let _ = self.ring.consume();
        let mut arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        visit(&mut arrived);
        arrived.events.clear();
        arrived.requests.clear();
        arrived.user_stacks.clear();
    }

    /// Makes the kernel emit the waits that last for long, each after ever longer pauses.
    pub(super) fn look_for_long_waits(&self) {
        let _ = programs::visit_tasks(self.object(), LONG_WAITS);
    }

    /// Makes the kernel emit the waits that have not ended.
    pub(super) fn look_for_waits(&self) {
        let _ = programs::visit_tasks(self.object(), TASKS_AT_END);
    }

    /// Watches these processes like the recorded command, from now on.
    pub(super) fn follow(&self, pids: &[u32]) {
        let Ok(map) = programs::map(self.object(), FOLLOWED) else { return };
        // The map holds one part of very many at a time.
        for part in pids.chunks(map.max_entries() as usize) {
            part.iter().for_each(|pid| _ = map.update(&pid.to_ne_bytes(), &[1], MapFlags::ANY));
            // Where the kernel has no such program, a finding says so.
            let _ = programs::visit_tasks(self.object(), FOLLOW);
            // Another process may get the same id.
            part.iter().for_each(|pid| _ = map.delete(&pid.to_ne_bytes()));
        }
    }

    /// Adds the sums of block requests since the last interval, and measures the programs' cost from time to time.
    pub(super) fn interval(&mut self, now_ns: u64, rows: &mut Vec<RequestIntervalRecord>) {
        self.histograms.take(&self.objects[0], now_ns, rows);
        self.meter.tick(&self.objects, now_ns);
    }

    /// Adds who used what since this was called last, where enough time has passed or it is the `last` time. Reads the
    /// clock itself: an older moment of the caller would end an interval before it began.
    pub(super) fn usage(&mut self, last: bool, rows: &mut RowBuilder, traced: &mut Traced) {
        let now_ns = monotonic_ns();
        if last || self.usage.is_due(now_ns) {
            let usage = self.usage.take(&self.objects[0], now_ns);
            rows.tasks.learn(&usage, |pid| self.usage.relative(&self.objects[0], pid));
            rows.tasks.emit_users(&usage, traced);
            traced.usage.extend(usage.rows);
        }
    }

    /// What the programs cost since this was called last.
    pub(super) fn measured(&mut self, now_ns: u64) -> Measured {
        self.meter.take(&self.objects, now_ns)
    }

    pub(super) fn lost(&mut self) -> Vec<LostEvents> {
        let Ok(map) = programs::map(&self.objects[0], "lost") else { return Vec::new() };
        let mut losses = Vec::new();
        for ((at, kind), before) in (0u32..).zip(OF_PROGRAMS).zip(&mut self.lost) {
            let value = map.lookup(&at.to_ne_bytes(), MapFlags::ANY).ok().flatten();
            let total = value.and_then(|value| value.try_into().ok()).map_or(0, u64::from_ne_bytes);
            let count = total.saturating_sub(std::mem::replace(before, total));
            if count > 0 {
                losses.push(LostEvents { what: kind.name, count });
            }
        }
        let skipped = cost::skipped(&self.objects);
        let count = skipped.saturating_sub(std::mem::replace(&mut self.skipped, skipped));
        if count > 0 {
            losses.push(LostEvents { what: SKIPPED_EVENTS.name, count });
        }
        losses
    }
}

/// Those of the sources whose modules are not loaded.
fn waiting(sources: &[TraceSource], loaded: &Loaded) -> Vec<TraceSource> {
    let is_waiting = |source: &&TraceSource| matches!(loaded.missing.get(source.name), Some(Missing::NotLoaded(_)));
    sources.iter().filter(is_waiting).copied().collect()
}

/// The programs for early kernels take no stacks of programs.
fn user_stacks_finding(object: &Object) -> Finding {
    let (name, purpose) = ("tracing: user stacks", "Where programs are in their own code when they wait");
    match programs::map(object, "each_request") {
        Ok(_) => Finding::available(name, purpose),
        Err(_) => Finding::missing(name, purpose, programs::EARLY.to_owned(), "use Linux 5.17 or newer"),
    }
}

/// Both rings, parsed as they are read; the programs for early kernels have one.
fn rings(object: &Object, arrived: &Arc<Mutex<Arrived>>) -> Result<RingBuffer<'static>, libbpf_rs::Error> {
    let events = programs::map(object, "ring")?;
    let each = programs::map(object, "each_request").ok();
    let mut builder = RingBufferBuilder::new();
    let sink = Arc::clone(arrived);
    builder.add(&events, move |bytes: &[u8]| {
        let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
        match UserStackEvent::parse(bytes) {
            Some(stack) => sink.user_stacks.push(stack),
            None => sink.events.extend(TraceEvent::parse(bytes)),
        }
        0
    })?;
    if let Some(each) = &each {
        let sink = Arc::clone(arrived);
        builder.add(each, move |bytes: &[u8]| {
            let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
            sink.requests.extend(RequestNote::parse(bytes));
            0
        })?;
    }
    builder.build()
}
