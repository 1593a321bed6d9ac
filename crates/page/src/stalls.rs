//! Slow operations: their list, and their time by cause over time.

use std::cmp::Reverse;

use explain::blame::{Accounting, Cause, Piece};
use serde_json::Value;

use crate::chart::{ChartUnit, absent, stack};
use crate::limits::Limits;
use crate::sleeps::SleepStall;
use crate::stall_list::StallListing;
use crate::steps::{ChartAxis, Join};

/// Causes with an area each; the others share one.
const CAUSES: usize = 8;
/// Maximum steps of the chart of causes.
const STEPS: u64 = 2_000;
/// The charts' ids, which the page's program knows.
const ALL: &str = "causes";
const OF_COMMAND: &str = "causes.command";
const TITLE: &str = "Blocked tasks over time, by cause; bars: the longest operations";
const NO_TRACE: &str = "The run has no trace, so the causes of waits are unknown; record as root, without --no-trace.";

/// What the page shows of a run's slow operations.
pub(crate) struct StallCharts {
    pub(crate) list: Value,
    pub(crate) axis: Value,
    /// Of all, and of the recorded command alone where others were slow, too.
    pub(crate) charts: Vec<Value>,
}

/// The list and the chart without a trace.
pub(crate) fn untraced() -> StallCharts {
    let charts = vec![absent(ALL, TITLE, NO_TRACE)];
    StallCharts { list: Value::Null, axis: ChartAxis::default().to_value(), charts }
}

/// Everything about the slow operations and sleeps of a run that began at `started_ns` and lasted `span_ns`.
pub(crate) fn stalls(
    (accounting, sleeps): (&Accounting, &[SleepStall]),
    started_ns: u64,
    span_ns: u64,
    interval_ns: u64,
    limits: Limits,
) -> StallCharts {
    let mut steps = CauseSteps::new(started_ns, span_ns, interval_ns);
    let mut listing = StallListing::new(started_ns, accounting.len());
    accounting.for_each(|stall| {
        let mut by_cause = [0u64; Cause::ALL.len()];
        for piece in stall.pieces {
            by_cause[piece.cause as usize] += piece.end_ns - piece.start_ns;
            steps.add(stall.of_command, piece);
        }
        listing.add(&stall, &by_cause);
    });
    for sleep in sleeps {
        let pieces = sleep.lanes.tasks.iter().flat_map(|lane| &lane.pieces);
        pieces.for_each(|piece| steps.add(sleep.stall.of_command, piece));
        listing.sleep(sleep);
    }
    let axis = steps.axis();
    StallCharts { list: listing.into_value(accounting, limits), charts: steps.charts(&axis), axis: axis.to_value() }
}

/// Time by cause, in steps.
struct CauseSteps {
    started_ns: u64,
    step_ns: u64,
    all: Vec<[u64; Cause::ALL.len()]>,
    /// Of the recorded command or load alone.
    own: Vec<[u64; Cause::ALL.len()]>,
    has_others: bool,
}

impl CauseSteps {
    fn new(started_ns: u64, span_ns: u64, interval_ns: u64) -> CauseSteps {
        let step_ns = interval_ns.max(span_ns.div_ceil(STEPS)).max(1_000_000);
        let all = vec![[0; Cause::ALL.len()]; span_ns.div_ceil(step_ns) as usize];
        CauseSteps { started_ns, step_ns, own: all.clone(), all, has_others: false }
    }

    fn add(&mut self, of_command: Option<bool>, piece: &Piece) {
        let since_ns = |at_ns: u64| at_ns.saturating_sub(self.started_ns);
        let (from_ns, to_ns) = (since_ns(piece.start_ns), since_ns(piece.end_ns));
        spread(&mut self.all, self.step_ns, piece.cause, from_ns, to_ns);
        if of_command == Some(true) {
            spread(&mut self.own, self.step_ns, piece.cause, from_ns, to_ns);
        }
        self.has_others |= of_command == Some(false);
    }

    fn axis(&self) -> ChartAxis {
        ChartAxis { at_ns: (1..=self.all.len() as u64).map(|step| step * self.step_ns).collect() }
    }

    /// Of all, and of the command alone where others were slow, too.
    fn charts(&self, axis: &ChartAxis) -> Vec<Value> {
        let is_part = self.has_others && self.own.iter().flatten().any(|ns| *ns > 0);
        let of_command = is_part.then(|| chart(OF_COMMAND, axis, &self.own, self.step_ns));
        std::iter::once(chart(ALL, axis, &self.all, self.step_ns)).chain(of_command).collect()
    }
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
fn chart(id: &str, axis: &ChartAxis, steps: &[[u64; Cause::ALL.len()]], step_ns: u64) -> Value {
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
    stack(id, TITLE, ChartUnit::Count, "stalls", series, "No operation was slow.")
}
