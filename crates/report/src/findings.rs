//! The findings in a few sentences: who stalled and how often, on what, who held it, how sure that is, and what would help.
//!
//! They are made from the JSON document alone: each number and name in a sentence is a value of the document, and the
//! sentence says which.

mod confidence;
mod help;
mod sentence;
mod set;
mod slow;
mod unpredicted;
mod untraced;

#[cfg(test)]
mod tests;

use explain::blame::Explanation;
use explain::whatif::Advice;
use serde_json::{Value, json};

use crate::style::{Style, columns, filled};
use help::{help, help_without_operations};
pub use sentence::{Fact, Sentence};
use sentence::{Kind, LEAST, UNBREAKABLE, Writer};
pub use set::{ExplainedNode, set_document, set_findings};
use slow::{count_path, none, of_others, sleeps, slow};

/// Sentences at most.
const SENTENCES: usize = 5;
/// Causes named.
const CAUSES: usize = 3;
/// Part of a time that is called most of it.
const MOST: f64 = 0.8;

/// At most five sentences, and before them what was not traced. `document` is that of `explain --json`; empty where no operation was slow, and shorter waits took little.
pub fn findings(document: &Value) -> Vec<Sentence> {
    let mut sentences = of_waits(document);
    if let Some(untraced) = untraced::sentence(document) {
        sentences.insert(0, untraced);
    }
    sentences
}

fn of_waits(document: &Value) -> Vec<Sentence> {
    let part = if has_operations(document, "/command") { "/command" } else { "" };
    if !has_operations(document, part) {
        return [sleeps(document), short_waits(document), help_without_operations(document)]
            .into_iter()
            .flatten()
            .collect();
    }
    if part.is_empty() && document["command"].is_object() && document["short_waits"]["matter"] == Value::Bool(true) {
        return of_short_waits(document);
    }
    if document["sleeps"]["longest"][0]["hangs"] == true {
        return beside_hangs(document, part);
    }
    let sentences = [
        slow(document, part),
        causes(document, part),
        culprit(document, part),
        confidence::sentence(document, part),
        short_waits(document),
        help(document, part),
    ];
    at_most_five(sentences.into_iter().flatten().collect())
}

/// Two sentences that count as one.
fn joined(first: Option<Sentence>, second: Option<Sentence>) -> Option<Sentence> {
    match (first, second) {
        (Some(mut first), Some(second)) => {
            first.join(second);
            Some(first)
        }
        (first, second) => first.or(second),
    }
}

/// Who hung throughout comes before what was slow and went on.
fn beside_hangs(document: &Value, part: &str) -> Vec<Sentence> {
    let sentences = [
        joined(sleeps(document), unpredicted::of_sleeps(document)),
        joined(slow(document, part), causes(document, part)),
        culprit(document, part),
        confidence::sentence(document, part),
        help(document, part),
    ];
    sentences.into_iter().flatten().collect()
}

/// Of a command that lost its time in shorter waits: these come before what others' slow operations waited for.
fn of_short_waits(document: &Value) -> Vec<Sentence> {
    let sentences = [
        joined(none(document), short_waits(document)),
        culprit(document, "/short_waits"),
        joined(of_others(document), causes(document, "")),
        confidence::sentence(document, ""),
        help(document, ""),
    ];
    sentences.into_iter().flatten().collect()
}

/// More are too many to be read: who stalled, and on what, is then one.
fn at_most_five(mut sentences: Vec<Sentence>) -> Vec<Sentence> {
    if sentences.len() > SENTENCES {
        let second = sentences.remove(1);
        sentences[0].join(second);
    }
    sentences
}

/// The key `findings`: each sentence with the values it is made of.
fn json(sentences: &[Sentence]) -> Value {
    let fact = |fact: &Fact| json!({"text": fact.text, "path": fact.path});
    let sentence = |sentence: &Sentence| json!({"text": sentence.text, "values": sentence.facts.iter().map(fact).collect::<Vec<_>>()});
    sentences.iter().map(sentence).collect()
}

/// As lines of a terminal.
pub fn text(sentences: &[Sentence], style: Style) -> String {
    lines(sentences, columns(style)).into_iter().map(|line| format!("{line}\n")).collect()
}

/// As lines of so many columns.
pub fn lines(sentences: &[Sentence], columns: usize) -> Vec<String> {
    let texts: Vec<String> = sentences.iter().map(Sentence::with_units).collect();
    let lines = filled(texts.iter().flat_map(|text| text.split(' ')), " ", columns);
    lines.iter().map(|line| line.replace(UNBREAKABLE, " ")).collect()
}

fn has_operations(document: &Value, part: &str) -> bool {
    document.pointer(&count_path(part)).and_then(Value::as_u64).is_some_and(|count| count > 0)
}

