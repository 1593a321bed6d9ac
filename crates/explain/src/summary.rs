//! Summary of a run: operations, rates, pressure, worst operations, and the cost of recording.

mod builder;
mod cgroups;
mod failures;
mod findings;
mod pressure;
mod remarks;
mod set;
mod timeline;

#[cfg(test)]
mod tests;

pub use builder::{RecordingFacts, SummaryBuilder, wanted_metric};
pub use cgroups::CgroupFigures;
pub use failures::FailureCount;
pub use findings::{
    MemoryCgroupFigures, OperationSummary, PhaseSummary, Pressure, Progress, Recording, Simulated, SlowCount, Summary,
    TimelineRow, TraceCosts,
};
pub use set::{OfNode, Outlier, SetSummary};
