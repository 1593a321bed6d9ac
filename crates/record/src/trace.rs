//! What tasks wait for, by BPF programs in the kernel.
//!
//! Pairing and filtering happen in the kernel (`bpf/stall.bpf.c`): only waits that last come through the ring, short
//! ones as sums. Each source stands for itself: a tracepoint that this kernel lacks costs that source alone, and where
//! no BPF is allowed, /proc still tells who is blocked.

mod calls;
mod cost;
mod detail;
mod event;
mod issues;
mod once;
mod paths;
mod programs;
mod requests;
mod settings;
mod symbols;
mod threads;
mod tracepoints;
mod watch;
mod wording;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use libbpf_rs::{Link, MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};
use model::preflight::Finding;
use model::stall::{TraceSettings, Traced};

use crate::Roots;
use crate::clock::{monotonic_ns, thread_cpu_ns};
use cost::Meter;
use event::{Event, LOSSES, RequestNote, SKIPPED};
use issues::Issues;
use requests::Histograms;
use settings::Settings;
use symbols::Symbols;
use tracepoints::{SOURCES, Source, When};
use watch::Watch;
use wording::Wording;

pub use programs::CAPABILITY as TRACE_CAPABILITY;

/// What to trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceOptions {
    /// Thresholds, and whether every block request is kept.
    pub settings: TraceSettings,
    /// Tasks that have been blocked for so long are told while they are.
    pub blocked_ns: u64,
}

impl TraceOptions {
    /// For operations slower than `slow_ns`: waits of a hundredth of it are kept one by one, which leaves a busy
    /// machine's ring with room, and never less than 1 ms or more than 10 ms. A task is blocked from `slow_ns` on, and
    /// never before 100 ms.
    pub fn slower_than(slow_ns: u64, all_requests: bool) -> TraceOptions {
        let interval_ns = (slow_ns / 100).clamp(1_000_000, 10_000_000);
        TraceOptions {
            settings: TraceSettings { slow_ns, interval_ns, all_requests },
            blocked_ns: slow_ns.max(100_000_000),
        }
    }
}

/// What of one kind was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostEvents {
    /// What kind, and why, in words.
    pub what: &'static str,
    /// How many since the last look.
    pub count: u64,
}

/// What tracing cost since the last look: the fields of [`model::event::RunEvent::TraceCost`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// Events taken from the kernel.
    pub events: u64,
    /// CPU time of the thread that took them, within [`Tracing`]'s functions.
    pub consumer_cpu_ns: u64,
    /// CPU time of the programs in the kernel, on all CPUs, measured for `measured_ns` and scaled up. `None` where the
    /// kernel does not tell.
    pub programs_cpu_ns: Option<u64>,
    /// For how long the programs' time was measured.
    pub measured_ns: u64,
}

/// A task that is blocked now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedNow {
    /// Kernel thread id.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// The thread's name.
    pub name: String,
    /// When it was seen blocked first, on the monotonic clock.
    pub since_ns: u64,
    /// The system call that it is in, where that is known and one on files.
    pub call: Option<&'static str>,
    /// The file that the call works on, where that is known.
    pub path: Option<String>,
    /// Its kernel stack, innermost first; empty where it may not be read.
    pub frames: Vec<String>,
}

/// The tracer. Dropping it detaches all programs.
pub struct Tracing {
    kernel: Option<Kernel>,
    wording: Wording,
    watch: Watch,
    events: u64,
    consumer_cpu_ns: u64,
}

/// The programs, attached.
struct Kernel {
    ring: RingBuffer<'static>,
    object: Object,
    sources: Vec<Source>,
    links: Vec<Link>,
    issues: Issues,
    arrived: Arc<Mutex<Arrived>>,
    lost: [u64; LOSSES.len()],
    skipped: u64,
    histograms: Histograms,
    meter: Meter,
}

/// What came through the rings.
#[derive(Default)]
struct Arrived {
    events: Vec<Event>,
    requests: Vec<RequestNote>,
}

