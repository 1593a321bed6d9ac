//! A run directory → its summary.

use std::path::Path;

use archive::{ArchiveError, Run};
use explain::series::SeriesSet;
use explain::summary::{RecordingFacts, Summary, SummaryBuilder, wanted_metric};
use model::metric::MetricDescriptor;
use model::operation::IntervalRecord;

use crate::reading::archived_run;
use crate::ui::failure::Failure;

/// Summarizes the run of a directory.
pub fn summary(directory: &Path, warn: impl Fn(&str)) -> Result<Summary, Failure> {
    Ok(of_run(&archived_run::open(directory)?, warn))
}

/// Summarizes a run.
pub fn of_run(run: &Run, warn: impl Fn(&str)) -> Summary {
    summary_and_series(run, |_| false, |_| {}, warn).0
}

/// Summarizes a run, passes each interval to `each_interval`, and returns the series of the wanted metrics. A damaged
/// batch is reported and skipped: the rest of the run is still worth reading.
pub fn summary_and_series(
    run: &Run,
    also_wanted: impl Fn(&MetricDescriptor) -> bool,
    mut each_interval: impl FnMut(&IntervalRecord),
    warn: impl Fn(&str),
) -> (Summary, SeriesSet) {
    let skip = |error: ArchiveError| warn(&error.to_string());
    let mut builder = SummaryBuilder::new(run.description().clone());
    for event in run.events() {
        builder.event(event);
    }
    for batch in run.intervals().filter_map(|batch| batch.map_err(skip).ok()) {
        for record in &batch {
            builder.interval(record);
            each_interval(record);
        }
    }
    for batch in run.operations().filter_map(|batch| batch.map_err(skip).ok()) {
        batch.iter().for_each(|operation| builder.operation(operation));
    }
    let mut series = SeriesSet::default();
    let mut metrics = 0;
    for batch in run.descriptors().filter_map(|batch| batch.map_err(skip).ok()) {
        metrics += batch.len() as u64;
        series.describe(&batch, |metric| wanted_metric(metric) || also_wanted(metric));
    }
    for batch in run.samples().filter_map(|batch| batch.map_err(skip).ok()) {
        batch.into_iter().for_each(|header| series.sample(header));
    }
    for batch in run.changes().filter_map(|batch| batch.map_err(skip).ok()) {
        series.feed(&batch);
    }
    let facts = RecordingFacts {
        metrics,
        archive_bytes: size_of(run.dir(), |_| true),
        sample_bytes: size_of(run.dir(), |name| ["metrics-", "samples-"].iter().any(|table| name.starts_with(table))),
    };
    (builder.summarise(&series, facts), series)
}

/// Total size of the run's files with a wanted name; `None` if the directory cannot be read.
fn size_of(directory: &Path, wanted: impl Fn(&str) -> bool) -> Option<u64> {
    let entries = std::fs::read_dir(directory).ok()?.filter_map(Result::ok);
    let size = |entry: std::fs::DirEntry| {
        let is_counted = entry.file_name().to_str().is_some_and(|name| name != "reserve" && wanted(name));
        is_counted.then(|| entry.metadata().ok())?.map(|metadata| metadata.len())
    };
    Some(entries.filter_map(size).sum())
}
