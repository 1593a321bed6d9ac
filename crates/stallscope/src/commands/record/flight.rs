//! `record --ring`: the flight recorder. It keeps the last minutes in a ring while it runs, and saves the ring and some
//! time after it as a run when something stalls.
//!
//! The ring is a row of slices ([`ring`](crate::recording::flight::ring)); the archive thread writes it, and this
//! thread rotates it. Triggers come from the rows ([`watcher`](crate::recording::flight::watcher));
//! [`limiter`](crate::recording::flight::limiter) decides what becomes of them;
//! [`keeper`](crate::recording::flight::keeper) joins the slices in the background, and recording never stops for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use archive::Run;
use condition::Condition;
use model::event::{Ending, RunEvent};
use model::run::Limits;
use record::{SamplerSet, TraceOptions, clock};
use rig::KernelFiles;
use signal_hook::consts::SIGUSR1;

use super::args::RecordArgs;
use crate::recording::flight::directory::{self, FlightDirectory};
use crate::recording::flight::hook::Hook;
use crate::recording::flight::keeper::{Job, Keeper};
use crate::recording::flight::kept_runs::KeptRuns;
use crate::recording::flight::limiter::Keeping;
use crate::recording::flight::messages::{self, TriggerMessages};
use crate::recording::flight::ring::{Extent, Ring, RingView};
use crate::recording::flight::watcher::Watcher;
use crate::recording::machine::{self, Intent};
use crate::recording::probes::{self, Probes};
use crate::recording::recorder::{Recorder, Start};
use crate::recording::run_directory;
use crate::recording::tap::Tap;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

const POLL: Duration = Duration::from_millis(250);
/// Time that the recorder has to end.
const GRACE: Duration = Duration::from_secs(2);
/// Time that a slice has to end before the complete slices are saved without it.
const ROTATION_PATIENCE: Duration = Duration::from_secs(60);
/// Conditions that no sampled counter can meet are reported after the first samples.
const CHECK_CONDITIONS_AFTER: Duration = Duration::from_secs(3);
/// Maximum sampling interval: the shortest slice has two samples.
const MAX_INTERVAL_NS: u64 = 2_500_000_000;
/// Tasks blocked this long are recorded if no condition asks for a shorter time.
const DEFAULT_BLOCKED_NS: u64 = 5_000_000_000;

/// Records until Ctrl-C, or for `--runtime`.
pub fn fly(args: &RecordArgs, ring_ns: u64) -> Result<Exit, Failure> {
    check_options(args)?;
    let (recording, flight) = (&args.recording, &args.flight);
    let hook = flight.on_stall_exec.as_deref().map(Hook::find).transpose()?;
    let screen = Screen::new(recording.output.json, recording.output.quiet);
    let save_requested = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, Arc::clone(&save_requested))
        .map_err(|error| Failure::machine(format_args!("cannot handle signals: {error}")))?;
    let interrupt = Interrupt::install()?;
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    let path = recording.out.clone().map_or_else(run_directory::of_flight, Ok)?;
    let directory = Arc::new(FlightDirectory::take(&path, &recording.sharing)?);
    let leftovers = directory.left_rings()?;
    let mut keeper = Keeper::start(Arc::clone(&directory), flight.keep_size)?;
    leftovers.into_iter().for_each(|ring| keeper.keep(leftover(ring)));

    let extent = Extent { ring_ns, ring_bytes: flight.ring_size };
    let watcher = Arc::new(Watcher::new(flight.on_stall.clone(), flight.keep_after, flight.keep_every));
    let kernel_files = KernelFiles::mount(&register);
    let (recorder, ring) =
        record_into(&directory, extent, args, &watcher, &screen).inspect_err(|_| directory.abandon())?;
    let kept = KeptRuns::new(keeper, hook, path.clone());
    let messages = TriggerMessages::default();
    let mut flying = Flight { recorder, ring, watcher, kept, rotating: None, messages, save_requested };
    screen.remark(&messages::begin(&path, flight, extent));
    flying.run(args, &interrupt, &screen);
    let ended = flying.end(args, &directory, &interrupt, &screen);
    kernel_files.remove();
    ended
}

