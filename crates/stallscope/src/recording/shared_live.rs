//! A recording explained while it goes on, fed by the recorder's threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use explain::blame::Scope;
use explain::live::{Bounds, Live, Look};
use explain::snapshot::Window;
use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::operation::OperationRecord;
use model::run::RunDescription;
use model::stall::{StallRecord, Traced};
use record::{Attention, BlockedNow};

use crate::recording::tap::Tap;

/// The explanation of a recording, as its rows come.
pub struct SharedLive(Mutex<Live>);

impl SharedLive {
    /// Of a recording of operations slower than this.
    pub fn new(slow_ns: u64, bounds: Bounds) -> SharedLive {
        SharedLive(Mutex::new(Live::new(slow_ns, bounds)))
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Start of what is kept.
    pub fn first_ns(&self) -> Option<u64> {
        self.lock().first_ns()
    }

    /// Time of the last sample.
    pub fn last_ns(&self) -> Option<u64> {
        self.lock().last_ns()
    }

    /// Called after a rotation.
    pub fn rotated(&self) {
        self.lock().rotated();
    }

    /// Adds operations of a load.
    pub fn operations(&self, records: &[OperationRecord]) {
        self.lock().operations(records);
    }

    /// Whether an operation was slow that ended after a moment.
    pub fn has_slow_since(&self, at_ns: u64) -> bool {
        self.lock().has_slow_since(at_ns)
    }

    /// A look. It blocks the recorder while the window's rows are read, not while they are explained.
    pub fn look(&self, run: &RunDescription, scope: &Scope, window: Window) -> Look {
        let seen = self.lock().see(run, scope, window);
        let explained = seen.explain();
        let news = self.lock().news(&explained);
        explained.look(news)
    }
}

impl Tap for SharedLive {
    fn sample(&self, header: &SampleHeader, descriptors: &[MetricDescriptor], changes: &[MetricChange]) {
        self.lock().sample(header, descriptors, changes);
    }

    fn traced(&self, traced: &Traced) {
        self.lock().traced(traced);
    }

    fn wants_lasting_waits(&self) -> Option<Attention> {
        Some(Attention::Watched)
    }

    fn lasting_waits(&self, rows: Vec<StallRecord>) {
        self.lock().lasting_waits(rows);
    }

    /// Blocked tasks also come as rows.
    fn blocked(&self, _now_ns: u64, _tasks: &[BlockedNow]) {}

    /// Metrics keep their ids: the samplers are never reopened.
    fn renumbered(&self) {}
}
