//! What happened at a moment: phases, stuck operations, steps of the clock, losses.

use std::cmp::Reverse;
use std::collections::HashMap;

use explain::summary::Summary;
use model::event::RunEvent;
use model::operation::{OperationKind, OperationRecord, ROUND};
use model::quantity::Nanoseconds;
use serde_json::{Value, json};

/// Stuck operations that are marked: the longest.
const STUCK: usize = 100;

/// Operations that were running for too long when an interval ended.
#[derive(Debug, Default)]
pub(crate) struct Stuck {
    longest: HashMap<(u32, u64), (String, u64)>,
}

impl Stuck {
    pub(crate) fn add(&mut self, operation: &OperationRecord) {
        if operation.kind == OperationKind::Stuck && operation.class != ROUND {
            let known = self.longest.entry((operation.tid, operation.start_ns)).or_default();
            if operation.duration_ns >= known.1 {
                *known = (operation.class.clone(), operation.duration_ns);
            }
        }
    }
}

/// All marks, in order of time. `from` and `to` are ms since the run's start; `to` is null where it is a moment.
pub(crate) fn marks(summary: &Summary, stuck: &Stuck) -> Value {
    let ms = |ns: u64| ns / 1_000_000;
    let mut marks: Vec<(u64, Option<u64>, &str, String)> = Vec::new();
    for phase in &summary.phases {
        let text = if phase.measured { phase.name.clone() } else { format!("{} (not measured)", phase.name) };
        marks.push((ms(phase.start_ns), phase.end_ns.map(ms), "phase", text));
    }
    let since = |ns: u64| ms(ns.saturating_sub(summary.started_ns));
    let mut longest: Vec<_> = stuck.longest.iter().collect();
    longest.sort_by_key(|((tid, start_ns), (_, ns))| (Reverse(*ns), *start_ns, *tid));
    for ((tid, start_ns), (class, ns)) in longest.into_iter().take(STUCK) {
        let text = format!("{class} of thread {tid} was stuck, for at least {}", Nanoseconds(*ns));
        marks.push((since(*start_ns), Some(since(start_ns + ns)), "stuck", text));
    }
    if let Some(hang) = summary.simulated.as_ref().and_then(|one| one.course.as_ref()?.hang.as_ref()) {
        marks.push((since(hang.at_ns), None, "note", "the hang: nothing would ever have happened again".to_owned()));
    }
    for remark in &summary.remarks {
        let (at_ns, to_ns, kind, text) = match remark {
            RunEvent::Gap { from_ns, to_ns, samples } => {
                (*from_ns, Some(*to_ns), "loss", format!("{samples} samples were not taken"))
            }
            RunEvent::ClockStep { at_ns, by_ns } => {
                let way = if *by_ns < 0 { "back" } else { "ahead" };
                (
                    *at_ns,
                    None,
                    "clock",
                    format!("the wall clock stepped {way} by {}", Nanoseconds(by_ns.unsigned_abs())),
                )
            }
            RunEvent::Loss { what, count, at_ns } => (*at_ns, None, "loss", format!("{count} {what} were lost")),
            RunEvent::TableDropped { table, why, at_ns } => {
                (*at_ns, None, "loss", format!("the table {table} was given up: {why}"))
            }
            RunEvent::Note { at_ns, text } => (*at_ns, None, "note", text.clone()),
            _ => continue,
        };
        marks.push((since(at_ns), to_ns.map(since), kind, text));
    }
    marks.sort();
    let mark = |(from, to, kind, text): (u64, Option<u64>, &str, String)| json!({ "from": from, "to": to, "kind": kind, "text": text });
    marks.into_iter().map(mark).collect()
}
