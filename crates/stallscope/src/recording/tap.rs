//! Observing rows as they are recorded.

use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::stall::{StallRecord, Traced};
use record::{Attention, BlockedNow};

/// An observer of rows, called on the sampler and tracer threads: it must not block.
pub trait Tap: Send + Sync {
    /// A sample was taken.
    fn sample(&self, header: &SampleHeader, descriptors: &[MetricDescriptor], changes: &[MetricChange]);
    /// The tracer has rows; each stall is passed once.
    fn traced(&self, traced: &Traced);
    /// Whether, and how closely, it wants to know what threads wait for that have not been woken.
    fn wants_lasting_waits(&self) -> Option<Attention> {
        None
    }
    /// What threads wait for that have not been woken, all of it, as far as that is known: rows of the kind
    /// `LastingWait`. What was passed before is over. The tasks and stacks that the rows name come with
    /// [`Tap::traced`].
    fn lasting_waits(&self, _rows: Vec<StallRecord>) {}
    /// These tasks are blocked now.
    fn blocked(&self, now_ns: u64, tasks: &[BlockedNow]);
    /// From the next sample on, metrics have new ids.
    fn renumbered(&self);
}
