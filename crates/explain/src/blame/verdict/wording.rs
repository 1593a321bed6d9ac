//! Descriptions of waits.

use model::cause::traits as traits_of_cause;
use model::detail::Detail;
use model::occasion::Occasion;
use model::quantity::{Bytes, Nanoseconds};
use model::stall::{Awaits, KindCounts, RequestRecord, StallKind};
use model::system_call::traits;
use model::wait_kind::WaitKind;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::request;
use crate::blame::graph::lower_device;
use crate::blame::intents::interruptions::stops;
use crate::blame::verdict::failures;

/// Describes time of a row with that cause.
pub(crate) fn describe(index: &RunIndex, row: &Row, cause: Cause) -> Option<String> {
    let words = described(index, row, cause)?;
    let occasion = occasion(index, row, cause).map(|occasion| format!(", {}", occasion.words()));
    Some(words + occasion.as_deref().unwrap_or_default())
}

/// Why the call waits at all, where the program did not ask for that.
pub(crate) fn occasion(index: &RunIndex, row: &Row, cause: Cause) -> Option<Occasion> {
    let is_wait = !cause.has(traits_of_cause::FOR_CPU | traits_of_cause::CHOSEN) && cause != Cause::Stopped;
    index.stack(row.stack.get()).filter(|_| is_wait).and_then(|stack| stack.occasion)
}

fn described(index: &RunIndex, row: &Row, cause: Cause) -> Option<String> {
    if cause == Cause::CpuWait {
        return Some(cpu_wait(index, row));
    }
    if cause == Cause::CpuThrottle {
        return Some(cpu_throttle(index, row));
    }
    let sleeps = index.awaits(row) == Some(Awaits::Interrupt) || cause == Cause::Sleep;
    if let Some(call) = row.call.filter(|_| sleeps) {
        return Some(format!("asleep in {}", index.names.get(call)));
    }
    if let Some(words) = index.awaits(row).filter(|_| cause == Cause::Unexplained).and_then(other_awaited) {
        return Some(words.to_owned());
    }
    let is_sum = row.kind != StallKind::Span && row.count > 1;
    let times = if is_sum { format!("{} short waits: ", row.count) } else { String::new() };
    if let Some(request) = index.request(row).filter(|_| index.is_of_request(row, cause)) {
        let cause_of = lower_device::with_cause(index, request, cause);
        let above =
            if std::ptr::eq(cause_of, request) { String::new() } else { format!(", beneath {}", disk(index, request)) };
        return Some(format!("{times}{}{above}", request_words(index, cause_of)));
    }
    let detail = index.detail(row).map(|detail| format!(" ({})", with_names(index, detail))).unwrap_or_default();
    let stack = index.stack(row.stack.get());
    let rule = index.rule(row);
    let words = kind(index, row, cause).words();
    let top = stack.map(|stack| index.names.get(stack.top)).filter(|top| !top.is_empty());
    let function = match cause {
        Cause::Lock => top.and_then(|top| top.split(" < ").next()),
        Cause::Unexplained => top,
        _ => None,
    };
    let function = function.map(|function| format!(" in {function}")).unwrap_or_default();
    (rule.is_some() || row.announced.is_some() || !function.is_empty())
        .then(|| format!("{times}{words}{detail}{function}"))
}

/// What a sleep that nothing explains is for, as far as it is known.
fn other_awaited(awaits: Awaits) -> Option<&'static str> {
    match awaits {
        Awaits::Child => Some("waits for its child"),
        Awaits::Message => Some("waits for a message"),
        _ => None,
    }
}

/// What a row with that cause waits for, without particulars.
pub(crate) fn kind(index: &RunIndex, row: &Row, cause: Cause) -> WaitKind {
    if let Some(stop) = stops::kind(index, row).filter(|_| cause == Cause::Stopped) {
        return stop;
    }
    match (index.announced(row), index.rule(row)) {
        _ if cause == Cause::NetworkFs && index.is_answered(row) => WaitKind::FuseServer,
        _ if cause == Cause::Lock && is_polled_for(index, row) => WaitKind::RowLock,
        // The rule is more specific.
        (Some(announced), Some(rule)) if announced.cause == rule.cause || rule.cause == Cause::Frozen => rule.kind,
        (Some(announced), _) => announced.kind,
        (None, Some(rule)) => rule.kind,
        (None, None) => WaitKind::Asleep,
    }
}

