//! What tasks wait for, by BPF programs in the kernel.
//!
//! Pairing and filtering happen in the kernel (`bpf/stall.bpf.c`): only waits that last come through the ring, short
//! ones as sums. Each program stands for itself: a tracepoint that this kernel lacks costs that source alone, and a
//! machine that allows no BPF is recorded without.

mod calls;
mod event;
mod programs;
mod symbols;
mod wording;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use libbpf_rs::{Link, MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};
use model::preflight::Finding;
use model::stall::{TraceSettings, Traced};

use crate::Roots;
use crate::clock::thread_cpu_ns;
use event::{Event, KIND_NAMES};
use symbols::Symbols;
use wording::Wording;

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

/// Events of one kind that did not fit the ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostEvents {
    /// What kind, in words.
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
    /// Its kernel stack, innermost first; empty where it may not be read.
    pub frames: Vec<String>,
}

/// The tracer. Dropping it detaches all programs.
pub struct Tracing {
    kernel: Option<Kernel>,
    wording: Wording,
    events: u64,
    consumer_cpu_ns: u64,
}

/// The programs, attached.
struct Kernel {
    ring: RingBuffer<'static>,
    object: Object,
    _links: Vec<Link>,
    arrived: Arc<Mutex<Vec<Event>>>,
    lost: HashMap<usize, u64>,
}

impl Tracing {
    /// Loads and attaches what this kernel has and allows; what is missing is told, and costs no more than itself.
    pub fn open(roots: &Roots, options: &TraceOptions) -> (Tracing, Vec<Finding>) {
        let mut findings = Vec::new();
        let symbols = Symbols::read(&roots.proc.join("kallsyms"));
        let kernel = Kernel::open(&symbols, options, &mut findings);
        let kernel = kernel.map_err(|refused| findings.push(programs::refused(&refused))).ok();
        let wording = Wording::new(roots.proc.clone(), symbols);
        (Tracing { kernel, wording, events: 0, consumer_cpu_ns: 0 }, findings)
    }

    /// Whether programs are attached.
    pub fn is_tracing(&self) -> bool {
        self.kernel.is_some()
    }

    /// Takes what came since the last look. The kernel wakes nobody: to be called each 20 ms or so.
    pub fn poll(&mut self, traced: &mut Traced) {
        let Some(kernel) = &mut self.kernel else { return };
        let began_ns = thread_cpu_ns();
        // An error would be one of the callback, which gives none.
        let _ = kernel.ring.consume();
        let events = std::mem::take(&mut *kernel.arrived.lock().unwrap_or_else(PoisonError::into_inner));
        for event in &events {
            self.wording.tell(event, traced);
        }
        self.events += events.len() as u64;
        self.consumer_cpu_ns += thread_cpu_ns() - began_ns;
    }

    /// To be called each second or so: sums of block requests, and tasks that are blocked, also those whose waits are
    /// over. Gives those that are blocked now.
    pub fn interval(&mut self, _now_ns: u64, _traced: &mut Traced) -> Vec<BlockedNow> {
        Vec::new()
    }

    /// To be called once, at the end: all that is still to be told, also waits that are not over.
    pub fn finish(&mut self, now_ns: u64, traced: &mut Traced) {
        self.poll(traced);
        self.interval(now_ns, traced);
    }

    /// What was lost since the last look.
    pub fn lost(&mut self) -> Vec<LostEvents> {
        self.kernel.as_mut().map(Kernel::lost).unwrap_or_default()
    }

    /// What tracing cost since the last look; `None` where nothing is traced.
    pub fn cost(&mut self) -> Option<Cost> {
        self.kernel.as_ref()?;
        let (events, consumer_cpu_ns) = (std::mem::take(&mut self.events), std::mem::take(&mut self.consumer_cpu_ns));
        Some(Cost { events, consumer_cpu_ns, programs_cpu_ns: None, measured_ns: 0 })
    }

    /// Forgets what was told once (stacks, tasks): they are told again, with the same numbers.
    pub fn retell(&mut self) {
        self.wording.retell();
    }
}

impl Kernel {
    fn open(
        symbols: &Symbols,
        options: &TraceOptions,
        findings: &mut Vec<Finding>,
    ) -> Result<Kernel, libbpf_rs::Error> {
        let object = programs::load(findings)?;
        let settings = programs::settings(&options.settings, symbols.address(programs::THROTTLE_FUNCTION));
        programs::map(&object, "settings")?.update(&0u32.to_ne_bytes(), &settings, MapFlags::ANY)?;
        let arrived = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&arrived);
        let ring = {
            let map = programs::map(&object, "ring")?;
            let mut builder = RingBufferBuilder::new();
            builder.add(&map, move |bytes: &[u8]| {
                let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
                sink.extend(Event::parse(bytes));
                0
            })?;
            builder.build()?
        };
        let links = programs::attach(&object, findings)?;
        Ok(Kernel { ring, object, _links: links, arrived, lost: HashMap::new() })
    }

    fn lost(&mut self) -> Vec<LostEvents> {
        let Ok(map) = programs::map(&self.object, "lost") else { return Vec::new() };
        let mut losses = Vec::new();
        for (kind, what) in KIND_NAMES.into_iter().enumerate() {
            let value = map.lookup(&(kind as u32).to_ne_bytes(), MapFlags::ANY).ok().flatten();
            let total = value.and_then(|value| value.try_into().ok()).map_or(0, u64::from_ne_bytes);
            let count = total - self.lost.insert(kind, total).unwrap_or(0).min(total);
            if count > 0 {
                losses.push(LostEvents { what, count });
            }
        }
        losses
    }
}