impl Tracing {
    /// Loads and attaches what this kernel has and allows; what is missing is told, and costs no more than itself.
    pub fn open(roots: &Roots, options: &TraceOptions) -> (Tracing, Vec<Finding>) {
        Tracing::open_with(roots, options, SOURCES)
    }

    fn open_with(roots: &Roots, options: &TraceOptions, sources: &[Source]) -> (Tracing, Vec<Finding>) {
        let mut findings = Vec::new();
        let symbols = Symbols::read(&roots.proc.join("kallsyms"));
        let settings = Settings::new(&options.settings, &symbols, possible_cpus());
        let kernel = Kernel::open(roots, &settings, sources, &mut findings);
        let kernel = kernel.map_err(|refused| findings.push(programs::refused(&refused))).ok();
        let wording = Wording::new(roots.proc.clone(), symbols, settings.all_requests);
        let watch = Watch::new(roots.proc.clone(), std::process::id(), options.blocked_ns);
        (Tracing { kernel, wording, watch, events: 0, consumer_cpu_ns: 0 }, findings)
    }

    /// Whether programs are attached.
    pub fn is_tracing(&self) -> bool {
        self.kernel.is_some()
    }

    /// Detaches the programs for a while, or attaches them again; what they know stays. It takes some ms, so that what
    /// they cost can be measured against the same moment without them.
    pub fn set_attached(&mut self, attached: bool) {
        if let Some(kernel) = &mut self.kernel {
            kernel.set_attached(attached);
        }
    }

    /// Takes what came since the last look. The kernel wakes nobody: to be called each 20 ms or so.
    pub fn poll(&mut self, traced: &mut Traced) {
        let Some(kernel) = &mut self.kernel else { return };
        let began_ns = thread_cpu_ns();
        kernel.issues.look(&kernel.object);
        // An error would be one of the callback, which gives none.
        let _ = kernel.ring.consume();
        let mut arrived = kernel.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        self.events += (arrived.events.len() + arrived.requests.len()) as u64;
        for event in arrived.events.drain(..) {
            self.wording.tell(&event, traced);
        }
        for request in arrived.requests.drain(..) {
            self.wording.each_request(&request, traced);
        }
        drop(arrived);
        self.consumer_cpu_ns += thread_cpu_ns() - began_ns;
    }

    /// To be called each second or so: sums of block requests, and tasks that are blocked, also those whose waits are
    /// over. Gives those that are blocked now.
    pub fn interval(&mut self, now_ns: u64, traced: &mut Traced) -> Vec<BlockedNow> {
        let began_ns = thread_cpu_ns();
        self.wording.age();
        if let Some(kernel) = &mut self.kernel {
            kernel.histograms.take(&kernel.object, now_ns, &mut traced.request_intervals);
            kernel.meter.tick(&kernel.object, now_ns);
        }
        if self.watch.is_due(now_ns) {
            let before_ns = thread_cpu_ns();
            for waited in self.watch.look(now_ns) {
                self.wording.waited(waited, traced);
            }
            self.watch.pace(now_ns, thread_cpu_ns() - before_ns, self.kernel.is_some());
        }
        self.consumer_cpu_ns += thread_cpu_ns() - began_ns;
        self.watch.blocked()
    }

    /// To be called once, at the end: all that is still to be told, also waits that are not over.
    pub fn finish(&mut self, now_ns: u64, traced: &mut Traced) {
        self.poll(traced);
        self.interval(now_ns, traced);
        for waited in self.watch.finish() {
            self.wording.waited(waited, traced);
        }
    }

    /// What was lost since the last look.
    pub fn lost(&mut self) -> Vec<LostEvents> {
        self.kernel.as_mut().map(Kernel::lost).unwrap_or_default()
    }

