//! The sentence that says what would help.

use serde_json::Value;

use super::LEAST;
use super::sentence::{Kind, Sentence, Writer};
use super::unpredicted::{of_causes, of_sleeps};

/// The first remedy that saves enough to be named, with its predicted effect; else what to do where nothing can be predicted.
pub(super) fn help(document: &Value, part: &str) -> Option<Sentence> {
    predicted(document, part).or_else(|| of_causes(document, &format!("{part}/causes"), intro(document, part)))
}

/// The same where no operation was slow. Shorter waits that are only sums may be known individually to another recording.
pub(super) fn help_without_operations(document: &Value) -> Option<Sentence> {
    if document["short_waits"]["matter"] != Value::Bool(true) || sleeps_cost_more(document) {
        return of_sleeps(document);
    }
    let of_short = || of_causes(document, "/short_waits/causes", "What would help against the shorter waits");
    let predicted = are_short(document).then(|| predicted(document, "")).flatten();
    predicted.or_else(of_short).or_else(|| Some(short_help(document)))
}

fn predicted(document: &Value, part: &str) -> Option<Sentence> {
    let choices = document.pointer("/what_if/choices")?.as_array()?;
    let at = choices.iter().position(|choice| choice["saved_share"].as_f64() >= Some(LEAST))?;
    let path = format!("/what_if/choices/{at}");
    let choice = &choices[at];
    let of_short = are_short(document);
    let mut writer = Writer::new(document);
    writer.say(intro(document, part));
    writer.say(": ");
    writer.value(&format!("{path}/title"), Kind::Name)?;
    if let Some(culprit) = culprit(document, if of_short { "/short_waits" } else { part }, choice) {
        writer.say(" (");
        writer.value(&culprit, Kind::Name)?;
        writer.say(")");
    } else {
        place(&mut writer, &path, choice)?;
    }
    writer.say(if choice["at_most"] == Value::Bool(true) { "; predicted, at best: " } else { "; predicted: " });
    writer.value(&format!("{path}/predicted/total_ns/value"), Kind::Duration)?;
    writer.say(" instead of ");
    writer.value(&format!("{path}/predicted/recorded/total_ns"), Kind::Duration)?;
    if of_short {
        writer.say(" of those recorded individually");
    } else {
        writer.say(", ");
        writer.counted(&format!("{path}/predicted/slow_operations/value"), "operation")?;
        writer.say(" still slow");
    }
    if let Some(other) = evicted(choices, at).filter(|other| *other != at) {
        writer.say("; or ");
        writer.value(&format!("/what_if/choices/{other}/title"), Kind::Name)?;
    }
    if !of_short && shorter_waits_cost_more(document, part) {
        writer.say("; for the shorter waits, which cost more, a recording with a lower --slower-than predicts it");
    }
    Some(writer.end())
}

fn are_short(document: &Value) -> bool {
    document["what_if"]["of_short_waits"] == Value::Bool(true)
}

fn intro(document: &Value, part: &str) -> &'static str {
    if are_short(document) {
        "What would help against the shorter waits"
    } else if part.is_empty() && document["command"].is_object() {
        "What would help these other programs"
    } else {
        "What would help"
    }
}

/// Where a change is one of another program, whose: the root blocker of most of the waits that it changes.
fn culprit(document: &Value, part: &str, choice: &Value) -> Option<String> {
    let cause = match choice["change"]["edge"].as_str()? {
        // Who asked for the work is to blame; who does it can change it.
        edge @ ("cpu" | "work" | "stopped") => {
            return (!are_short(document)).then(|| behind(document, choice, edge)).flatten();
        }
        // Who used what the holder waits for is to blame; who holds the lock can hold it for a shorter time.
        "lock" => match holder(document, part) {
            Some(holder) => return Some(holder),
            None => "lock",
        },
        "timer" => "sleep",
        "server" => "network_fs",
        "scheduler_queue" if is_of_process(choice) => "scheduler_queue",
        _ => return None,
    };
    let culprits = document.pointer(&format!("{part}/culprits"))?.as_array()?;
    let is_of = |culprit: &Value| culprit["cause"] == cause;
    let all_ns: f64 = culprits.iter().filter(|one| is_of(one)).filter_map(|one| one["time_ns"].as_f64()).sum();
    let at = culprits.iter().position(is_of)?;
    let is_most = culprits[at]["time_ns"].as_f64()? > all_ns / 2.0;
    (is_most && culprits[at]["task"].is_string()).then(|| format!("{part}/culprits/{at}/task"))
}

