//! What a load did.

use std::io::Write;

use export::fio::{FioJobs, LogKind};
use export::hlog::HistogramLog;
use report::number::grouped;

use super::Written;
use super::place::Place;
use super::samples;
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

/// fio's JSON alone.
pub fn fio_json(source: &mut Source<'_>, place: &Place) -> Result<Written, Failure> {
    let (jobs, written) = fio_jobs(source, place)?;
    jobs.json(place.file()?).map_err(|error| place.failed(error))?;
    Ok(written)
}

/// The same with fio's interval logs, called as fio-plot looks for them.
pub fn fio_plot(source: &mut Source<'_>, place: &Place) -> Result<Written, Failure> {
    let (jobs, written) = fio_jobs(source, place)?;
    let failed = |error| place.failed(error);
    let stem = jobs.file_stem();
    jobs.json(place.file_in(&format!("{stem}.json"))?).map_err(failed)?;
    for kind in LogKind::ALL {
        jobs.log(kind, place.file_in(&format!("{stem}{}", kind.suffix()))?).map_err(failed)?;
    }
    Ok(written)
}

fn fio_jobs(source: &mut Source<'_>, place: &Place) -> Result<(FioJobs, Written), Failure> {
    let run = source.run;
    let mut jobs = FioJobs::new(run.description(), run.events());
    let intervals = source.each(place, run.intervals(), Vec::len, |rows| {
        rows.iter().for_each(|row| jobs.interval(row));
        Ok(())
    })?;
    no_load(source, intervals)?;
    source.each(place, run.operations(), Vec::len, |rows| {
        rows.iter().for_each(|row| jobs.operation(row));
        Ok(())
    })?;
    let (metrics, samples) = samples::described(source, place)?;
    jobs.counters(&metrics, &samples);
    source.each(place, run.changes(), Vec::len, |rows| {
        jobs.changes(&rows);
        Ok(())
    })?;
    let operations = jobs.operations();
    let left_out: Vec<&str> = jobs.left_out().collect();
    if operations == 0 {
        return Err(Failure::usage(format_args!(
            "{}: holds no reads, writes or syncs, and fio's form has no place for others ({})",
            run.dir().display(),
            left_out.join(", ")
        )));
    }
    if !left_out.is_empty() {
        source.screen.remark(&format!("left out, for fio's form has no place for them: {}", left_out.join(", ")));
    }
    let what = format!("{} operations", grouped(operations));
    Ok((jobs, Written { what }))
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
