//! What goes through the recorder's queue to the archive thread.

use model::event::RunEvent;
use model::metric::{Change, MetricDescriptor, SampleHeader};
use model::operation::{IntervalRecord, OperationRecord};

use crate::recording::batch::Batch;

/// Something to be written.
pub enum Row {
    /// A sample.
    Sample { header: SampleHeader, descriptors: Vec<MetricDescriptor>, changes: Vec<Change> },
    /// Operations of an interval, summed by class.
    Intervals(Vec<IntervalRecord>),
    /// Single operations.
    Operations(Vec<OperationRecord>),
    /// What the tracer saw.
    Traced(Batch),
    /// Something about the run as a whole.
    Event(RunEvent),
    /// What follows can be read by itself: the next slice of a ring begins.
    Border,
}
