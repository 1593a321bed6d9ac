//! Operations of the load.

use std::io::Write;

use export::fio::{FioJobs, LogKind};
use export::hlog::HistogramLog;
use model::quantity::counted;

use super::destination::Destination;
use super::run_rows::RunRows;
use super::samples;
use crate::ui::failure::Failure;

/// The latencies of each class, as one histogram per interval.
pub fn histogram_log(source: &mut RunRows<'_>, destination: &Destination) -> Result<String, Failure> {
    let run = source.run;
    let failed = |error| destination.failed(error);
    let mut log = HistogramLog::new(destination.file()?, run.description()).map_err(failed)?;
    let intervals = source
        .each(destination, run.intervals(), Vec::len, |rows| rows.iter().try_for_each(|row| log.interval(row)))?;
    log.finish().and_then(|mut sink| sink.flush()).map_err(failed)?;
    no_load(source, intervals)?;
    Ok(counted(intervals, "histogram"))
}

/// fio JSON only.
pub fn fio_json(source: &mut RunRows<'_>, destination: &Destination) -> Result<String, Failure> {
    let (jobs, written) = fio_jobs(source, destination)?;
    jobs.json(destination.file()?).map_err(|error| destination.failed(error))?;
    Ok(written)
}

/// fio JSON and interval logs, named as fio-plot expects.
pub fn fio_plot(source: &mut RunRows<'_>, destination: &Destination) -> Result<String, Failure> {
    let (jobs, written) = fio_jobs(source, destination)?;
    let failed = |error| destination.failed(error);
    let stem = jobs.file_stem();
    jobs.json(destination.file_in(&format!("{stem}.json"))?).map_err(failed)?;
    for kind in LogKind::ALL {
        jobs.log(kind, destination.file_in(&format!("{stem}{}", kind.suffix()))?).map_err(failed)?;
    }
    Ok(written)
}

fn fio_jobs(source: &mut RunRows<'_>, destination: &Destination) -> Result<(FioJobs, String), Failure> {
    let run = source.run;
    let mut jobs = FioJobs::new(run.description(), run.events());
    let intervals = source.each(destination, run.intervals(), Vec::len, |rows| {
        rows.iter().for_each(|row| jobs.interval(row));
        Ok(())
    })?;
    no_load(source, intervals)?;
    source.each(destination, run.operations(), Vec::len, |rows| {
        rows.iter().for_each(|row| jobs.operation(row));
        Ok(())
    })?;
    let (metrics, samples) = samples::described(source, destination)?;
    jobs.counters(&metrics, &samples);
    source.each(destination, run.changes(), Vec::len, |rows| {
        jobs.changes(&rows);
        Ok(())
    })?;
    let operations = jobs.operations();
    let left_out: Vec<&str> = jobs.left_out().collect();
    if operations == 0 {
        return Err(Failure::usage(format_args!(
            "{}: has no reads, writes or syncs, and fio's format has no other operations ({})",
            run.dir().display(),
            left_out.join(", ")
        )));
    }
    if !left_out.is_empty() {
        source.screen.remark(&format!("left out, because fio's format does not have them: {}", left_out.join(", ")));
    }
    let what = counted(operations, "operation");
    Ok((jobs, what))
}

/// Refuses a run without a load.
fn no_load(source: &RunRows<'_>, intervals: u64) -> Result<(), Failure> {
    if intervals > 0 {
        return Ok(());
    }
    Err(Failure::usage(format_args!(
        "{}: has no load, so no latencies to export; 'stallscope run' records one",
        source.run.dir().display()
    )))
}
