//! A recorded load under other I/O schedulers: recorded and predicted latencies side by side.

use std::fmt::Write as _;

use model::prediction::{Latencies, Predicted, Prediction};
use model::quantity::{Bytes, Nanoseconds};
use model::quantity::{counted, grouped};
use model::simulation::Origin;
use serde_json::{Value, json};

use crate::number::latency;
use crate::simulation::badge;
use crate::style::{Style, printable};
use crate::table::push_table;

#[cfg(test)]
mod tests;

/// The recording that is replayed.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The run or trace.
    pub path: String,
    /// The device.
    pub device: String,
    /// The policy it was recorded under, by the model's name.
    pub recorded_under: Option<String>,
    /// The model that produced the recording, if no machine did.
    pub made_by: Option<Origin>,
    /// Requests of other devices; excluded.
    pub others: u64,
    /// Requests of a block trace with uncertain times, because events were lost; excluded.
    pub uncertain: u64,
    /// Events that the trace lacks.
    pub lost_events: u64,
}

/// Relative errors of p50, p90 and p99 above which a prediction counts as a miss.
const MISS: [f64; 3] = [0.15, 0.30, 0.30];

/// What every prediction assumes.
const ASSUMPTIONS: [&str; 6] = [
    "each request keeps its recorded service time, whatever is served before it: seeks are not modelled",
    "requests are as they were merged when recorded",
    "a task submits after its own requests complete (closed loop), after it gets a tag (fed), or at its recorded times \
     (open)",
    "waits between tasks, and of page-cache writers for writeback, are not modelled",
    "writeback throttling (wbt), cgroup weights and limits have no effect",
    "mq-deadline, BFQ and CFQ are models of their main rules (docs/models/SCHED.md)",
];

/// For people.
pub fn text(recording: &Recording, prediction: &Prediction, style: Style) -> String {
    let mut text = String::new();
    headline(&mut text, recording, prediction, style);
    device(&mut text, prediction);
    text.push('\n');
    table(&mut text, prediction);
    if !differ(prediction) {
        let same = "All policies give the same result: the device accepted every request at once and left nothing to \
                    schedule. --set depth=N simulates a device with a shorter queue.";
        let _ = writeln!(text, "\n {}", style.remark(same));
    }
    for predicted in prediction.predicted.iter().filter(|predicted| predicted.is_check) {
        check(&mut text, prediction, predicted, style);
    }
    let _ = writeln!(text, "\n {}", style.faint("Assumptions:"));
    for assumption in ASSUMPTIONS {
        let _ = writeln!(text, " {}", style.faint(&format!("- {assumption}")));
    }
    text
}

fn headline(text: &mut String, recording: &Recording, prediction: &Prediction, style: Style) {
    let title = format!("What if: {}, device {}", printable(&recording.path), recording.device);
    let _ = writeln!(text, "{}", style.heading(&title));
    let made = match &recording.made_by {
        Some(origin) => format!("{}, nor was the recording", badge(origin)),
        None => "SIMULATED: only the rows 'recorded' were measured on a machine".to_owned(),
    };
    let _ = writeln!(text, "{}", style.remark(&made));
    let under = recording.recorded_under.as_deref().unwrap_or("an unknown scheduler");
    let took = Nanoseconds(prediction.recorded_took_ns);
    let _ = writeln!(text, " {}, recorded under {under} in {took}", counted(prediction.requests, "request"));
    for (count, what) in [
        (recording.others, "of other devices; excluded"),
        (recording.uncertain, "with lost events; excluded"),
        (prediction.unusable, "without an issue time; excluded"),
    ] {
        if count > 0 {
            let _ = writeln!(text, " {} {what}", counted(count, "request"));
        }
    }
    if recording.lost_events > 0 {
        let lost = counted(recording.lost_events, "event");
        let line = format!("{lost} of the trace lost: their requests are missing from the replay");
        let _ = writeln!(text, " {}", style.remark(&line));
    }
}

/// Whether the policies differ for any kind of request. Unknown, and taken as true, for a single policy.
fn differ(prediction: &Prediction) -> bool {
    let [first, others @ ..] = prediction.predicted.as_slice() else { return true };
    others.is_empty() || others.iter().any(|other| other.latencies != first.latencies)
}

