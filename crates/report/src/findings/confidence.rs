//! How well the findings are known.

use serde_json::{Value, json};

use super::sentence::{Kind, LEAST, Sentence, Writer};

/// The key `confidence`.
pub(super) fn of(document: &Value) -> Value {
    let mut confidence = json!({"incomplete": is_incomplete(document), "all": shares(document)});
    if let Some(command) = document.get("command").filter(|command| !command.is_null()) {
        confidence["command"] = shares(command);
    }
    confidence
}

/// `Evidence: 99 % traced, 0.1 % unexplained; nothing was lost.`
pub(super) fn sentence(document: &Value, part: &str) -> Option<Sentence> {
    let mut writer = Writer::new(document);
    let path = format!("/confidence{}", if part.is_empty() { "/all" } else { part });
    writer.say("Evidence: ");
    writer.value(&format!("{path}/traced_share"), Kind::Share)?;
    writer.say(" traced, ");
    for (key, words) in [("stack_share", " stacks, "), ("aggregated_share", " aggregated, ")] {
        if document.pointer(&format!("{path}/{key}")).and_then(Value::as_f64) >= Some(LEAST) {
            writer.value(&format!("{path}/{key}"), Kind::Share)?;
            writer.say(words);
        }
    }
    writer.value(&format!("{path}/unexplained_share"), Kind::Share)?;
    writer.say(" unexplained");
    let incomplete = document.pointer("/confidence/incomplete").and_then(Value::as_bool) == Some(true);
    let excluded = document.pointer("/losses/damaged_rows").and_then(Value::as_u64).unwrap_or(0);
    let lacks_sources = document["untraced"].as_array().is_some_and(|list| !list.is_empty());
    if incomplete {
        writer.say("; the recording is incomplete");
    } else if lacks_sources {
        writer.say("; not all that it needs was traced");
    } else if excluded > 0 {
        writer.say("; ");
        writer.counted("/losses/damaged_rows", "inconsistent row")?;
        writer.say(if excluded == 1 { " is excluded" } else { " are excluded" });
    } else {
        writer.say("; nothing was lost");
    }
    Some(writer.end())
}

/// Shares of a part's time by evidence.
fn shares(part: &Value) -> Value {
    let wall_ns = part["wall_ns"].as_u64().unwrap_or(0).max(1) as f64;
    let list = || part["causes"].as_array().into_iter().flatten();
    let of = |evidence: &str| {
        let ns: u64 = list().filter_map(|cause| cause["evidence"][evidence].as_u64()).sum();
        ns as f64 / wall_ns
    };
    let unexplained = list().find(|cause| cause["cause"] == "unexplained");
    json!({
        "traced_share": of("event"),
        "stack_share": of("stack"),
        "aggregated_share": of("correlation"),
        "unexplained_share": unexplained.and_then(|cause| cause["time_ns"].as_u64()).unwrap_or(0) as f64 / wall_ns,
    })
}

fn is_incomplete(document: &Value) -> bool {
    let losses = &document["losses"];
    let has = |key: &str| match &losses[key] {
        Value::Object(entries) => !entries.is_empty(),
        Value::Array(entries) => !entries.is_empty(),
        count => count.as_u64().unwrap_or(0) > 0,
    };
    ["lost", "tables", "damaged_parts", "unknown_requests"].into_iter().any(has)
}
