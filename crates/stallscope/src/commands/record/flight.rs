//! `record --ring`: a flight recorder. It keeps the last minutes, for as long as it runs, and makes a run of its own of
//! what was in the ring when something stalled, and of some time after.
//!
//! The ring is a row of slices ([`ring`]); the archive thread writes it, and this thread turns it over. A trigger comes
//! from where rows come from ([`watcher`]); what becomes of it is decided by [`limiter`]; [`keeper`] joins the slices
//! beside the recording, which never stops for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use archive::Run;
use condition::Condition;
use model::event::{Ending, RunEvent};
use model::run::{Limits, RunDescription};
use record::{SamplerSet, clock};
use rig::KernelFiles;
use signal_hook::consts::SIGUSR1;

use crate::commands::record::args::RecordArgs;
use crate::recording::flight::directory::{self, FlightDirectory};
use crate::recording::flight::hook::Hook;
use crate::recording::flight::keeper::{Job, Keeper};
use crate::recording::flight::kept_runs::KeptRuns;
use crate::recording::flight::limiter::Keeping;
use crate::recording::flight::messages::{self, Chatter};
use crate::recording::flight::ring::{Extent, Ring, RingView};
use crate::recording::flight::watcher::Watcher;
use crate::recording::machine::{self, Intent};
use crate::recording::recorder::{Recorder, Start};
use crate::recording::tap::Tap;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

const POLL: Duration = Duration::from_millis(250);
/// How long the recorder may take to end.
const GRACE: Duration = Duration::from_secs(2);
/// How long a slice may take to end before what was complete is kept without it.
const TURN_PATIENCE: Duration = Duration::from_secs(60);
/// When conditions that can never be met are told: after the first samples.
const LOOK_AT_CONDITIONS_AFTER: Duration = Duration::from_secs(3);
/// Longest time between samples: a shortest slice has two.
const LONGEST_INTERVAL_NS: u64 = 2_500_000_000;
/// Tasks that are blocked so long are told of where nobody asks to keep them.
const UNASKED_BLOCKED_NS: u64 = 5_000_000_000;
const DIRECTORY: &str = "stallscope-runs/flight";

/// Records until Ctrl-C, or for `--runtime`.
pub fn fly(args: &RecordArgs, ring_ns: u64) -> Result<Exit, Failure> {
    let (recording, flight) = (&args.recording, &args.flight);
    if recording.interval > LONGEST_INTERVAL_NS {
        return Err(Failure::usage("--ring takes a sample at least every 2.5s; give a smaller --interval"));
    }
    let stall = flight.on_stall.iter().find(|condition| matches!(condition, Condition::Stall { .. }));
    if let Some(stall) = stall.filter(|_| recording.no_trace) {
        return Err(Failure::usage(format_args!("--on-stall: {stall} needs tracing, which --no-trace turns off")));
    }
    let hook = flight.on_stall_exec.as_deref().map(Hook::find).transpose()?;
    let screen = Screen::new(recording.output.json, recording.output.quiet);
    let asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, Arc::clone(&asked))
        .map_err(|error| Failure::machine(format_args!("cannot handle signals: {error}")))?;
    let interrupt = Interrupt::install()?;
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    let directory = recording.out.clone().unwrap_or_else(|| PathBuf::from(DIRECTORY));
    let place = Arc::new(FlightDirectory::take(&directory)?);
    let left = place.left_rings()?;
    let mut keeper = Keeper::start(Arc::clone(&place), flight.keep_size)?;
    left.into_iter().for_each(|ring| keeper.keep(left_over(ring)));

    let extent = Extent { ring_ns, ring_bytes: flight.ring_size };
    let watcher = Arc::new(Watcher::new(flight.on_stall.clone(), flight.keep_after, flight.keep_every));
    let kernel_files = KernelFiles::mount(&register);
    let (recorder, ring) = record_into(&place, extent, args, &watcher, &screen)?;
    let kept = KeptRuns::new(keeper, hook, directory.clone());
    let mut flying = Flight { recorder, ring, watcher, kept, turning: None, chatter: Chatter::default(), asked };
    screen.remark(&messages::begin(&directory, flight, extent));
    flying.run(args, &interrupt, &screen);
    let ended = flying.end(args, &place, &interrupt, &screen);
    kernel_files.remove();
    ended
}

