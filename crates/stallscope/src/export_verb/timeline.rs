//! Everything on one time axis.

use std::io::Write;

use export::perfetto::PerfettoTrace;
use report::number::grouped;

use super::Written;
use super::place::Place;
use super::source::Source;
use crate::failure::Failure;

/// The run as a Perfetto trace.
pub fn perfetto(source: &mut Source<'_>, place: &Place) -> Result<Written, Failure> {
    let run = source.run;
    let failed = |error| place.failed(error);
    let mut trace = PerfettoTrace::new(place.file()?, run.description()).map_err(failed)?;
    // What others refer to comes first.
    source.each(place, run.samples(), Vec::len, |rows| {
        trace.samples(&rows);
        Ok(())
    })?;
    trace.events(run.events()).map_err(failed)?;
    source.each(place, run.tasks(), Vec::len, |rows| trace.tasks(&rows))?;
    source.each(place, run.stacks(), Vec::len, |rows| {
        trace.stacks(rows);
        Ok(())
    })?;
    let operations = source.each(place, run.operations(), Vec::len, |rows| trace.operations(rows))?;
    let stalls = source.each(place, run.stalls(), Vec::len, |rows| trace.stalls(rows))?;
    let requests = source.each(place, run.requests(), Vec::len, |rows| trace.requests(rows))?;
    source.each(place, run.intervals(), Vec::len, |rows| trace.intervals(&rows))?;
    let counters = source.each(place, run.descriptors(), Vec::len, |rows| trace.descriptors(&rows))?;
    source.each(place, run.changes(), Vec::len, |rows| trace.changes(&rows))?;
    trace.finish().and_then(|mut sink| sink.flush()).map_err(failed)?;
    let [operations, stalls, requests, counters] = [operations, stalls, requests, counters].map(grouped);
    Ok(Written { what: format!("{operations} operations, {stalls} stalls, {requests} requests, {counters} counters") })
}
