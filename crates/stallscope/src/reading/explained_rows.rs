//! Explained operations, with their chains as text.

use explain::blame::{Accounting, Link, Stall};
use export::explained::ExplainedRow;
use export::task_keys::TaskKeys;
use model::cause::Cause;
use model::quantity::Nanoseconds;
use model::time::Moment;

/// Operations in memory at a time.
const AT_ONCE: usize = 4096;

/// All slow operations of a run in batches, in the order of their start.
pub fn batches<'a>(
    accounting: &'a Accounting,
    keys: &'a TaskKeys,
    started: Moment,
) -> impl Iterator<Item = Vec<ExplainedRow>> + 'a {
    let starts = (0..accounting.len()).step_by(AT_ONCE);
    starts.map(move |from| {
        let numbers: Vec<usize> = (from..(from + AT_ONCE).min(accounting.len())).collect();
        let stalls = accounting.stalls(&numbers).into_iter();
        stalls.map(|(_, stall)| row(stall, accounting, keys, started)).collect()
    })
}

/// One slow operation as it is exported.
pub fn row(stall: Stall, accounting: &Accounting, keys: &TaskKeys, started: Moment) -> ExplainedRow {
    let end_ns = stall.start_ns + stall.duration_ns;
    let mut causes_ns = [0; Cause::ALL.len()];
    for cause in &stall.causes {
        causes_ns[cause.cause as usize] = cause.time_ns;
    }
    // A chain of one link is the operation itself.
    let last = stall.chain.last().filter(|_| stall.chain.len() > 1).and_then(|link| link.task.as_ref());
    let since_ns = i128::from(stall.start_ns) - i128::from(started.monotonic_ns);
    ExplainedRow {
        task_key: keys.key(stall.task.tid, end_ns),
        tid: stall.task.tid,
        pid: accounting.pid(stall.task.tid, end_ns),
        chain: stall.chain.iter().map(words).collect::<Vec<_>>().join(" > "),
        culprit: last.map(ToString::to_string),
        culprit_task_key: last.and_then(|task| keys.key(task.tid, end_ns)),
        device: stall.request.as_ref().map(|request| request.device.to_string()),
        task: stall.task.name,
        cgroup: stall.cgroup,
        operation: stall.operation,
        path: stall.path,
        start_ns: stall.start_ns,
        start_wall_ns: (i128::from(started.wall_ns) + since_ns).try_into().unwrap_or(i64::MAX),
        duration_ns: stall.duration_ns,
        finished: stall.finished,
        causes_ns,
    }
}

fn words(link: &Link) -> String {
    let task = link.task.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let detail = link.detail.as_ref().map_or_else(String::new, |detail| format!(" ({detail})"));
    format!("{task}: {} {}{detail}", link.cause.name(), Nanoseconds(link.time_ns))
}