    /// What tracing cost since the last look; `None` where nothing is traced.
    pub fn cost(&mut self) -> Option<Cost> {
        let kernel = self.kernel.as_mut()?;
        let measured = kernel.meter.take(&kernel.object, monotonic_ns());
        Some(Cost {
            events: std::mem::take(&mut self.events),
            consumer_cpu_ns: std::mem::take(&mut self.consumer_cpu_ns),
            programs_cpu_ns: measured.programs_cpu_ns,
            measured_ns: measured.measured_ns,
        })
    }

    /// Forgets what was told once (stacks, tasks): they are told again, with the same numbers.
    pub fn retell(&mut self) {
        self.wording.retell();
    }
}

impl Kernel {
    fn open(
        roots: &Roots,
        settings: &Settings,
        sources: &[Source],
        findings: &mut Vec<Finding>,
    ) -> Result<Kernel, libbpf_rs::Error> {
        let useful = |source: &&Source| settings.all_requests || source.when != When::EachRequest;
        let sources: Vec<Source> = sources.iter().filter(useful).copied().collect();
        let mut loaded = programs::load(&sources, &roots.sys.join("kernel/btf"), settings)?;
        let arrived = Arc::new(Mutex::new(Arrived::default()));
        let ring = rings(&loaded.object, &arrived)?;
        let links = programs::attach(&mut loaded, &sources, findings)?;
        let issues = Issues::new(&loaded.object, &sources, &roots.sys);
        let now_ns = monotonic_ns();
        let (histograms, mut meter) = (Histograms::new(now_ns), Meter::new(now_ns));
        meter.tick(&loaded.object, now_ns);
        Ok(Kernel {
            ring,
            object: loaded.object,
            sources,
            links,
            issues,
            arrived,
            lost: [0; LOSSES.len()],
            skipped: 0,
            histograms,
            meter,
        })
    }

    fn set_attached(&mut self, attached: bool) {
        self.links.clear();
        self.issues.detach();
        if attached {
            let wanted = |source: &&Source| source.when != When::Wanted || self.issues.are_traced();
            let attach = |source| programs::attach_source(&self.object, source).unwrap_or_default();
            self.links = self.sources.iter().filter(wanted).flat_map(attach).collect();
        }
    }

    fn lost(&mut self) -> Vec<LostEvents> {
        let Ok(map) = programs::map(&self.object, "lost") else { return Vec::new() };
        let mut losses = Vec::new();
        for ((at, what), before) in (0u32..).zip(LOSSES).zip(&mut self.lost) {
            let value = map.lookup(&at.to_ne_bytes(), MapFlags::ANY).ok().flatten();
            let total = value.and_then(|value| value.try_into().ok()).map_or(0, u64::from_ne_bytes);
            let count = total.saturating_sub(std::mem::replace(before, total));
            if count > 0 {
                losses.push(LostEvents { what, count });
            }
        }
        let skipped = cost::skipped(&self.object);
        let count = skipped.saturating_sub(std::mem::replace(&mut self.skipped, skipped));
        if count > 0 {
            losses.push(LostEvents { what: SKIPPED, count });
        }
        losses
    }
}

/// CPUs that there may be; the programs number them from 0.
fn possible_cpus() -> u16 {
    libbpf_rs::num_possible_cpus().ok().and_then(|cpus| u16::try_from(cpus).ok()).unwrap_or(1)
}

/// Both rings, taken apart as they are read.
fn rings(object: &Object, arrived: &Arc<Mutex<Arrived>>) -> Result<RingBuffer<'static>, libbpf_rs::Error> {
    let (events, each) = (programs::map(object, "ring")?, programs::map(object, "each_request")?);
    let mut builder = RingBufferBuilder::new();
    let sink = Arc::clone(arrived);
    builder.add(&events, move |bytes: &[u8]| {
        let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink.events.extend(Event::parse(bytes));
        0
    })?;
    let sink = Arc::clone(arrived);
    builder.add(&each, move |bytes: &[u8]| {
        let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink.requests.extend(RequestNote::parse(bytes));
        0
    })?;
    builder.build()
}