/// What a killed recorder left is kept: it may be why somebody looks.
fn left_over(ring: PathBuf) -> Job {
    let paths = directory::slices_in(&ring);
    let slices: Vec<Run> = paths.iter().filter_map(|path| Run::open(path).ok()).collect();
    let bytes = paths.iter().map(|path| directory::bytes_of(path)).sum();
    let reason = "an earlier recorder was cut off; this was in its ring".to_owned();
    Job { word: "cut-off".to_owned(), reason, slices, bytes, remove: Some(ring) }
}

/// Begins to record into a new ring.
fn record_into(
    place: &FlightDirectory,
    extent: Extent,
    args: &RecordArgs,
    watcher: &Arc<Watcher>,
    screen: &Screen,
) -> Result<(Recorder, RingView), Failure> {
    let (samplers, mut findings) = machine::samplers();
    // Nothing that is asked for may be too short to be seen.
    let slower_than_ns = watcher.shortest_stall_ns().unwrap_or(u64::MAX).min(args.recording.slower_than);
    let mut trace = machine::trace_options(&args.recording);
    if let Some(options) = &mut trace {
        *options = record::TraceOptions::slower_than(slower_than_ns, options.settings.all_requests);
        // Looking for those that are blocked costs most of an idle machine: no more often than somebody asks.
        let asked_ns = watcher.shortest_stall_ns().unwrap_or(UNASKED_BLOCKED_NS);
        options.blocked_ns = options.blocked_ns.max(asked_ns);
    }
    let (tracing, missing) = trace.as_ref().map(machine::tracing).unzip();
    findings.extend(missing.into_iter().flatten());
    let is_tracing = tracing.as_ref().is_some_and(record::Tracing::is_tracing);
    if tracing.is_some() && !is_tracing {
        screen.remark("the kernel is not traced; `stallscope doctor` says why and what to do");
    }
    let (sample_interval_ns, configuration) = (args.recording.interval, args.recording.configuration.clone());
    let describe = move || -> RunDescription {
        let intent = Intent {
            workload: "flight".to_owned(),
            sample_interval_ns,
            report_interval_ns: None,
            slower_than_ns,
            trace: trace.clone(),
            seed: None,
            recipe: None,
            configuration: configuration.clone(),
        };
        machine::describe(intent, is_tracing, Limits::default(), findings.clone())
    };
    let (ring, view) = Ring::begin(&place.fresh_ring()?, extent, clock::now(), describe).map_err(Failure::machine)?;
    let renew: Option<fn() -> SamplerSet> = Some(|| machine::samplers().0);
    let tap: Option<Arc<dyn Tap>> = Some(watcher.clone());
    let start = Start { samplers, renew, interval_ns: sample_interval_ns, tracing, watch: None, tap };
    Ok((Recorder::start(start, Box::new(ring))?, view))
}

/// The recorder, flying.
struct Flight {
    recorder: Recorder,
    ring: RingView,
    watcher: Arc<Watcher>,
    kept: KeptRuns,
    /// What is to be kept as soon as the current slice has ended.
    turning: Option<Turning>,
    chatter: Chatter,
    asked: Arc<AtomicBool>,
}

/// A slice is about to end, and then something is to be kept.
struct Turning {
    keeping: Keeping,
    /// Turns that had been made when it was decided on.
    turns: u64,
    since: Instant,
}

