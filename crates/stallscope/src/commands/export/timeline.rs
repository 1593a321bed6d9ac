//! Everything on one time axis.

use std::io::Write;

use export::perfetto::PerfettoTrace;
use report::number::grouped;

use super::destination::Destination;
use super::run_rows::RunRows;
use crate::ui::failure::Failure;

/// The run as a Perfetto trace.
pub fn perfetto(source: &mut RunRows<'_>, destination: &Destination) -> Result<String, Failure> {
    let run = source.run;
    let failed = |error| destination.failed(error);
    let mut trace = PerfettoTrace::new(destination.file()?, run.description()).map_err(failed)?;
    // Rows that others refer to come first.
    source.each(destination, run.samples(), Vec::len, |rows| {
        trace.samples(&rows);
        Ok(())
    })?;
    trace.events(run.events()).map_err(failed)?;
    source.each(destination, run.tasks(), Vec::len, |rows| trace.tasks(&rows))?;
    source.each(destination, run.stacks(), Vec::len, |rows| {
        trace.stacks(rows);
        Ok(())
    })?;
    let operations = source.each(destination, run.operations(), Vec::len, |rows| trace.operations(rows))?;
    let stalls = source.each(destination, run.stalls(), Vec::len, |rows| trace.stalls(rows))?;
    let requests = source.each(destination, run.requests(), Vec::len, |rows| trace.requests(rows))?;
    source.each(destination, run.intervals(), Vec::len, |rows| trace.intervals(&rows))?;
    let counters = source.each(destination, run.descriptors(), Vec::len, |rows| trace.descriptors(&rows))?;
    source.each(destination, run.changes(), Vec::len, |rows| trace.changes(&rows))?;
    trace.finish().and_then(|mut sink| sink.flush()).map_err(failed)?;
    let [operations, stalls, requests, counters] = [operations, stalls, requests, counters].map(grouped);
    Ok(format!("{operations} operations, {stalls} stalls, {requests} requests, {counters} counters"))
}
