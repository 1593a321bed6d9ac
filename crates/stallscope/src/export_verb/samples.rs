//! The samplers' metrics.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use export::openmetrics::{self, OpenMetrics};
use model::metric::MetricId;
use report::number::grouped;

use super::Written;
use super::place::Place;
use super::source::Source;
use crate::failure::Failure;

/// The metrics as OpenMetrics text.
pub fn openmetrics(source: &mut Source<'_>, place: &Place) -> Result<Written, Failure> {
    let run = source.run;
    let failed = |error| place.failed(error);
    let (mut metrics, mut samples, mut counts) = (Vec::new(), Vec::new(), HashMap::<MetricId, u64>::new());
    source.each(place, run.descriptors(), Vec::len, |rows| {
        metrics.extend(rows);
        Ok(())
    })?;
    source.each(place, run.samples(), Vec::len, |rows| {
        samples.extend(rows);
        Ok(())
    })?;
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
