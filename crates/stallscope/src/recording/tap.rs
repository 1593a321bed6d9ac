//! Observing rows as they are recorded.

use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::stall::Traced;
use record::BlockedNow;

/// An observer of rows, called on the sampler and tracer threads: it must not block.
pub trait Tap: Send + Sync {
    /// A sample was taken.
    fn sample(&self, header: &SampleHeader, descriptors: &[MetricDescriptor], changes: &[MetricChange]);
    /// The tracer has rows; each stall is passed once.
    fn traced(&self, traced: &Traced);
    /// These tasks are blocked now.
    fn blocked(&self, now_ns: u64, tasks: &[BlockedNow]);
    /// From the next sample on, metrics have new ids.
    fn renumbered(&self);
}
