//! Live snapshots, recorded into memory: watching a stalled disk must not depend on one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use archive::{ArchiveError, FlushState, Writer};
use explain::blame::Scope;
use explain::live::Bounds;
use explain::snapshot::{Snapshot, Window};
use model::event::Ending;
use model::preflight::Finding;
use model::run::{Limits, RunDescription};
use model::time::Moment;
use record::{TraceOptions, clock};
use rig::{KernelFiles, Register};
use top::Extent;

use super::args::TopArgs;
use super::snapshot_source::SnapshotSource;
use crate::recording::machine::{self, Intent};
use crate::recording::probes::Probes;
use crate::recording::recorder::{Recorder, Start};
use crate::recording::shared_live::SharedLive;
use crate::recording::sink::Sink;
use crate::recording::tap::Tap;
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// Time that the recorder has to end.
const GRACE: Duration = Duration::from_secs(1);
/// The default threshold of a stall: a second is long for someone who watches.
const SLOW_NS: u64 = 100_000_000;

/// A recording into memory.
pub struct Live {
    recorder: Option<Recorder>,
    kernel_files: Option<KernelFiles>,
    rows: Arc<SharedLive>,
    description: RunDescription,
    scope: Scope,
    rotated: Instant,
    rotations: u64,
    _register: Register,
}

impl Live {
    /// Starts recording.
    pub fn start(args: &TopArgs, screen: &Screen) -> Result<Live, Failure> {
        let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
        let kernel_files = KernelFiles::mount(&register);
        let slower_than_ns = args.slower_than.unwrap_or(SLOW_NS).max(1_000_000);
        let trace = TraceOptions::slower_than(slower_than_ns, false);
        let probes = Probes::open(None, Some(&trace));
        let is_tracing = probes.is_tracing();
        let Probes { samplers, tracing, findings } = probes;
        let intent = Intent {
            workload: "top".to_owned(),
            sample_interval_ns: args.interval,
            report_interval_ns: None,
            slower_than_ns,
            trace: Some(trace),
            seed: None,
            recipe: None,
            configuration: None,
            under_test: Vec::new(),
        };
        let description = machine::describe(intent, is_tracing, Limits::default(), findings);
        let scope = args.scope.of(&description)?;
        let rows = Arc::new(SharedLive::new(slower_than_ns, Bounds::default()));
        let tap: Option<Arc<dyn Tap>> = Some(rows.clone());
        let start = Start { samplers, renew: None, interval_ns: args.interval, tracing, watch: None, tap };
        let recorder = Recorder::start(start, Box::new(Discard))?;
        Ok(Live {
            recorder: Some(recorder),
            kernel_files: Some(kernel_files),
            rows,
            description,
            scope,
            rotated: Instant::now(),
            rotations: 0,
            _register: register,
        })
    }
}

impl SnapshotSource for Live {
    fn title(&self) -> String {
        format!("stallscope top: {}", self.description.host.hostname)
    }

    fn description(&self) -> &RunDescription {
        &self.description
    }

    fn refresh(&mut self) -> Result<Extent, Failure> {
        if let Some(recorder) = &self.recorder {
            // Rotate periodically: threads and stacks are emitted again, and old ones can be dropped.
            if self.rotated.elapsed() >= Duration::from_nanos(Bounds::default().time_ns) {
                self.rotated = Instant::now();
                recorder.rotate();
            }
            if recorder.rotations() > self.rotations {
                self.rotations = recorder.rotations();
                self.rows.rotated();
            }
        }
        let first_ns = self.rows.first_ns().unwrap_or(0).max(self.started().monotonic_ns);
        let last_ns = self.rows.last_ns().unwrap_or_else(clock::monotonic_ns).max(first_ns);
        Ok(Extent { first_ns, last_ns, live: true })
    }

    fn snapshot(&mut self, window: Window) -> Snapshot {
        self.rows.look(&self.description, &self.scope, window).snapshot
    }

    fn remark(&self) -> Option<String> {
        if self.description.trace.is_some() {
            return None;
        }
        let missing = |finding: &&Finding| finding.is_missing() && finding.capability == record::TRACE_CAPABILITY;
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

/// Discards all rows.
struct Discard;

impl Sink for Discard {
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

    fn close(self: Box<Self>, _now: Moment) -> Result<FlushState, ArchiveError> {
        Ok(FlushState::Whole)
    }
}
