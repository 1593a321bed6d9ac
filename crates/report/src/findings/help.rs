//! The sentence that says what would help.

use serde_json::Value;

use super::LEAST;
use super::sentence::{Kind, Sentence, Writer};

/// The first remedy that saves enough to be named, with its predicted effect.
pub(super) fn help(document: &Value, part: &str) -> Option<Sentence> {
    let choices = document.pointer("/what_if/choices")?.as_array()?;
    let at = choices.iter().position(|choice| choice["saved_share"].as_f64() >= Some(LEAST))?;
    let path = format!("/what_if/choices/{at}");
    let choice = &choices[at];
    let mut writer = Writer::new(document);
    let of_others = part.is_empty() && document["command"].is_object();
    writer.say(if of_others { "What would help these other programs: " } else { "What would help: " });
    writer.value(&format!("{path}/title"), Kind::Name)?;
    writer.say(if choice["at_most"] == Value::Bool(true) { "; predicted, at best: " } else { "; predicted: " });
    writer.value(&format!("{path}/predicted/total_ns/value"), Kind::Duration)?;
    writer.say(" instead of ");
    writer.value(&format!("{path}/predicted/recorded/total_ns"), Kind::Duration)?;
    writer.say(", ");
    writer.counted(&format!("{path}/predicted/slow_operations/value"), "operation")?;
    writer.say(" still slow");
    if let Some(other) = evicted(choices, at).filter(|other| *other != at) {
        writer.say("; or ");
        writer.value(&format!("/what_if/choices/{other}/title"), Kind::Name)?;
    }
    if shorter_waits_cost_more(document, part) {
        writer.say("; for the shorter waits, which cost more, a recording with a lower --slower-than predicts it");
    }
    Some(writer.end())
}

/// Whether the waits that no slow operation holds cost more than all that do.
fn shorter_waits_cost_more(document: &Value, part: &str) -> bool {
    let ns = |path: &str| document.pointer(path).and_then(Value::as_u64);
    document["short_waits"]["matter"] == Value::Bool(true)
        && ns("/short_waits/time_ns") > ns(&format!("{part}/wall_ns"))
}

/// Shorter waits are sums: what would help them is known of a recording that has them individually.
pub(super) fn short_help(document: &Value) -> Option<Sentence> {
    document["short_waits"]["matter"].as_bool().filter(|matter| *matter)?;
    let mut writer = Writer::new(document);
    writer.say("A recording with a lower --slower-than predicts what would help");
    Some(writer.end())
}

/// Where a memory limit evicts what is read again, the choice that raises it, if that may save a third of what the best one does: a
/// faster disk would read the same again and again. How much memory it takes is unknown, so that it comes second.
fn evicted(choices: &[Value], best: usize) -> Option<usize> {
    let least = choices[best]["saved_share"].as_f64()? / 3.0;
    choices
        .iter()
        .position(|choice| choice["change"]["edge"] == "refault" && choice["saved_share"].as_f64() >= Some(least))
}
