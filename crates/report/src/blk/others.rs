//! Counts of other bios around a slow bio: `445 R, 82 W`.

use lifecycle::Others;
use model::quantity::grouped;
use serde_json::{Map, Value, json};

use super::BlkFindings;

/// `445 R, 82 W, 31 RA, 22 RM`
pub(super) fn kinds(others: &Others) -> String {
    list(others.by_kind.iter().map(|(kind, count)| format!("{} {kind}", grouped(*count))))
}

/// `mutt/1234 445, dd/99 22`: the first few.
pub(super) fn processes(others: &Others, findings: &BlkFindings<'_>, most: usize) -> String {
    let named = others.by_process.iter().take(most);
    list(named.map(|(pid, count)| format!("{} {}", findings.thread(*pid), grouped(*count))))
}

fn list(parts: impl Iterator<Item = String>) -> String {
    let text = parts.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "nothing".to_owned() } else { text }
}

/// `{"R": 445, "W": 82}`, or `null` if unknown.
pub(super) fn kinds_json(others: Option<&Others>) -> Value {
    let Some(others) = others else { return Value::Null };
    others.by_kind.iter().map(|(kind, count)| (kind.to_string(), json!(count))).collect::<Map<_, _>>().into()
}

/// By kind, thread, cgroup and device; `null` if unknown.
pub(super) fn others_json(others: Option<&Others>, findings: &BlkFindings<'_>) -> Value {
    let Some(others) = others else { return Value::Null };
    let cgroups = others.by_cgroup.iter().map(|(cgroup, count)| (cgroup.to_string(), json!(count)));
    let devices = others.by_device.iter().map(|(device, count)| (device.to_string(), json!(count)));
    json!({
        "kinds": kinds_json(Some(others)),
        "threads": threads_json(Some(others), findings),
        "cgroups": cgroups.collect::<Map<_, _>>(),
        "devices": devices.collect::<Map<_, _>>(),
    })
}

/// `{"mutt/1234": 445}`, or `null` if unknown.
pub(super) fn threads_json(others: Option<&Others>, findings: &BlkFindings<'_>) -> Value {
    let Some(others) = others else { return Value::Null };
    let threads = others.by_process.iter().map(|(pid, count)| (findings.thread(*pid), json!(count)));
    threads.collect::<Map<_, _>>().into()
}