/// `The causes: 80 % cgroup I/O throttling, 15 % lock (due to device of dd/93, 14 %).`
fn causes(document: &Value, part: &str) -> Option<Sentence> {
    let mut writer = Writer::new(document);
    let list = document.pointer(&format!("{part}/causes"))?.as_array()?;
    let is_named = |(_, cause): &(usize, &Value)| cause["cause"] != "unexplained";
    let mut named: Vec<(usize, &Value)> = list.iter().enumerate().filter(is_named).take(CAUSES).collect();
    let large = named.iter().filter(|(_, cause)| cause["share"].as_f64() >= Some(LEAST)).count();
    named.truncate(large.max(1));
    for (number, (at, _)) in named.iter().enumerate() {
        writer.say(match (number, named.len()) {
            (0, 1) => "The cause: ",
            (0, _) => "The causes: ",
            _ => ", ",
        });
        writer.value(&format!("{part}/causes/{at}/share"), Kind::Share)?;
        writer.say(" ");
        writer.value(&format!("{part}/causes/{at}/cause"), Kind::Cause)?;
        behind(&mut writer, document, &list[*at])?;
    }
    (!named.is_empty()).then(|| writer.end())
}

/// ` (due to device of dd/93, 14 %)`, where most of the time with a cause is behind waits of one kind; ` (redis-server/93)`, where it is
/// another task's wait of this kind.
fn behind(writer: &mut Writer<'_>, document: &Value, cause: &Value) -> Option<()> {
    let list = document["behind"].as_array().map_or(&[][..], Vec::as_slice);
    let least = cause["share"].as_f64()? / 2.0;
    let is_most = |behind: &Value| behind["cause"] == cause["cause"] && behind["share"].as_f64() >= Some(least);
    let Some(at) = list.iter().position(is_most) else { return Some(()) };
    let (path, is_same) = (format!("/behind/{at}"), list[at]["end"] == cause["cause"]);
    let most_ns = list[at]["time_ns"].as_f64()? * MOST;
    let has_task = list[at].pointer("/tasks/0/time_ns").and_then(Value::as_f64) >= Some(most_ns);
    if is_same && !has_task {
        return Some(());
    }
    writer.say(" (");
    if !is_same {
        writer.say("due to ");
        writer.value(&format!("{path}/end"), Kind::Cause)?;
    }
    if has_task {
        writer.say(if is_same { "" } else { " of " });
        writer.value(&format!("{path}/tasks/0/task"), Kind::Name)?;
    }
    if !is_same {
        writer.say(", ");
        writer.value(&format!("{path}/share"), Kind::Share)?;
    }
    writer.say(")");
    Some(())
}

/// `5,000 shorter waits of at most 98.0 ms cost the recorded command 41.2 s, 98 % of its non-idle time: 96 % journal, 4 % lock.`
fn short_waits(document: &Value) -> Option<Sentence> {
    let waits = document.get("short_waits")?;
    waits["matter"].as_bool().filter(|matter| *matter)?;
    let mut writer = Writer::new(document);
    writer.counted("/short_waits/count", "shorter wait")?;
    if waits["recorded_individually"].as_u64() > Some(0) {
        writer.say(" of at most ");
        writer.value("/short_waits/longest_ns", Kind::Duration)?;
    }
    writer.say(" cost the recorded command ");
    writer.value("/short_waits/time_ns", Kind::Duration)?;
    writer.say(", ");
    writer.value("/short_waits/share", Kind::Share)?;
    writer.say(" of its non-idle time");
    let large = waits["causes"].as_array()?.iter().filter(|cause| cause["share"].as_f64() >= Some(LEAST)).count();
    for at in 0..large.clamp(1, CAUSES) {
        writer.say(if at == 0 { ": " } else { ", " });
        writer.value(&format!("/short_waits/causes/{at}/share"), Kind::Share)?;
        writer.say(" ");
        writer.value(&format!("/short_waits/causes/{at}/cause"), Kind::Cause)?;
    }
    Some(writer.end())
}

/// Who or what held the operations.
fn culprit(document: &Value, part: &str) -> Option<Sentence> {
    let path = format!("{part}/culprits/0");
    let culprit = document.pointer(&path)?;
    let mut writer = Writer::new(document);
    let limited = culprit["cause"] == "io_throttle";
    let known = |key: &str| !culprit[key].is_null() && culprit[key] != "/";
    if culprit["time_ns"].as_f64() < Some(LEAST * lost_ns(document, part)?) {
        writer.say("No root blocker is known");
        return Some(writer.end());
    }
    if known("task") {
        blocker(&mut writer, &path, culprit)?;
        if known("cgroup") {
            writer.say(" of ");
            writer.value(&place_of(&path, culprit), Kind::Name)?;
        }
        writer.say(if delayed_itself(culprit) { " itself" } else { "" });
        writer.say(what_it_used(culprit));
    } else if limited && known("cgroup") {
        writer.say(cgroup_words("The largest root blocker is the limit of ", culprit).as_str());
        writer.value(&place_of(&path, culprit), Kind::Name)?;
    } else if culprit["cause"] == "stopped" && known("cgroup") {
        writer.say(cgroup_words("The largest root blocker is the freezer of ", culprit).as_str());
        writer.value(&place_of(&path, culprit), Kind::Name)?;
    } else if known("device") {
        writer.say(if limited {
            "The largest root blocker is a limit"
        } else {
            "The largest root blocker is the disk"
        });
    } else {
        return unknown_blocker(writer, &path);
    }
    place(&mut writer, &path, known)?;
    writer.say(if are_many(culprit) { ": they cost " } else { ": it cost " });
    cost(&mut writer, &path)?;
    convoy(&mut writer, &path, culprit)?;
    Some(writer.end())
}

