//! Marks on the time axis: phases, stuck operations, clock steps, losses.

use std::cmp::Reverse;
use std::collections::HashMap;

use explain::summary::Summary;
use model::event::RunEvent;
use model::lost::noun;
use model::operation::{OperationKind, OperationRecord, ROUND};
use model::quantity::Nanoseconds;
use model::quantity::counted;
use serde_json::{Value, json};

/// Stuck operations marked: the longest.
const STUCK: usize = 100;

/// Operations that were stuck at the end of an interval.
#[derive(Debug, Default)]
pub(crate) struct StuckOperations {
    longest: HashMap<(u32, u64), (String, u64)>,
}

impl StuckOperations {
    pub(crate) fn add(&mut self, operation: &OperationRecord) {
        if operation.kind == OperationKind::Stuck && operation.class != ROUND {
            let known = self.longest.entry((operation.tid, operation.start_ns)).or_default();
            if operation.duration_ns >= known.1 {
                *known = (operation.class.clone(), operation.duration_ns);
            }
        }
    }

    /// Marks of the longest.
    fn marks(&self, started_ns: u64) -> impl Iterator<Item = Mark> {
        let mut longest: Vec<_> = self.longest.iter().collect();
        longest.sort_by_key(|((tid, start_ns), (_, ns))| (Reverse(*ns), *start_ns, *tid));
        longest.into_iter().take(STUCK).map(move |((tid, start_ns), (class, ns))| Mark {
            from_ms: since(started_ns, *start_ns),
            to_ms: Some(since(started_ns, start_ns + ns)),
            kind: "stuck",
            text: format!("{class} of thread {tid} was stuck for at least {}", Nanoseconds(*ns)),
        })
    }
}

/// A mark: its time in ms since the run's start, `to_ms` absent for a moment, its kind and text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    from_ms: u64,
    to_ms: Option<u64>,
    kind: &'static str,
    text: String,
}

/// All marks, in order of time.
pub(crate) fn marks(summary: &Summary, stuck: &StuckOperations) -> Value {
    let started_ns = summary.started_ns;
    let mut marks: Vec<Mark> = Vec::new();
    for phase in &summary.phases {
        let text = if phase.measured { phase.name.clone() } else { format!("{} (not measured)", phase.name) };
        marks.push(Mark { from_ms: ms(phase.start_ns), to_ms: phase.end_ns.map(ms), kind: "phase", text });
    }
    marks.extend(stuck.marks(started_ns));
    if let Some(hang) = summary.simulated.as_ref().and_then(|simulated| simulated.course.as_ref()?.hang.as_ref()) {
        let text = "hang: no progress is possible from here".to_owned();
        marks.push(Mark { from_ms: since(started_ns, hang.at_ns), to_ms: None, kind: "note", text });
    }
    marks.extend(summary.remarks.iter().filter_map(|remark| remark_mark(remark, started_ns)));
    marks.sort();
    let value = |mark: Mark| json!({ "from": mark.from_ms, "to": mark.to_ms, "kind": mark.kind, "text": mark.text });
    marks.into_iter().map(value).collect()
}

/// The mark of a remark; `None` for one that the page shows elsewhere.
fn remark_mark(remark: &RunEvent, started_ns: u64) -> Option<Mark> {
    let (at_ns, to_ns, kind, text) = match remark {
        RunEvent::Gap { from_ns, to_ns, samples } => {
            (*from_ns, Some(*to_ns), "loss", format!("{} not taken", counted(u64::from(*samples), "sample")))
        }
        RunEvent::ClockStep { at_ns, by_ns } => {
            let direction = if *by_ns < 0 { "back" } else { "ahead" };
            let text = format!("the wall clock stepped {direction} by {}", Nanoseconds(by_ns.unsigned_abs()));
            (*at_ns, None, "clock", text)
        }
        RunEvent::Loss { what, count, at_ns } => (*at_ns, None, "loss", format!("{count} {} lost", noun(*count, what))),
        RunEvent::TableDropped { table, why, at_ns } => (*at_ns, None, "loss", format!("table {table} dropped: {why}")),
        RunEvent::TrialPeriod { period } => {
            let with = if period.changed { "with the change (B)" } else { "as found (A)" };
            (
                period.began_ns,
                Some(period.ended_ns),
                "phase",
                format!("period {} of the trial, {with}", period.ordinal + 1),
            )
        }
        RunEvent::Note { at_ns, text } => (*at_ns, None, "note", text.clone()),
        _ => return None,
    };
    Some(Mark { from_ms: since(started_ns, at_ns), to_ms: to_ns.map(|ns| since(started_ns, ns)), kind, text })
}

fn ms(ns: u64) -> u64 {
    ns / 1_000_000
}

fn since(started_ns: u64, at_ns: u64) -> u64 {
    ms(at_ns.saturating_sub(started_ns))
}