fn check_options(args: &RecordArgs) -> Result<(), Failure> {
    let recording = &args.recording;
    let of_a_command = [
        ("--memory", recording.memory.is_some()),
        ("--disk-bps", recording.disk_bps.is_some()),
        ("--disk-iops", recording.disk_iops.is_some()),
        ("--device-of", !args.device_of.is_empty()),
        ("--metric", !args.metric.is_empty()),
        ("--device, --cgroup, --comm, --pid or --path", args.scope.is_given()),
        ("a command", !args.command.is_empty()),
    ];
    if let Some((what, _)) = of_a_command.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format_args!(
            "--ring records the machine, without a load: it cannot be used with {what}"
        )));
    }
    if args.recording.interval > MAX_INTERVAL_NS {
        return Err(Failure::usage("--ring needs a sampling interval of at most 2.5s; use a smaller --interval"));
    }
    let stall = args.flight.on_stall.iter().find(|condition| matches!(condition, Condition::Stall { .. }));
    match stall.filter(|_| args.recording.no_trace) {
        Some(stall) => {
            Err(Failure::usage(format_args!("--on-stall: {stall} needs tracing, which --no-trace turns off")))
        }
        None => Ok(()),
    }
}

/// Saves the ring of a killed recorder: it may hold the reason.
fn leftover(ring: PathBuf) -> Job {
    let paths = directory::slices_in(&ring);
    let slices: Vec<Run> = paths.iter().filter_map(|path| Run::open(path).ok()).collect();
    let bytes = paths.iter().map(|path| directory::bytes_of(path)).sum();
    let reason = "an earlier recorder was cut off; this was in its ring".to_owned();
    Job { word: "cut-off".to_owned(), reason, slices, bytes, remove: Some(ring) }
}

/// Starts recording into a new ring.
fn record_into(
    directory: &FlightDirectory,
    extent: Extent,
    args: &RecordArgs,
    watcher: &Arc<Watcher>,
    screen: &Screen,
) -> Result<(Recorder, RingView), Failure> {
    let (slower_than_ns, trace) = thresholds(args, watcher);
    let probes = Probes::open(None, trace.as_ref());
    probes.remark_untraced(screen);
    let is_tracing = probes.is_tracing();
    let Probes { samplers, tracing, findings } = probes;
    let recording = args.recording.clone();
    let describe = move || {
        let intent = Intent { slower_than_ns, trace: trace.clone(), ..Intent::new("flight", &recording) };
        machine::describe(intent, is_tracing, Limits::default(), findings.clone())
    };
    let ring = directory.fresh_ring()?;
    let (ring, view) = Ring::begin(&ring, extent, clock::now(), describe).map_err(Failure::machine)?;
    let renew: Option<fn() -> SamplerSet> = Some(|| probes::samplers().0);
    let tap: Option<Arc<dyn Tap>> = Some(watcher.clone());
    let start = Start { samplers, renew, interval_ns: args.recording.interval, tracing, watch: None, tap };
    Ok((Recorder::start(start, Box::new(ring))?, view))
}

/// From which duration on operations are recorded, and what to trace: every stall that a condition names must be seen.
fn thresholds(args: &RecordArgs, watcher: &Watcher) -> (u64, Option<TraceOptions>) {
    let shortest_ns = watcher.shortest_stall_ns();
    let slower_than_ns = shortest_ns.unwrap_or(u64::MAX).min(args.recording.slower_than);
    let mut trace = machine::trace_options(&args.recording);
    if let Some(options) = &mut trace {
        let follow = std::mem::take(&mut options.follow);
        let (all_requests, user_stacks) = (options.settings.all_requests, options.user_stacks);
        *options = TraceOptions { follow, user_stacks, ..TraceOptions::slower_than(slower_than_ns, all_requests) };
        // Polling blocked tasks is most of the cost on an idle machine: poll no more often than needed.
        options.blocked_ns = options.blocked_ns.max(shortest_ns.unwrap_or(DEFAULT_BLOCKED_NS));
    }
    (slower_than_ns, trace)
}

/// The flight recorder while it runs.
struct Flight {
    recorder: Recorder,
    ring: RingView,
    watcher: Arc<Watcher>,
    kept: KeptRuns,
    /// What is saved as soon as the current slice has ended.
    rotating: Option<PendingRotation>,
    messages: TriggerMessages,
    save_requested: Arc<AtomicBool>,
}

/// A slice is about to end, and then the ring is saved.
struct PendingRotation {
    keeping: Keeping,
    /// Rotations that were complete when it was requested.
    rotations: u64,
    since: Instant,
}

