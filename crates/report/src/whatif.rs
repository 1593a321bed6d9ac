//! A recorded load under other I/O schedulers: what was recorded beside what is predicted.

use std::fmt::Write as _;

use model::prediction::{Latencies, Predicted, Prediction};
use model::quantity::{Bytes, Nanoseconds};
use model::simulation::Origin;
use serde_json::{Value, json};

use crate::number::{counted, grouped, latency};
use crate::simulation::badge;
use crate::style::{Style, printable};
use crate::table::push_table;

#[cfg(test)]
mod tests;

/// What was replayed.
#[derive(Debug, Clone)]
pub struct Source {
    /// The run or trace.
    pub path: String,
    /// The device.
    pub device: String,
    /// The policy that it was recorded under, in the model's words.
    pub recorded_under: Option<String>,
    /// The model that made the record, where none was made on a machine.
    pub made_by: Option<Origin>,
    /// Requests of other devices, left out.
    pub others: u64,
    /// Requests of a block trace whose times are not certain, because events were lost, left out.
    pub uncertain: u64,
    /// Events that the trace lacks.
    pub lost_events: u64,
}

/// A percentile as far off as this, or more, is told as a miss.
const MISS: [f64; 3] = [0.15, 0.30, 0.30];

/// What every such prediction takes for granted.
const ASSUMPTIONS: [&str; 6] = [
    "each request keeps its recorded service time, whatever is served before it: a disk's seeks are not foreseen",
    "requests are as they were merged when recorded",
    "a task comes after its own requests (closed loop), after it got one (fed), or when it came (open), as its record shows",
    "tasks that wait for each other, and page-cache writers that wait for writeback, are not known to",
    "writeback throttling (wbt), cgroup weights and limits do nothing",
    "mq-deadline, BFQ and CFQ are models of their main rules (docs/models/SCHED.md)",
];

/// For people.
pub fn text(source: &Source, prediction: &Prediction, style: Style) -> String {
    let mut text = String::new();
    let _ =
        writeln!(text, "{}", style.heading(&format!("What if: {}, device {}", printable(&source.path), source.device)));
    let made = match &source.made_by {
        Some(origin) => format!("{}, the record neither", badge(origin)),
        None => "SIMULATED: only the rows 'recorded' were measured on a machine".to_owned(),
    };
    let _ = writeln!(text, "{}", style.remark(&made));
    let under = source.recorded_under.as_deref().unwrap_or("an unknown scheduler");
    let took = Nanoseconds(prediction.recorded_took_ns);
    let _ = writeln!(text, " {}, recorded under {under} in {took}", counted(prediction.requests, "request"));
    for (count, what) in [
        (source.others, "of other devices left out"),
        (source.uncertain, "left out, as events of theirs were lost"),
        (prediction.unusable, "without the moments of their issue left out"),
    ] {
        if count > 0 {
            let _ = writeln!(text, " {} {what}", counted(count, "request"));
        }
    }
    if source.lost_events > 0 {
        let lost = counted(source.lost_events, "event");
        let _ =
            writeln!(text, " {}", style.remark(&format!("{lost} of the trace lost: the replay lacks their requests")));
    }
    device(&mut text, prediction);
    text.push('\n');
    table(&mut text, prediction);
    if !differ(prediction) {
        let said = "Every policy does the same here: the device took each request as it came, so that there was nothing to choose. \
                    --set depth=N asks for a device that takes fewer at once.";
        let _ = writeln!(text, "\n {}", style.remark(said));
    }
    for predicted in prediction.predicted.iter().filter(|predicted| predicted.is_check) {
        check(&mut text, prediction, predicted, style);
    }
    let _ = writeln!(text, "\n {}", style.faint("A prediction takes for granted:"));
    for assumption in ASSUMPTIONS {
        let _ = writeln!(text, " {}", style.faint(&format!("- {assumption}")));
    }
    text
}

/// Whether it matters for any kind of request which policy there is. Of one alone it is not known.
fn differ(prediction: &Prediction) -> bool {
    let [first, others @ ..] = prediction.predicted.as_slice() else { return true };
    others.is_empty() || others.iter().any(|other| other.latencies != first.latencies)
}

fn device(text: &mut String, prediction: &Prediction) {
    let how = if prediction.servers_fitted { "fitted" } else { "given" };
    let _ = writeln!(
        text,
        " the device takes {} and works on {} at once ({how}); its times go with its load by {:.2} (0: not at all)",
        counted(u64::from(prediction.depth), "request"),
        prediction.servers,
        prediction.load_correlation,
    );
    if prediction.out_of_turn > 0 {
        let count = counted(prediction.out_of_turn, "request");
        let _ = writeln!(text, " {count} overtook others there, which such a device does not let happen");
    }
    // What is rare is in the JSON document.
    let least = prediction.requests / 100;
    for row in prediction.service.iter().filter(|row| row.count > least) {
        let order = if row.sequential { ", sequential" } else { "" };
        let _ = writeln!(
            text,
            "   {:>9} x {} of {} or more{order}: half within {}, 99 in 100 within {}",
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
    let _ = writeln!(
        text,
        " -: fewer than ten samples beyond it. Means of the time in the queue, with the wait for a request,"
    );
    let _ = writeln!(text, " and at the device. Counted as long as all large parts of the load were there.");
}

fn line(class: &str, policy: &str, row: &Latencies) -> Vec<String> {
    let mean = |ns| if row.count > 0 { Nanoseconds(ns).to_string() } else { "-".to_owned() };
    let [p50, p90, p99] = percentiles(row).map(latency);
    let count = grouped(row.count);
    vec![class.to_owned(), policy.to_owned(), count, p50, p90, p99, mean(row.queue_mean_ns), mean(row.device_mean_ns)]
}

/// How far the recorded policy's own prediction is from what was recorded.
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
            "Check: {policy} on its own record is within 15 % in medians and 30 % in p90 and p99, all {all} of them."
        ),
        false => format!(
            "Check: {policy} on its own record misses {} of {all}: {}. Trust the others no more than this one.",
            misses.len(),
            misses.join(", ")
        ),
    };
    let shown = if misses.is_empty() { style.good(&sentence) } else { style.remark(&sentence) };
    let _ = writeln!(text, "\n {shown}");
}

/// For programs.
pub fn json(source: &Source, prediction: &Prediction) -> Value {
    let mut document = json!({
        "simulated": true,
        "model": "sched",
        "trace": source.path,
        "device": source.device,
        "record_simulated": source.made_by.as_ref(),
        "recorded_under": source.recorded_under,
        "requests_of_other_devices": source.others,
        "uncertain_requests": source.uncertain,
        "lost_events": source.lost_events,
        "assumptions": ASSUMPTIONS,
    });
    document["policies_differ"] = json!(differ(prediction));
    document["prediction"] = json!(prediction);
    document
}
