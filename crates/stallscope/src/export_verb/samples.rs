//! The samplers' metrics.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use export::openmetrics::{self, OpenMetrics};
use export::pcp::PcpArchive;
use model::metric::{MetricDescriptor, MetricId, SampleHeader};
use report::number::grouped;

use super::Written;
use super::place::Place;
use super::source::Source;
use crate::failure::Failure;

/// The metrics as OpenMetrics text.
pub fn openmetrics(source: &mut Source<'_>, place: &Place) -> Result<Written, Failure> {
    let run = source.run;
    let failed = |error| place.failed(error);
    let (metrics, samples) = described(source, place)?;
    let mut counts = HashMap::<MetricId, u64>::new();
    source.each(place, run.changes(), Vec::len, |rows| {
        rows.iter().for_each(|change| *counts.entry(change.metric).or_default() += 1);
        Ok(())
    })?;
    let mut text = OpenMetrics::new(place.file()?, run.description(), &samples);
    let mut values = 0;
    for group in openmetrics::groups(metrics, &counts) {
        let wanted: HashSet<MetricId> = group.iter().flat_map(|family| family.metrics()).collect();
        let mut changes = Vec::new();
        source.each(place, run.changes(), Vec::len, |rows| {
            changes.extend(rows.into_iter().filter(|change| wanted.contains(&change.metric)));
            Ok(())
        })?;
        values += text.group(&group, &changes).map_err(failed)?;
    }
    text.finish().and_then(|mut sink| sink.flush()).map_err(failed)?;
    Ok(Written { what: format!("{} values of {} metrics", grouped(values), grouped(counts.len() as u64)) })
}

/// The metrics as an archive called `run` in a directory.
pub fn pcp(source: &mut Source<'_>, place: &Place) -> Result<Written, Failure> {
    let run = source.run;
    let failed = |error| place.failed(error);
    let (metrics, samples) = described(source, place)?;
    let files = [place.file_in("run.0")?, place.file_in("run.meta")?, place.file_in("run.index")?];
    let archive = PcpArchive::new(files, run.description(), &metrics, &samples).map_err(failed)?;
    let Some(mut archive) = archive else {
        let why = "holds no sample, and an archive needs one";
        return Err(Failure::usage(format_args!("{}: {why}", run.dir().display())));
    };
    source.each(place, run.changes(), Vec::len, |rows| archive.changes(rows))?;
    archive.finish().map_err(failed)?;
    let [metrics, samples] = [metrics.len(), samples.len()].map(|number| grouped(number as u64));
    Ok(Written { what: format!("{metrics} metrics at {samples} samples, as the archive 'run'") })
}

/// All descriptions of metrics and all moments of samples.
pub fn described(
    source: &mut Source<'_>,
    place: &Place,
) -> Result<(Vec<MetricDescriptor>, Vec<SampleHeader>), Failure> {
    let run = source.run;
    let (mut metrics, mut samples) = (Vec::new(), Vec::new());
    source.each(place, run.descriptors(), Vec::len, |rows| {
        metrics.extend(rows);
        Ok(())
    })?;
    source.each(place, run.samples(), Vec::len, |rows| {
        samples.extend(rows);
        Ok(())
    })?;
    Ok((metrics, samples))
}
