//! The samplers' metrics.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use export::openmetrics::{self, OpenMetrics};
use export::pcp::PcpArchive;
use model::metric::{MetricDescriptor, MetricId, SampleHeader};
use model::quantity::counted;

use super::destination::Destination;
use super::run_rows::RunRows;
use crate::ui::failure::Failure;

/// The metrics as OpenMetrics text.
pub fn openmetrics(source: &mut RunRows<'_>, destination: &Destination) -> Result<String, Failure> {
    let run = source.run;
    let failed = |error| destination.failed(error);
    let (metrics, samples) = described(source, destination)?;
    let mut counts = HashMap::<MetricId, u64>::new();
    source.each(destination, run.changes(), Vec::len, |rows| {
        rows.iter().for_each(|change| *counts.entry(change.metric).or_default() += 1);
        Ok(())
    })?;
    let mut text = OpenMetrics::new(destination.file()?, run.description(), &samples);
    let mut values = 0;
    for group in openmetrics::groups(metrics, &counts) {
        let wanted: HashSet<MetricId> = group.iter().flat_map(|family| family.metrics()).collect();
        let mut changes = Vec::new();
        source.each(destination, run.changes(), Vec::len, |rows| {
            changes.extend(rows.into_iter().filter(|change| wanted.contains(&change.metric)));
            Ok(())
        })?;
        values += text.group(&group, &changes).map_err(failed)?;
    }
    text.finish().and_then(|mut sink| sink.flush()).map_err(failed)?;
    Ok(format!("{} of {}", counted(values, "value"), counted(counts.len() as u64, "metric")))
}

/// The metrics as an archive called `run` in a directory.
pub fn pcp(source: &mut RunRows<'_>, destination: &Destination) -> Result<String, Failure> {
    let run = source.run;
    let failed = |error| destination.failed(error);
    let (metrics, samples) = described(source, destination)?;
    let files = [destination.file_in("run.0")?, destination.file_in("run.meta")?, destination.file_in("run.index")?];
    let archive = PcpArchive::new(files, run.description(), &metrics, &samples).map_err(failed)?;
    let Some(mut archive) = archive else {
        let why = "has no samples, and a PCP archive needs at least one";
        return Err(Failure::usage(format_args!("{}: {why}", run.dir().display())));
    };
    source.each(destination, run.changes(), Vec::len, |rows| archive.changes(rows))?;
    archive.finish().map_err(failed)?;
    let (metrics, samples) = (counted(metrics.len() as u64, "metric"), counted(samples.len() as u64, "sample"));
    Ok(format!("{metrics} at {samples}, as the archive 'run'"))
}

/// All metric descriptors and sample headers.
pub fn described(
    source: &mut RunRows<'_>,
    destination: &Destination,
) -> Result<(Vec<MetricDescriptor>, Vec<SampleHeader>), Failure> {
    let run = source.run;
    let (mut metrics, mut samples) = (Vec::new(), Vec::new());
    source.each(destination, run.descriptors(), Vec::len, |rows| {
        metrics.extend(rows);
        Ok(())
    })?;
    source.each(destination, run.samples(), Vec::len, |rows| {
        samples.extend(rows);
        Ok(())
    })?;
    Ok((metrics, samples))
}
