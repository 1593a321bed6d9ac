//! What happened in a run: its operations, rates, pressure, worst moments, and what recording it cost.

mod builder;
mod failures;
mod findings;
mod pressure;
mod remarks;
mod timeline;

#[cfg(test)]
mod tests;

pub use builder::{RecordingFacts, SummaryBuilder, wanted_metric};
pub use failures::FailureCount;
pub use findings::{
    MemoryCgroupFigures, OperationSummary, Phase, Pressure, Progress, Recording, Simulated, SlowCount, Summary,
    TimelineRow, TraceCosts,
};
