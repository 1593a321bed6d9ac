//! Recording and showing a load's events while it runs.

use std::time::{Duration, Instant};

use explain::summary::{RecordingFacts, SummaryBuilder};
use load::conductor::{Conductor, LoadEvent};
use load::plan::Plan;
use load::recipe::PhaseKind;
use model::event::{Ending, RunEvent};
use model::loss_kind::OPERATIONS;
use model::metric::MetricDescriptor;
use model::quantity::{Bytes, Nanoseconds};
use model::run::RunDescription;
use record::clock;

use super::stuck::{self, StuckRemarks};
use crate::recording::recorder::Recorder;
use crate::recording::session::Session;
use crate::ui::screen::Screen;

const SHOW_EVERY: Duration = Duration::from_millis(250);

/// The metrics that the interval lines need.
pub fn watched(descriptor: &MetricDescriptor) -> bool {
    ["vmstat.allocstall", "tracepoint.vmscan.mm_vmscan_memcg_reclaim_begin"]
        .iter()
        .any(|prefix| descriptor.name.starts_with(prefix))
}

/// Collects a running load's events.
pub struct Live {
    figures: SummaryBuilder,
    phase: Option<Current>,
    fill: Option<(u64, u64)>,
    prints_lines: bool,
    durations: Vec<(String, Option<u64>)>,
    shown: Instant,
    stuck_remarks: StuckRemarks,
}

struct Current {
    name: String,
    kind: PhaseKind,
    began: Instant,
    duration_ns: Option<u64>,
}

impl Live {
    /// For a run that is about to start.
    pub fn new(description: RunDescription, plan: &Plan) -> Live {
        Live {
            prints_lines: plan.recipe == "simoop",
            durations: plan.phases.iter().map(|phase| (phase.name.clone(), phase.duration_ns)).collect(),
            figures: SummaryBuilder::new(description),
            phase: None,
            fill: None,
            shown: Instant::now(),
            stuck_remarks: StuckRemarks::default(),
        }
    }

    /// The ending of a load that failed: before its actors ran, it failed to start; later, it died.
    pub fn death(&self) -> Ending {
        match &self.phase {
            Some(phase) if phase.kind != PhaseKind::Fill => Ending::LoadDied,
            _ => Ending::LoadFailed,
        }
    }

    /// Records an event and shows what the user should see.
    pub fn take(&mut self, event: LoadEvent, session: &Session, screen: &Screen) {
        let recorder = &session.recorder;
        match event {
            LoadEvent::PhaseStarted { phase, kind, measured, at_ns } => {
                self.begin(phase.clone(), kind, screen);
                self.note(RunEvent::PhaseStarted { phase, measured, at_ns }, recorder);
            }
            LoadEvent::PhaseEnded { phase, at_ns, bytes } => {
                self.note(RunEvent::PhaseEnded { phase, at_ns, bytes }, recorder);
            }
            LoadEvent::JobThreads { phase, at_ns, members } => {
                self.note(RunEvent::JobThreads { phase, at_ns, members }, recorder)
            }
            LoadEvent::Progress { done_bytes, total_bytes } => self.fill = Some((done_bytes, total_bytes)),
            LoadEvent::Reused { directories } => {
                screen.remark(&format!("reusing the kept data set in {directories} of the directories"));
            }
            LoadEvent::Interval(records) => {
                let measured = self.phase.as_ref().is_some_and(|phase| phase.kind == PhaseKind::Run);
                records.iter().for_each(|record| self.figures.interval(record));
                recorder.intervals(records);
                if measured && self.prints_lines {
                    self.print_report(recorder, screen);
                }
            }
            LoadEvent::Operations(records) => {
                records.iter().for_each(|record| self.figures.operation(record));
                session.note_operations(&records);
                recorder.operations(records);
            }
            LoadEvent::Lost { count } => {
                let what = OPERATIONS.name.to_owned();
                self.note(RunEvent::Loss { what, count, at_ns: clock::monotonic_ns() }, recorder);
            }
            LoadEvent::Finished => {}
            LoadEvent::Died { message, .. } => {
                self.note(RunEvent::Note { at_ns: clock::monotonic_ns(), text: message }, recorder);
            }
        }
    }

    fn note(&mut self, event: RunEvent, recorder: &Recorder) {
        self.figures.event(&event);
        recorder.event(event);
    }

    fn begin(&mut self, name: String, kind: PhaseKind, screen: &Screen) {
        if kind == PhaseKind::Run && self.prints_lines {
            screen.result(&format!("{}\n", report::simoop::WARMUP_COMPLETE));
        }
        let duration_ns = self.durations.iter().find(|(phase, _)| *phase == name).and_then(|(_, duration)| *duration);
        self.phase = Some(Current { name, kind, began: Instant::now(), duration_ns });
    }

    /// Prints the lines of an interval, over the measured time so far.
    fn print_report(&self, recorder: &Recorder, screen: &Screen) {
        let summary = recorder.with_watched(|series| self.figures.summarise(series, RecordingFacts::default()));
        screen.result(&format!("{}\n", report::simoop::report(&summary)));
    }

    /// Shows the progress line, a few times a second.
    pub fn show_progress(&mut self, conductor: &Conductor, session: &mut Session, screen: &Screen) {
        if self.shown.elapsed() < SHOW_EVERY {
            return;
        }
        self.shown = Instant::now();
        let Some(phase) = &self.phase else { return screen.doing("starting the load".to_owned()) };
        let lasted = Nanoseconds(phase.began.elapsed().as_nanos() as u64 / 100_000_000 * 100_000_000);
        let stuck = conductor.stuck(load::clock::now_ns());
        self.stuck_remarks.remark(&stuck, screen);
        let blocked = session.report_blocked(screen);
        let text = match (phase.kind, self.fill) {
            (PhaseKind::Fill, Some((done, total))) if total > 0 => {
                format!("{}: {} of {} after {lasted}", phase.name, Bytes(done), Bytes(total))
            }
            (PhaseKind::Fill, _) => format!("{} for {lasted}", phase.name),
            _ => {
                let of = phase.duration_ns.map_or_else(String::new, |ns| format!(" of {}", Nanoseconds(ns)));
                let stuck = stuck::summary(&stuck);
                format!("{}: {lasted}{of}{stuck}{}{blocked}", phase.name, self.pressure_now(&session.recorder))
            }
        };
        screen.doing(text + session.report_slowest(screen));
    }

    /// Reclaims per second over the last few samples.
    fn pressure_now(&self, recorder: &Recorder) -> String {
        let now = recorder.with_watched(|series| {
            let last = series.headers().last()?.sample;
            let from = last.saturating_sub(3);
            series.rate_per_s(series.prefixed("tracepoint."), from, last)
        });
        now.map_or_else(String::new, |per_s| {
            format!(", {} direct reclaims/s in memory cgroups", report::number::rate(per_s))
        })
    }
}
