//! Guards at the source of the rows: they must not wait for the archive's disk.

use std::sync::{Mutex, MutexGuard, PoisonError};

use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::stall::Traced;
use record::BlockedNow;
use trial::{Guard, GuardWatch};

use crate::recording::tap::Tap;

/// The guards of a trial.
pub(super) struct Guards(Mutex<GuardWatch>);

impl Guards {
    /// `of_command`: multiples are of the command's operations alone.
    pub(super) fn new(guards: &[Guard], of_command: bool) -> Guards {
        Guards(Mutex::new(GuardWatch::new(guards, of_command)))
    }

    /// The setting was switched.
    pub(super) fn switched(&self, changed: bool) {
        self.lock().switched(changed);
    }

    /// Why the trial must end.
    pub(super) fn tripped(&self) -> Option<String> {
        self.lock().tripped().map(str::to_owned)
    }

    fn lock(&self) -> MutexGuard<'_, GuardWatch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tap for Guards {
    fn sample(&self, header: &SampleHeader, descriptors: &[MetricDescriptor], changes: &[MetricChange]) {
        self.lock().sample(header, descriptors, changes);
    }

    fn traced(&self, traced: &Traced) {
        self.lock().stalls(&traced.stalls);
    }

    fn blocked(&self, now_ns: u64, tasks: &[BlockedNow]) {
        let waits: Vec<(u32, u64)> = tasks.iter().map(|task| (task.tid, task.since_ns)).collect();
        self.lock().blocked(now_ns, &waits);
    }

    // A trial is one run, which is never renumbered.
    fn renumbered(&self) {}
}