impl Flight {
    fn run(&mut self, args: &RecordArgs, interrupt: &Interrupt, screen: &Screen) {
        let began = Instant::now();
        let mut looked = false;
        let mut shown = None;
        while interrupt.requests() == 0 {
            let lasted = began.elapsed();
            if args.runtime.is_some_and(|runtime_ns| lasted >= Duration::from_nanos(runtime_ns)) {
                return;
            }
            if !looked && lasted >= LOOK_AT_CONDITIONS_AFTER {
                looked = true;
                for condition in self.watcher.unmatched() {
                    screen.warning(&format!("{condition}: no such counter is sampled here at present"));
                }
            }
            self.step(screen);
            if shown.replace(lasted.as_secs()) != Some(lasted.as_secs()) {
                screen.doing(self.kept.told.in_short(lasted));
            }
            std::thread::sleep(POLL);
        }
    }

    fn step(&mut self, screen: &Screen) {
        let now_ns = clock::monotonic_ns();
        if self.asked.swap(false, Ordering::Relaxed) {
            self.watcher.asked(now_ns, "asked for by SIGUSR1");
        }
        for (trigger, verdict) in self.watcher.verdicts() {
            if let Some(text) = self.chatter.say(&trigger, &verdict, now_ns) {
                self.recorder.event(RunEvent::Note { at_ns: trigger.at_ns, text: text.clone() });
                screen.remark(&text);
            }
        }
        if self.turning.is_none()
            && let Some(keeping) = self.watcher.due(now_ns)
        {
            self.turning = Some(Turning { keeping, turns: self.recorder.turns(), since: Instant::now() });
            self.recorder.turn();
        } else if self.ring.rotations() >= self.recorder.turns() && self.ring.wants_rotation(now_ns) {
            // No border is on its way to the archive already.
            self.recorder.turn();
        }
        let has_turned =
            |turning: &mut Turning| self.ring.rotations() > turning.turns || turning.since.elapsed() > TURN_PATIENCE;
        if let Some(turned) = self.turning.take_if(has_turned) {
            self.keep(turned.keeping);
        }
        self.tell(screen);
    }

    /// Hands all complete slices to the keeper.
    fn keep(&mut self, keeping: Keeping) {
        let (slices, bytes) = self.ring.with_slices(|paths, bytes| (open(paths), bytes));
        let reason = messages::reasons(&keeping);
        self.kept.keep(Job { word: keeping.first.word, reason, slices, bytes, remove: None });
    }

    /// Tells what there is to tell.
    fn tell(&mut self, screen: &Screen) {
        for news in self.ring.news() {
            screen.warning(&news);
        }
        self.kept.tell(screen);
    }

    /// Ends recording, keeps what is to be kept, and removes the ring.
    fn end(
        mut self,
        args: &RecordArgs,
        place: &FlightDirectory,
        interrupt: &Interrupt,
        screen: &Screen,
    ) -> Result<Exit, Failure> {
        screen.rest();
        let turning = self.turning.take().map(|turning| turning.keeping);
        let waiting = turning.or_else(|| self.watcher.rest());
        let requests = interrupt.requests();
        let finished = self.recorder.finish(Ending::Done, GRACE);
        let last = || ("last".to_owned(), "the end of the recording (--keep-last)".to_owned());
        let waiting = waiting.map(|keeping| (keeping.first.word.clone(), messages::reasons(&keeping)));
        if let Some((word, reason)) = waiting.or_else(|| args.flight.keep_last.then(last)) {
            let (slices, bytes) = self.ring.with_slices(|paths, bytes| (open(paths), bytes));
            self.kept.keep(Job { word, reason, slices, bytes, remove: None });
        }
        // A second Ctrl-C leaves the ring to the next start.
        let mut kept = self.kept;
        while !kept.is_idle() && interrupt.requests() <= requests {
            std::thread::sleep(POLL / 20);
            kept.tell(screen);
        }
        for news in self.ring.news() {
            screen.warning(&news);
        }
        if kept.is_idle() {
            place.remove_ring()?;
        }
        kept.told.end(self.ring.figures(), self.watcher.too_soon(), args.recording.output.json, screen);
        finished.map(|()| Exit::Done)
    }
}

fn open(slices: &[PathBuf]) -> Vec<Run> {
    slices.iter().filter_map(|path: &PathBuf| Run::open(Path::new(path)).ok()).collect()
}
