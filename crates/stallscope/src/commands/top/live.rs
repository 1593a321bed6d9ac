//! Moments of the machine as it is, recorded into memory: who watches a disk that stalls must not wait for one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use archive::{ArchiveError, FlushState, Writer};
use explain::glance::{Glance, Window};
use model::event::Ending;
use model::preflight::Finding;
use model::run::{Limits, RunDescription};
use model::time::Moment;
use record::{TraceOptions, Tracing, clock};
use rig::{KernelFiles, Register};
use top::Extent;

use super::args::TopArgs;
use super::moment_source::MomentSource;
use super::recent_history::{HISTORY_NS, RecentHistory};
use crate::recording::machine::{self, Intent};
use crate::recording::recorder::{Recorder, Start};
use crate::recording::sink::Sink;
use crate::recording::tap::Tap;
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// The recorder's own time to end.
const GRACE: Duration = Duration::from_secs(1);
/// What is slower than this is a stall, unless the person says otherwise: a second is long for somebody who watches.
const SLOW_NS: u64 = 100_000_000;

/// A recording into memory.
pub struct Live {
    recorder: Option<Recorder>,
    kernel_files: Option<KernelFiles>,
    history: Arc<RecentHistory>,
    description: RunDescription,
    turned: Instant,
    turns: u64,
    _register: Register,
}

impl Live {
    /// Begins to record.
    pub fn start(args: &TopArgs, screen: &Screen) -> Result<Live, Failure> {
        let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
        let kernel_files = KernelFiles::mount(&register);
        let (samplers, mut findings) = machine::samplers();
        let slower_than_ns = args.slower_than.unwrap_or(SLOW_NS).max(1_000_000);
        let trace = TraceOptions::slower_than(slower_than_ns, false);
        let (tracing, missing) = machine::tracing(&trace);
        findings.extend(missing);
        let intent = Intent {
            workload: "top".to_owned(),
            sample_interval_ns: args.interval,
            report_interval_ns: None,
            slower_than_ns,
            trace: Some(trace),
            seed: None,
            recipe: None,
            configuration: None,
        };
        let description = machine::describe(intent, tracing.is_tracing(), Limits::default(), findings);
        let history = Arc::new(RecentHistory::default());
        let recorder = record(samplers, args.interval, tracing, &history)?;
        Ok(Live {
            recorder: Some(recorder),
            kernel_files: Some(kernel_files),
            history,
            description,
            turned: Instant::now(),
            turns: 0,
            _register: register,
        })
    }
}

fn record(
    samplers: record::SamplerSet,
    interval_ns: u64,
    tracing: Tracing,
    history: &Arc<RecentHistory>,
) -> Result<Recorder, Failure> {
    let tap: Option<Arc<dyn Tap>> = Some(history.clone());
    let start = Start { samplers, renew: None, interval_ns, tracing: Some(tracing), watch: None, tap };
    Recorder::start(start, Box::new(Nowhere))
}

impl MomentSource for Live {
    fn title(&self) -> String {
        format!("stallscope top: {}", self.description.host.hostname)
    }

    fn started(&self) -> Moment {
        self.description.started
    }

    fn refresh(&mut self) -> Result<Extent, Failure> {
        if let Some(recorder) = &self.recorder {
            // From time to time threads and stacks are told anew, so that those of long ago can be forgotten.
            if self.turned.elapsed() >= Duration::from_nanos(HISTORY_NS) {
                self.turned = Instant::now();
                recorder.turn();
            }
            if recorder.turns() > self.turns {
                self.turns = recorder.turns();
                self.history.forget_old();
            }
        }
        let first_ns = self.history.first_ns().unwrap_or(0).max(self.started().monotonic_ns);
        let last_ns = self.history.last_ns().unwrap_or_else(clock::monotonic_ns).max(first_ns);
        Ok(Extent { first_ns, last_ns, live: true })
    }

    fn glance(&mut self, window: Window) -> Glance {
        self.history.glance(&self.description, window)
    }

    fn remark(&self) -> Option<String> {
        if self.description.trace.is_some() {
            return None;
        }
        let missing = |finding: &&Finding| !finding.available && finding.capability == record::TRACE_CAPABILITY;
        let finding = self.description.preflight.iter().find(missing);
        let why = finding.map(|finding| {
            [finding.why.as_deref(), finding.remedy.as_deref()].into_iter().flatten().collect::<Vec<_>>().join("; ")
        });
        Some(format!("not traced, so no causes: {}", why.as_deref().unwrap_or("see 'stallscope doctor'")))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            let _ = recorder.finish(Ending::Done, GRACE);
        }
        if let Some(kernel_files) = self.kernel_files.take() {
            kernel_files.remove();
        }
    }
}

/// Nothing is written.
struct Nowhere;

impl Sink for Nowhere {
    fn writer(&mut self) -> Option<&mut Writer> {
        None
    }

    fn flush(&mut self, _now: Moment) -> FlushState {
        FlushState::Whole
    }

    fn flush_every(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn rotate(&mut self, _now: Moment) {}

    fn bytes_written(&self) -> u64 {
        0
    }

    fn close(self: Box<Self>, _now: Moment) -> Result<(), ArchiveError> {
        Ok(())
    }
}
