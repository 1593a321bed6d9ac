//! Slow operations: all in brief, the longest in full, and their time by cause as it passed.

use std::cmp::Reverse;

use explain::blame::{Accounting, Cause, Stall};
use serde_json::{Map, Value, json};

use crate::chart::{Unit, absent, stack};
use crate::limits::Limits;
use crate::number::{Names, deltas};
use crate::steps::{Axis, Join};

/// Causes that have an area of their own; the others share one.
const CAUSES: usize = 8;
/// Most steps of the chart of causes.
const STEPS: u64 = 2_000;
const NO_TRACE: &str = "The run has no trace, so that nothing says what operations waited for; record as root, without \
                        --no-trace.";

/// One slow operation, as the list has it.
struct Row {
    start_us: u64,
    duration_us: u64,
    operation: usize,
    task: usize,
    path: Option<usize>,
    cause: Cause,
    /// Of the duration, in percent.
    share: u64,
    finished: bool,
}

/// What the page says of a run's slow operations.
pub(crate) struct Stalls {
    pub(crate) list: Value,
    pub(crate) axis: Value,
    pub(crate) chart: Value,
}

/// The list and the chart without a trace.
pub(crate) fn untraced() -> Stalls {
    let chart = absent("causes", "Stall time by cause", NO_TRACE);
    Stalls { list: Value::Null, axis: Axis::default().to_value(), chart }
}

/// Everything about the slow operations of a run that began at `started_ns` and lasted `span_ns`.
pub(crate) fn stalls(
    accounting: &Accounting,
    started_ns: u64,
    span_ns: u64,
    interval_ns: u64,
    limits: Limits,
) -> Stalls {
    let step_ns = interval_ns.max(span_ns.div_ceil(STEPS)).max(1_000_000);
    let mut steps = vec![[0u64; Cause::ALL.len()]; span_ns.div_ceil(step_ns) as usize];
    let mut names = Names::default();
    let mut rows = Vec::with_capacity(accounting.len());
    accounting.for_each(|one| {
        let mut sums = [0u64; Cause::ALL.len()];
        for piece in one.pieces {
            sums[piece.cause as usize] += piece.end_ns - piece.start_ns;
            let (from_ns, to_ns) = (piece.start_ns.saturating_sub(started_ns), piece.end_ns.saturating_sub(started_ns));
            spread(&mut steps, step_ns, piece.cause, from_ns, to_ns);
        }
        let cause =
            Cause::ALL.into_iter().rev().max_by_key(|&cause| sums[cause as usize]).unwrap_or(Cause::Unexplained);
        let task = one.task.map_or_else(|| format!("thread {}", one.tid), |name| format!("{name}/{}", one.tid));
        rows.push(Row {
            start_us: one.start_ns.saturating_sub(started_ns) / 1_000,
            duration_us: one.duration_ns / 1_000,
            operation: names.place(one.operation),
            task: names.place(&task),
            path: one.path.map(|path| names.place(path)),
            cause,
            share: (sums[cause as usize] * 100 + one.duration_ns / 2) / one.duration_ns.max(1),
            finished: one.finished,
        });
    });
    let axis = Axis { at_ns: (1..=steps.len() as u64).map(|step| step * step_ns).collect() };
    Stalls { list: list(accounting, &rows, names, limits), chart: chart(&axis, &steps, step_ns), axis: axis.to_value() }
}

/// Adds a time to the steps that it lies in.
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

/// The list: the longest where there are too many, in order of their starts; of the longest of them all that is known.
fn list(accounting: &Accounting, rows: &[Row], names: Names, limits: Limits) -> Value {
    let mut longest: Vec<usize> = (0..rows.len()).collect();
    longest.sort_by_key(|&at| (Reverse(rows[at].duration_us), at));
    longest.truncate(limits.stalls);
    let in_full: Vec<usize> = longest.iter().copied().take(limits.in_full).collect();
    let mut listed = longest;
    listed.sort_unstable();
    let of = |value: fn(&Row) -> Value| -> Value { listed.iter().map(|&at| value(&rows[at])).collect() };
    let full: Map<String, Value> =
        accounting.stalls(&in_full).iter().map(|(number, one)| (number.to_string(), stall(one))).collect();
    json!({
        "seen": rows.len(),
        "number": deltas(listed.iter().map(|&at| at as u64)),
        "start": deltas(listed.iter().map(|&at| rows[at].start_us)),
        "duration": of(|row| row.duration_us.into()),
        "operation": of(|row| row.operation.into()),
        "task": of(|row| row.task.into()),
        "path": of(|row| row.path.map_or(Value::Null, Value::from)),
        "cause": of(|row| (row.cause as u8).into()),
        "share": of(|row| row.share.into()),
        "finished": of(|row| u8::from(row.finished).into()),
        "names": names.into_value(),
        "full": full,
    })
}

/// One stall in full.
pub fn stall(one: &Stall) -> Value {
    report::json::stall(one)
}

/// Time lost per time: how many operations were stalled on average, by what.
fn chart(axis: &Axis, steps: &[[u64; Cause::ALL.len()]], step_ns: u64) -> Value {
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
    let title = "Stall time by cause: slow operations at a time";
    stack("causes", title, Unit::Count, "stalls", series, "No operation was slow.")
}
