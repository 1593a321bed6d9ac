//! What goes through the recorder's queue to the archive thread.

use model::event::RunEvent;
use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::operation::{IntervalRecord, OperationRecord};

use crate::recording::batch::Batch;

/// Something to write.
pub enum Row {
    /// A sample.
    Sample { header: SampleHeader, descriptors: Vec<MetricDescriptor>, changes: Vec<MetricChange> },
    /// Operations of an interval, aggregated by class.
    Intervals(Vec<IntervalRecord>),
    /// Individual operations.
    Operations(Vec<OperationRecord>),
    /// Rows of the tracer.
    Traced(Batch),
    /// An event of the run.
    Event(RunEvent),
    /// The rows that follow can be read without the earlier ones: the next slice of a ring begins.
    Border,
}
