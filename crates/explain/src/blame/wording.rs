//! What is known of a wait, in words.

use model::quantity::{Bytes, Nanoseconds};
use model::stall::{KindCounts, RequestRecord, StallKind};

use super::cause::Cause;
use super::request;
use super::rows::Row;
use super::run_index::RunIndex;

/// What a row says of a time with that cause.
pub(super) fn describe(index: &RunIndex, row: &Row, cause: Cause) -> Option<String> {
    if cause == Cause::CpuWait {
        return Some(cpu_wait(index, row));
    }
    let is_sum = row.kind != StallKind::Span && row.count > 1;
    let often = if is_sum { format!("{} short waits: ", row.count) } else { String::new() };
    if let Some(life) = index.request(row).filter(|_| index.is_of_request(row, cause)) {
        return Some(format!("{often}{}", request_words(life)));
    }
    let detail = row.detail.map(|detail| format!(" ({})", index.names.get(detail))).unwrap_or_default();
    let stack = index.stack(row.stack);
    let rule = stack.and_then(|stack| stack.rule);
    let words = match (index.announced(row), rule) {
        // The rule tells the same more closely.
        (Some(announced), Some(rule)) if announced.cause == rule.cause || rule.cause == Cause::Frozen => rule.words,
        (Some(announced), _) => announced.words,
        (None, Some(rule)) => rule.words,
        (None, None) => "asleep",
    };
    let place = stack.map(|stack| index.names.get(stack.top)).filter(|top| !top.is_empty());
    let place = match cause {
        Cause::Lock => place.and_then(|top| top.split(" < ").next()),
        Cause::Unexplained => place,
        _ => None,
    };
    let place = place.map(|place| format!(" in {place}")).unwrap_or_default();
    (rule.is_some() || row.announced.is_some() || !place.is_empty()).then(|| format!("{often}{words}{detail}{place}"))
}

fn cpu_wait(index: &RunIndex, row: &Row) -> String {
    if row.kind == StallKind::ShortCpuWaits {
        return if row.count == 1 { "a short wait".to_owned() } else { format!("{} short waits", row.count) };
    }
    let waited = Nanoseconds(row.end_ns - row.runnable_ns);
    let behind = row.behind_tid.map(|tid| index.tasks.who(tid, row.end_ns, &index.names));
    let behind = behind.map_or_else(String::new, |behind| format!("; {behind} had the CPU last"));
    if row.runnable_ns == row.start_ns {
        format!("put off the CPU for {waited}{behind}")
    } else {
        format!("woken, and ran only {waited} later{behind}")
    }
}

/// `R on 8,0, 256 KiB (queued 200 ms, at the device 1.7 s; at least 445 R overtook it)`.
pub(super) fn request_words(life: &RequestRecord) -> String {
    let mut stages = Vec::new();
    if life.throttled {
        stages.push("held back by a limit of its cgroup".to_owned());
    }
    stages.extend(request::queue_ns(life).filter(|&ns| ns > 0).map(|ns| format!("queued {}", Nanoseconds(ns))));
    stages.extend(request::device_ns(life).map(|ns| format!("at the device {}", Nanoseconds(ns))));
    let mut words = stages.join(", ");
    if !life.overtaken_by.is_empty() {
        words = format!("{words}; at least {} overtook it", kinds(&life.overtaken_by));
    }
    let words = if words.is_empty() { words } else { format!(" ({words})") };
    format!("{} on {}, {}{words}", life.kind, life.device, Bytes(u64::from(life.bytes)))
}

/// `445 R, 22 RM`: the most first.
pub(super) fn kinds(counts: &KindCounts) -> String {
    let mut counts = counts.clone();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    counts.join(", ")
}
