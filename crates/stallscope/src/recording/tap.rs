//! Who looks at what is recorded as it comes.

use model::metric::{Change, MetricDescriptor, SampleHeader};
use model::stall::Traced;
use record::BlockedNow;

/// Somebody who looks at what is seen, on the threads that see it: nothing there may wait.
pub trait Tap: Send + Sync {
    /// A sample was taken.
    fn sample(&self, header: &SampleHeader, descriptors: &[MetricDescriptor], changes: &[Change]);
    /// The tracer saw something; each stall is shown once.
    fn traced(&self, traced: &Traced);
    /// These tasks are blocked now.
    fn blocked(&self, now_ns: u64, tasks: &[BlockedNow]);
    /// From the next sample on, metrics have other numbers.
    fn renumbered(&self);
}