/// Where its place is in the document: its container, else its cgroup.
fn place_of(path: &str, culprit: &Value) -> String {
    format!("{path}/{}", if culprit["container"].is_string() { "container" } else { "cgroup" })
}

fn cgroup_words(of: &str, culprit: &Value) -> String {
    format!("{of}{}", if culprit["container"].is_string() { "" } else { "cgroup " })
}

/// `, which used up the I/O limit`
fn what_it_used(culprit: &Value) -> &'static str {
    match culprit["cause"].as_str() {
        _ if culprit["evicts"] == true => ", which filled the memory that held what they read again",
        Some("io_throttle") => ", which used up the I/O limit",
        _ => "",
    }
}

/// The time of the slow operations, or of the shorter waits.
fn lost_ns(document: &Value, part: &str) -> Option<f64> {
    let total = if part == "/short_waits" { "time_ns" } else { "wall_ns" };
    document.pointer(&format!("{part}/{total}")).and_then(Value::as_f64)
}

/// `, and held up 16 tasks at once`
fn convoy(writer: &mut Writer<'_>, path: &str, culprit: &Value) -> Option<()> {
    if !culprit["at_once"].is_null() {
        writer.say(", and held up ");
        writer.counted(&format!("{path}/at_once"), "task")?;
        writer.say(" at once");
    }
    Some(())
}

/// `2.40 s (lock)`
fn cost(writer: &mut Writer<'_>, path: &str) -> Option<()> {
    writer.value(&format!("{path}/time_ns"), Kind::Duration)?;
    writer.say(" (");
    writer.value(&format!("{path}/cause"), Kind::Cause)?;
    writer.say(")");
    Some(())
}

/// `The root blocker of 2.40 s (lock) is unknown.`
fn unknown_blocker(mut writer: Writer<'_>, path: &str) -> Option<Sentence> {
    writer.say("The root blocker of ");
    cost(&mut writer, path)?;
    writer.say(" is unknown");
    Some(writer.end())
}

fn are_many(culprit: &Value) -> bool {
    culprit["tasks"].as_u64() > Some(1)
}

/// `The largest root blocker is tar/93`, or `The largest root blockers are 12 tasks such as head/95`.
fn blocker(writer: &mut Writer<'_>, path: &str, culprit: &Value) -> Option<()> {
    if are_many(culprit) {
        writer.say("The largest root blockers are ");
        writer.counted(&format!("{path}/tasks"), "task")?;
        writer.say(" such as ");
    } else {
        writer.say("The largest root blocker is ");
    }
    writer.value(&format!("{path}/task"), Kind::Name)?;
    if !culprit["role"].is_null() {
        writer.say(" (");
        writer.value(&format!("{path}/role"), Kind::Name)?;
        writer.say(")");
    }
    if !culprit["started_by"].is_null() {
        writer.say(" (started by ");
        writer.value(&format!("{path}/started_by"), Kind::Name)?;
        writer.say(")");
    }
    if !culprit["through"].is_null() {
        writer.say(" (through ");
        writer.value(&format!("{path}/through"), Kind::Name)?;
        writer.say(")");
    }
    Some(())
}

fn delayed_itself(culprit: &Value) -> bool {
    let own_ns = culprit["own_ns"].as_f64().unwrap_or(0.0);
    !are_many(culprit) && own_ns > 0.0 && Some(own_ns) >= culprit["time_ns"].as_f64().map(|ns| ns * MOST)
}

/// ` on loop0 (ext4 on /mnt/a)`
fn place(writer: &mut Writer<'_>, path: &str, known: impl Fn(&str) -> bool) -> Option<()> {
    if let Some(key) = ["device_name", "device"].into_iter().find(|key| known(key)) {
        writer.say(" on ");
        writer.value(&format!("{path}/{key}"), Kind::Name)?;
    }
    if known("file_system") {
        writer.say(" (");
        writer.value(&format!("{path}/file_system"), Kind::Name)?;
        writer.say(")");
    }
    Some(())
}

/// The document of `explain --json`, with what would help and the findings.
pub fn document(run: &str, explanation: &Explanation, advice: &Advice) -> Value {
    let mut document = crate::json::explanation(run, explanation);
    document["what_if"] = crate::json::what_if(advice);
    document["behind"] = crate::json::behind(&advice.behind);
    add(&mut document);
    document
}

/// Adds what findings need to a document, and the findings.
fn add(document: &mut Value) {
    document["confidence"] = confidence::of(document);
    let sentences = findings(document);
    document["findings"] = json(&sentences);
}