/// The task that held the locks which were waited for, for most of the time in the worst stalls: where it is in the document.
fn holder(document: &Value, part: &str) -> Option<String> {
    let mut held: Vec<(&str, u64, String)> = Vec::new();
    let stalls = document["stalls"].as_array()?.iter().enumerate();
    for (at, stall) in stalls.filter(|(_, stall)| part.is_empty() || stall["neighbour"] == false) {
        let chain = stall["chain"].as_array().map_or(&[][..], Vec::as_slice);
        let Some(link) = chain.iter().position(|link| link["holds_lock"].is_string()) else { continue };
        let (Some(task), Some(ns)) = (chain[link]["task"].as_str(), chain[link]["time_ns"].as_u64()) else { continue };
        match held.iter_mut().find(|(of, ..)| *of == task) {
            Some((_, sum, _)) => *sum += ns,
            None => held.push((task, ns, format!("/stalls/{at}/chain/{link}/task"))),
        }
    }
    let all_ns: u64 = held.iter().map(|(_, ns, _)| ns).sum();
    let (_, ns, path) = held.into_iter().max_by_key(|(_, ns, _)| *ns)?;
    (ns > all_ns / 2).then_some(path)
}

/// Where a setting is, by what its path says: of which cgroup, and on which disk.
fn place(writer: &mut Writer, path: &str, choice: &Value) -> Option<()> {
    let (target, changes) = (&choice["target"], &choice["remedies"][0]["changes"]);
    let is_of = |placeholder: &str| changes["path"].as_str().is_some_and(|path| path.contains(placeholder));
    let of_cgroup = is_of("{cgroup}") && target["cgroup"].is_string();
    let of_disk = target["device"].is_string()
        && (is_of("{device}") || is_of("{number}") || changes["per_device"] == Value::Bool(true));
    if !of_cgroup && !of_disk {
        return Some(());
    }
    writer.say(" (");
    match target["cgroup"].as_str() {
        Some("/") if of_cgroup => writer.say("root cgroup"),
        Some(_) if of_cgroup && target["container"].is_string() => {
            writer.value(&format!("{path}/target/container"), Kind::Name)?;
        }
        Some(_) if of_cgroup => writer.value(&format!("{path}/target/cgroup"), Kind::Name)?,
        _ => (),
    }
    if of_disk {
        writer.say(if of_cgroup { ", " } else { "" });
        writer.value(&format!("{path}/target/device"), Kind::Name)?;
    }
    writer.say(")");
    Some(())
}

/// Whether what is to be done is done to a process.
fn is_of_process(choice: &Value) -> bool {
    choice["remedies"][0]["changes"]["apply"].as_str().is_some_and(|apply| apply.contains("PID"))
}

/// The process that waits for a CPU, computes or is stopped, where that is not the victim itself but one that it waits for.
fn behind(document: &Value, choice: &Value, edge: &str) -> Option<String> {
    let least = choice["saved_share"].as_f64()? / 2.0;
    let end = match edge {
        "cpu" => "cpu_wait",
        "stopped" => "stopped",
        _ => "running",
    };
    let is_it = |behind: &Value| behind["end"] == end && behind["share"].as_f64() >= Some(least);
    let at = document["behind"].as_array()?.iter().position(is_it)?;
    let path = format!("/behind/{at}/tasks/0/task");
    document.pointer(&path)?.is_string().then_some(path)
}

/// Whether the waits that no slow operation holds cost more than all that do.
fn shorter_waits_cost_more(document: &Value, part: &str) -> bool {
    let ns = |path: &str| document.pointer(path).and_then(Value::as_u64);
    document["short_waits"]["matter"] == Value::Bool(true)
        && ns("/short_waits/time_ns") > ns(&format!("{part}/wall_ns"))
}

/// Whether sleeps that are hardly idle took longer than all shorter waits together.
fn sleeps_cost_more(document: &Value) -> bool {
    let ns = |path: &str| document.pointer(path).and_then(Value::as_u64);
    ns("/sleeps/count") > Some(0) && ns("/sleeps/total_ns") > ns("/short_waits/time_ns")
}

fn short_help(document: &Value) -> Sentence {
    let mut writer = Writer::new(document);
    writer.say("A recording with a lower --slower-than predicts what would help");
    writer.end()
}

/// Where a memory limit evicts what is read again, the choice that raises it, if that may save a third of what the best one does: a
/// faster disk would read the same again and again. How much memory it takes is unknown, so that it comes second.
fn evicted(choices: &[Value], best: usize) -> Option<usize> {
    let least = choices[best]["saved_share"].as_f64()? / 3.0;
    choices.iter().position(|choice| is_of_eviction(&choice["change"]) && choice["saved_share"].as_f64() >= Some(least))
}

fn is_of_eviction(change: &Value) -> bool {
    change["edge"] == "refault" || change["absent"]["evicts"].is_number()
}