fn device(text: &mut String, prediction: &Prediction) {
    let how = if prediction.servers_fitted { "fitted" } else { "given" };
    let _ = writeln!(
        text,
        " the device queues {} and serves {} at once ({how}); correlation of service time and load {:.2}",
        counted(u64::from(prediction.depth), "request"),
        prediction.servers,
        prediction.load_correlation,
    );
    if prediction.out_of_turn > 0 {
        let count = counted(prediction.out_of_turn, "request");
        let _ = writeln!(text, " {count} overtook earlier ones at the device; the modelled device serves in order");
    }
    // Rare kinds are in the JSON document only.
    let least = prediction.requests / 100;
    for row in prediction.service.iter().filter(|row| row.count > least) {
        let order = if row.sequential { ", sequential" } else { "" };
        let _ = writeln!(
            text,
            "   {:>9} x {} of {} or more{order}: p50 {}, p99 {}",
            grouped(row.count),
            row.class,
            Bytes(row.bytes),
            Nanoseconds(row.p50_ns),
            Nanoseconds(row.p99_ns),
        );
    }
    let names = ["closed", "fed", "open"];
    let loops: Vec<String> = names
        .iter()
        .zip(prediction.loops)
        .filter(|(_, (tasks, _))| *tasks > 0)
        .map(|(name, (tasks, requests))| {
            format!("{name}: {}, {}", counted(tasks, "task"), counted(requests, "request"))
        })
        .collect();
    let _ = writeln!(text, " loops: {}", loops.join("; "));
}

fn percentiles(row: &Latencies) -> [Option<u64>; 3] {
    [row.p50_ns, row.p90_ns, row.p99_ns]
}

fn table(text: &mut String, prediction: &Prediction) {
    let headings = ["", "", "requests", "p50", "p90", "p99", "in queue", "at device"];
    let mut table = crate::table::table(&headings, 2);
    for (at, recorded) in prediction.recorded.iter().enumerate().filter(|(_, row)| row.count > 0) {
        table.add_row(line(recorded.class, "recorded", recorded));
        for predicted in &prediction.predicted {
            table.add_row(line("", &predicted.policy, &predicted.latencies[at]));
        }
    }
    push_table(text, &table);
    let _ = writeln!(text, " -: fewer than ten samples beyond it. Mean time in the queue (including the tag wait)");
    let _ = writeln!(text, " and at the device. Counted while all large parts of the load were running.");
}

fn line(class: &str, policy: &str, row: &Latencies) -> Vec<String> {
    let mean = |ns| if row.count > 0 { Nanoseconds(ns).to_string() } else { "-".to_owned() };
    let [p50, p90, p99] = percentiles(row).map(latency);
    let count = grouped(row.count);
    vec![class.to_owned(), policy.to_owned(), count, p50, p90, p99, mean(row.queue_mean_ns), mean(row.device_mean_ns)]
}

/// The error of the prediction for the policy that was recorded.
fn check(text: &mut String, prediction: &Prediction, predicted: &Predicted, style: Style) {
    let mut misses = Vec::new();
    let mut all = 0;
    for (recorded, row) in prediction.recorded.iter().zip(&predicted.latencies) {
        let pairs = percentiles(recorded).into_iter().zip(percentiles(row)).zip(["p50", "p90", "p99"]).zip(MISS);
        for (((was, is), name), miss) in pairs {
            let Some((was, is)) = was.zip(is).filter(|(was, _)| *was > 0) else { continue };
            all += 1;
            let ratio = is as f64 / was as f64;
            if (ratio - 1.0).abs() > miss {
                misses.push(format!("{name} of {}s x {ratio:.2}", recorded.class));
            }
        }
    }
    let policy = &predicted.policy;
    let sentence = match misses.is_empty() {
        true => format!(
            "Check: {policy} on its own recording is within 15 % in medians and 30 % in p90 and p99, all {all} of them."
        ),
        false => format!(
            "Check: {policy} on its own recording misses {} of {all}: {}. Trust the other predictions no more than \
             this one.",
            misses.len(),
            misses.join(", ")
        ),
    };
    let shown = if misses.is_empty() { style.good(&sentence) } else { style.remark(&sentence) };
    let _ = writeln!(text, "\n {shown}");
}

/// For programs.
pub fn json(recording: &Recording, prediction: &Prediction) -> Value {
    let mut document = json!({
        "simulated": true,
        "model": "sched",
        "trace": recording.path,
        "device": recording.device,
        "record_simulated": recording.made_by.as_ref(),
        "recorded_under": recording.recorded_under,
        "requests_of_other_devices": recording.others,
        "uncertain_requests": recording.uncertain,
        "lost_events": recording.lost_events,
        "assumptions": ASSUMPTIONS,
    });
    document["policies_differ"] = json!(differ(prediction));
    document["prediction"] = json!(prediction);
    document
}