/// Whether the task polls for the signal of the process that releases a lock, as PostgreSQL does.
fn is_polled_for(index: &RunIndex, row: &Row) -> bool {
    index.awaits(row) == Some(Awaits::Lock) && index.does(row, traits::POLLS)
}

fn cpu_throttle(index: &RunIndex, row: &Row) -> String {
    let quota = index.detail(row).map(|detail| format!(" ({detail})")).unwrap_or_default();
    let held = Nanoseconds(row.end_ns - row.runnable_ns);
    format!("held for {held} by the CPU quota of its cgroup{quota}")
}

fn cpu_wait(index: &RunIndex, row: &Row) -> String {
    if row.kind == StallKind::ShortCpuWaits {
        return match row.count {
            0 => "short waits".to_owned(),
            1 => "a short wait".to_owned(),
            count => format!("{count} short waits"),
        };
    }
    let waited = Nanoseconds(row.end_ns - row.runnable_ns);
    let behind = row.behind_tid.get().map(|tid| index.tasks.thread(tid, row.end_ns, &index.names));
    let behind = behind.map_or_else(String::new, |behind| format!(" behind {behind}"));
    let stolen = row.cpu.get().and_then(|cpu| stolen(index, cpu, row.runnable_ns, row.end_ns));
    let stolen = stolen.map_or_else(String::new, |stolen| format!(", {stolen}"));
    if row.runnable_ns == row.start_ns {
        format!("preempted for {waited}{behind}{stolen}")
    } else {
        format!("woken, on the run queue for {waited}{behind}{stolen}")
    }
}

/// Describes time on a CPU, where the hypervisor took a part of it. The task's next time off the CPU says which CPU it
/// was.
pub(crate) fn running(index: &RunIndex, tid: u32, from_ns: u64, to_ns: u64) -> Option<String> {
    if index.steal.is_empty() {
        return None;
    }
    let mut later = index.rows_of(tid).filter(|(_, row)| row.start_ns >= to_ns);
    stolen(index, later.find_map(|(_, row)| row.cpu.get())?, from_ns, to_ns)
}

/// The same of a task that another one waited for.
pub(crate) fn running_of_other(index: &RunIndex, tid: u32, from_ns: u64, to_ns: u64) -> String {
    let stolen = running(index, tid, from_ns, to_ns).map_or_else(String::new, |stolen| format!(", {stolen}"));
    format!("work of {}, which it waited for{stolen}", index.tasks.thread(tid, to_ns, &index.names))
}

fn stolen(index: &RunIndex, cpu: u32, from_ns: u64, to_ns: u64) -> Option<String> {
    let ns = index.steal.within(cpu, from_ns, to_ns)?;
    Some(format!("about {} of it stolen by the hypervisor from CPU {cpu}", Nanoseconds(ns)))
}

/// The words of a detail, with the names of the disks that it has by number.
fn with_names(index: &RunIndex, detail: &Detail) -> String {
    detail.words(&|device| index.disk_name(device).unwrap_or_else(|| device.to_string()))
}

/// The name of a request's disk; its number where that is unknown.
fn disk(index: &RunIndex, request: &RequestRecord) -> String {
    index.disk_name(request.device).unwrap_or_else(|| request.device.to_string())
}

/// `R on sda, 256 KiB (queued 200 ms, at the device 1.7 s; at least 445 R overtook it)`.
pub(crate) fn request_words(index: &RunIndex, request: &RequestRecord) -> String {
    let mut stages = Vec::new();
    if request.throttled {
        stages.push("throttled by its cgroup".to_owned());
    }
    stages.extend(failures::words(request));
    stages.extend(request::queue_ns(request).filter(|&ns| ns > 0).map(|ns| format!("queued {}", Nanoseconds(ns))));
    stages.extend(request::device_ns(request).map(|ns| format!("at the device {}", Nanoseconds(ns))));
    let mut words = stages.join(", ");
    let overtaken_by = index.requests.overtaken_by(request);
    if !overtaken_by.is_empty() {
        words = format!("{words}; at least {} overtook it", kinds(&overtaken_by));
    }
    let words = if words.is_empty() { words } else { format!(" ({words})") };
    format!("{} on {}, {}{words}", request.kind, disk(index, request), Bytes(u64::from(request.bytes)))
}

/// `445 R, 22 RM`: the most first.
pub(crate) fn kinds(counts: &KindCounts) -> String {
    let mut counts = counts.clone();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    counts.join(", ")
}
