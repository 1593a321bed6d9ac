//! Slow operations: their list, and their time by cause over time.

use std::cmp::Reverse;

use explain::blame::{Accounting, Cause};
use serde_json::Value;

use crate::chart::{ChartUnit, absent, stack};
use crate::limits::Limits;
use crate::stall_list::StallListing;
use crate::steps::{ChartAxis, Join};

/// Causes with an area each; the others share one.
const CAUSES: usize = 8;
/// Maximum steps of the chart of causes.
const STEPS: u64 = 2_000;
const NO_TRACE: &str = "The run has no trace, so the causes of waits are unknown; record as root, without --no-trace.";

/// What the page shows of a run's slow operations.
pub(crate) struct StallCharts {
    pub(crate) list: Value,
    pub(crate) axis: Value,
    pub(crate) chart: Value,
}

/// The list and the chart without a trace.
pub(crate) fn untraced() -> StallCharts {
    let chart = absent("causes", "Stall time by cause", NO_TRACE);
    StallCharts { list: Value::Null, axis: ChartAxis::default().to_value(), chart }
}

/// Everything about the slow operations of a run that began at `started_ns` and lasted `span_ns`.
pub(crate) fn stalls(
    accounting: &Accounting,
    started_ns: u64,
    span_ns: u64,
    interval_ns: u64,
    limits: Limits,
) -> StallCharts {
    let step_ns = interval_ns.max(span_ns.div_ceil(STEPS)).max(1_000_000);
    let mut steps = vec![[0u64; Cause::ALL.len()]; span_ns.div_ceil(step_ns) as usize];
    let mut listing = StallListing::new(started_ns, accounting.len());
    accounting.for_each(|stall| {
        let mut by_cause = [0u64; Cause::ALL.len()];
        for piece in stall.pieces {
            by_cause[piece.cause as usize] += piece.end_ns - piece.start_ns;
            let (from_ns, to_ns) = (piece.start_ns.saturating_sub(started_ns), piece.end_ns.saturating_sub(started_ns));
            spread(&mut steps, step_ns, piece.cause, from_ns, to_ns);
        }
        listing.add(&stall, &by_cause);
    });
    let axis = ChartAxis { at_ns: (1..=steps.len() as u64).map(|step| step * step_ns).collect() };
    let list = listing.into_value(accounting, limits);
    StallCharts { list, chart: chart(&axis, &steps, step_ns), axis: axis.to_value() }
}

/// Adds an interval to the steps that it overlaps.
fn spread(steps: &mut [[u64; Cause::ALL.len()]], step_ns: u64, cause: Cause, from_ns: u64, to_ns: u64) {
    let mut at_ns = from_ns;
    while at_ns < to_ns {
        let step = at_ns / step_ns;
        let until_ns = to_ns.min((step + 1) * step_ns);
        let Some(step) = steps.get_mut(step as usize) else { return };
        step[cause as usize] += until_ns - at_ns;
        at_ns = until_ns;
    }
}

/// Time lost per time: the mean number of stalled operations, by cause.
fn chart(axis: &ChartAxis, steps: &[[u64; Cause::ALL.len()]], step_ns: u64) -> Value {
    let total = |cause: Cause| steps.iter().map(|step| step[cause as usize]).sum::<u64>();
    let mut causes: Vec<(u64, Cause)> = Cause::ALL.into_iter().map(|cause| (total(cause), cause)).collect();
    causes.retain(|(ns, _)| *ns > 0);
    causes.sort_by_key(|&(ns, cause)| (Reverse(ns), cause));
    let (drawn, others) = causes.split_at(causes.len().min(CAUSES));
    let share = |ns: u64| Some(ns as f64 / step_ns as f64);
    let mut series: Vec<Value> = Vec::new();
    for &(_, cause) in drawn {
        let values: Vec<Option<f64>> = steps.iter().map(|step| share(step[cause as usize])).collect();
        series.push(axis.line(cause.name(), &values, Join::Mean));
    }
    if !others.is_empty() {
        let sum = |step: &[u64; Cause::ALL.len()]| others.iter().map(|(_, cause)| step[*cause as usize]).sum();
        let values: Vec<Option<f64>> = steps.iter().map(|step| share(sum(step))).collect();
        series.push(axis.line("others", &values, Join::Mean));
    }
    let title = "Stall time by cause: number of stalled operations";
    stack("causes", title, ChartUnit::Count, "stalls", series, "No operation was slow.")
}
