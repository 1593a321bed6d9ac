//! What a load did.

use std::io::Write;

use export::hlog::HistogramLog;
use report::number::grouped;

use super::Written;
use super::place::Place;
use super::source::Source;
use crate::failure::Failure;

/// The latencies of each class as histograms by interval.
pub fn histogram_log(source: &mut Source<'_>, place: &Place) -> Result<Written, Failure> {
    let run = source.run;
    let failed = |error| place.failed(error);
    let mut log = HistogramLog::new(place.file()?, run.description()).map_err(failed)?;
    let intervals =
        source.each(place, run.intervals(), Vec::len, |rows| rows.iter().try_for_each(|row| log.interval(row)))?;
    log.finish().and_then(|mut sink| sink.flush()).map_err(failed)?;
    no_load(source, intervals)?;
    Ok(Written { what: format!("{} histograms", grouped(intervals)) })
}

/// Refuses a run that has nothing to say in such a format.
fn no_load(source: &Source<'_>, intervals: u64) -> Result<(), Failure> {
    if intervals > 0 {
        return Ok(());
    }
    Err(Failure::usage(format_args!(
        "{}: holds no load of ours ('stallscope run' has one), so that there are no latencies to export",
        source.run.dir().display()
    )))
}
