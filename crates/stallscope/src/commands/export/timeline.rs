//! Everything on one time axis.

use std::io::Write;

use archive::Run;
use explain::blame::{Link, Stall};
use export::perfetto::{ChainStep, PerfettoTrace};
use model::quantity::counted;

use super::destination::Destination;
use super::run_rows::RunRows;
use crate::reading::explanation;
use crate::ui::failure::Failure;

/// Chains of slow operations in memory at a time.
const AT_ONCE: usize = 4096;

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
    chains(run, |chain| trace.chain(chain));
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
    let rows = [(operations, "operation"), (stalls, "stall"), (requests, "request"), (counters, "counter")];
    Ok(rows.map(|(count, noun)| counted(count, noun)).join(", "))
}

/// The chain of waits of each slow operation.
fn chains(run: &Run, mut take: impl FnMut(&[ChainStep])) {
    if !run.has_trace() {
        return;
    }
    // The damage is reported at the end.
    let (_, accounting) = explanation::explanation_with_accounting(run, None, 0, |_| {});
    for from in (0..accounting.len()).step_by(AT_ONCE) {
        let numbers: Vec<usize> = (from..(from + AT_ONCE).min(accounting.len())).collect();
        accounting.stalls(&numbers).iter().for_each(|(_, stall)| take(&chain(stall)));
    }
}

/// The links that have rows. Where the first wait is another task's, the chain begins with the operation's own row.
fn chain(stall: &Stall) -> Vec<ChainStep> {
    let own = stall.chain.first().filter(|link| link.span_ns.is_none());
    let span_ns = (stall.start_ns, stall.start_ns + stall.duration_ns);
    let own =
        own.map(|link| ChainStep { tid: stall.task.tid, span_ns, request: None, why: link.cause.words().to_owned() });
    own.into_iter().chain(stall.chain.iter().filter_map(step)).collect()
}

/// A link that has a row.
fn step(link: &Link) -> Option<ChainStep> {
    let detail = link.detail.as_ref().map_or_else(String::new, |detail| format!(": {detail}"));
    Some(ChainStep {
        tid: link.task.as_ref().map_or(0, |task| task.tid),
        span_ns: link.span_ns?,
        request: link.request,
        why: format!("{}{detail}", link.cause.words()),
    })
}