impl Flight {
    fn run(&mut self, args: &RecordArgs, interrupt: &Interrupt, screen: &Screen) {
        let began = Instant::now();
        let mut checked = false;
        let mut shown = None;
        while interrupt.requests() == 0 {
            let lasted = began.elapsed();
            if args.runtime.is_some_and(|runtime_ns| lasted >= Duration::from_nanos(runtime_ns)) {
                return;
            }
            if !checked && lasted >= CHECK_CONDITIONS_AFTER {
                checked = true;
                for condition in self.watcher.unmatched() {
                    screen.warning(&format!("{condition}: no such counter is sampled here yet"));
                }
            }
            self.step(screen);
            if shown.replace(lasted.as_secs()) != Some(lasted.as_secs()) {
                screen.doing(self.kept.log.progress(lasted));
            }
            std::thread::sleep(POLL);
        }
    }

    fn step(&mut self, screen: &Screen) {
        let now_ns = clock::monotonic_ns();
        if self.save_requested.swap(false, Ordering::Relaxed) {
            self.watcher.save_requested(now_ns, "requested by SIGUSR1");
        }
        for (trigger, verdict) in self.watcher.verdicts() {
            if let Some(text) = self.messages.message(&trigger, &verdict, now_ns) {
                self.recorder.event(RunEvent::Note { at_ns: trigger.at_ns, text: text.clone() });
                screen.remark(&text);
            }
        }
        if self.rotating.is_none()
            && let Some(keeping) = self.watcher.due(now_ns)
        {
            let rotations = self.recorder.rotations();
            self.rotating = Some(PendingRotation { keeping, rotations, since: Instant::now() });
            self.recorder.rotate();
        } else if self.ring.rotations() >= self.recorder.rotations() && self.ring.wants_rotation(now_ns) {
            // No border is on its way to the archive.
            self.recorder.rotate();
        }
        let is_done = |pending: &mut PendingRotation| {
            self.ring.rotations() > pending.rotations || pending.since.elapsed() > ROTATION_PATIENCE
        };
        if let Some(done) = self.rotating.take_if(is_done) {
            self.keep(done.keeping.first.word.clone(), messages::reasons(&done.keeping));
        }
        self.report(screen);
    }

    /// Hands all complete slices to the keeper.
    fn keep(&mut self, word: String, reason: String) {
        let (slices, bytes) = self.ring.with_slices(|paths, bytes| (open(paths), bytes));
        self.kept.keep(Job { word, reason, slices, bytes, remove: None });
    }

    /// Reports news of the ring and of kept runs.
    fn report(&mut self, screen: &Screen) {
        for news in self.ring.news() {
            screen.warning(&news);
        }
        self.kept.report(screen);
    }

    /// Ends the recording, saves what is pending, and removes the ring.
    fn end(
        mut self,
        args: &RecordArgs,
        directory: &FlightDirectory,
        interrupt: &Interrupt,
        screen: &Screen,
    ) -> Result<Exit, Failure> {
        screen.rest();
        let rotating = self.rotating.take().map(|pending| pending.keeping);
        let pending = rotating.or_else(|| self.watcher.rest());
        let requests = interrupt.requests();
        let finished = self.recorder.finish(Ending::Done, GRACE);
        let last = || ("last".to_owned(), "the end of the recording (--keep-last)".to_owned());
        let pending = pending.map(|keeping| (keeping.first.word.clone(), messages::reasons(&keeping)));
        if let Some((word, reason)) = pending.or_else(|| args.flight.keep_last.then(last)) {
            let (slices, bytes) = self.ring.with_slices(|paths, bytes| (open(paths), bytes));
            self.kept.keep(Job { word, reason, slices, bytes, remove: None });
        }
        // A second Ctrl-C leaves the ring to the next start.
        let mut kept = self.kept;
        while !kept.is_idle() && interrupt.requests() <= requests {
            std::thread::sleep(POLL / 20);
            kept.report(screen);
        }
        for news in self.ring.news() {
            screen.warning(&news);
        }
        if kept.is_idle() {
            directory.remove_ring()?;
        }
        kept.log.end(self.ring.figures(), self.watcher.too_soon(), args.recording.output.json, screen);
        finished.map(|_| Exit::Done)
    }
}

fn open(slices: &[PathBuf]) -> Vec<Run> {
    slices.iter().filter_map(|path: &PathBuf| Run::open(Path::new(path)).ok()).collect()
}
