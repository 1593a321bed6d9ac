//! A run's summary as text: one screen.

mod cgroups;
pub(crate) mod failures;
mod path;

use std::fmt::Write as _;

use explain::summary::{Summary, TimelineRow};
use model::event::{Ending, RunEvent};
use model::lost::noun;
use model::operation::{OperationKind, OperationRecord};
use model::quantity::{Bytes, Nanoseconds};
use model::quantity::{counted, grouped};

use crate::number::{latency, rate, share};
use crate::phases;
use crate::simulation::badge;
use crate::sparkline::sparkline;
use crate::style::{Style, printable};
use crate::table::{push_heading, push_table, table};
use path::below;

/// The whole summary.
pub fn text(run: &str, summary: &Summary, style: Style) -> String {
    let mut text = String::new();
    headline(&mut text, run, summary, style);
    simulated(&mut text, summary, style);
    printed(&mut text, summary, style);
    operations(&mut text, summary, style);
    phases(&mut text, summary, style);
    rates(&mut text, summary, style);
    failures::failures(&mut text, summary, |_| None, style);
    stalls(&mut text, summary, style);
    pressure(&mut text, summary, style);
    cgroups::cgroups(&mut text, summary, style);
    timeline(&mut text, &summary.timeline, style);
    recording(&mut text, summary, style);
    remarks(&mut text, summary, style);
    text
}

fn headline(text: &mut String, run: &str, summary: &Summary, style: Style) {
    let ending = ending(summary.ending);
    let lasted = Nanoseconds(summary.duration_ns);
    let warmup = if summary.warmup_ns > 0 {
        format!(" after {} of warm-up", Nanoseconds(summary.warmup_ns))
    } else {
        String::new()
    };
    if let Some(simulated) = &summary.simulated {
        let _ = writeln!(text, "{}", style.remark(&badge(&simulated.origin)));
    }
    let title = format!("{}: {lasted}{warmup}{ending}", printable(&summary.workload));
    let _ = writeln!(text, "{}", style.heading(&title));
    let _ = writeln!(text, "{}", style.faint(&format!("{}; {}", printable(run), summary.host)));
    let limits = &summary.limits;
    let mut bounds = Vec::new();
    bounds.extend(limits.memory_bytes.map(|bytes| format!("limited to {} (memory cgroup)", Bytes(bytes))));
    bounds.extend(
        limits.disk_bytes_per_s.map(|bytes| format!("disk throttled to {}/s each for reads and writes", Bytes(bytes))),
    );
    bounds.extend(
        limits
            .disk_operations_per_s
            .map(|count| format!("disk throttled to {} IOPS each for reads and writes", grouped(count))),
    );
    if !bounds.is_empty() {
        let version = limits.cgroup_version.map_or_else(String::new, |version| format!(", cgroup v{version}"));
        let _ = writeln!(text, "{}", style.faint(&format!("{}{version}", bounds.join(", "))));
    }
}

/// How a run ended, after its duration.
pub(crate) fn ending(ending: Option<Ending>) -> &'static str {
    match ending {
        Some(Ending::Done) => "",
        Some(Ending::Interrupted) => ", interrupted",
        Some(Ending::LoadDied) => ", the load died",
        Some(Ending::LoadFailed) => ", the load failed",
        Some(Ending::ArchiveFull) => ", stopped because the archive's disk was full",
        None => ", still running or cut off",
    }
}

fn simulated(text: &mut String, summary: &Summary, style: Style) {
    let Some(simulated) = &summary.simulated else { return };
    if let Some(course) = &simulated.course {
        text.push_str(&crate::simulation::of_run(course, style));
    }
}

pub(crate) fn operations(text: &mut String, summary: &Summary, style: Style) {
    if summary.operations.is_empty() {
        return;
    }
    push_heading(text, "Latency of finished operations", style);
    let mut latencies = table(&["", "count", "mean", "p50", "p95", "p99", "p99.9", "max", "errors"], 1);
    let mut unsupported = false;
    for operation in &summary.operations {
        let all = &operation.latencies;
        let mut quantile = |quantile: f64| {
            let mark = if all.supports(quantile) || all.count() == 0 { "" } else { "*" };
            unsupported |= !mark.is_empty();
            format!("{}{mark}", latency(all.quantile_ns(quantile)))
        };
        latencies.add_row([
            printable(&operation.class),
            grouped(all.count()),
            latency(all.mean_ns()),
            quantile(0.50),
            quantile(0.95),
            quantile(0.99),
            quantile(0.999),
            latency(all.max_ns()),
            grouped(all.errors()),
        ]);
    }
    push_table(text, &latencies);
    if unsupported {
        let _ = writeln!(text, "{}", style.faint(" * too few samples for this percentile; run longer"));
    }
    for operation in summary.operations.iter().filter(|operation| operation.stuck > 0) {
        let oldest = latency(operation.stuck_oldest_ns);
        let unfinished = counted(operation.stuck, &format!("{} operation", printable(&operation.class)));
        let line = format!(" {unfinished} had not finished at the end, the oldest after {oldest}; not in the table");
        let _ = writeln!(text, "{}", style.bad(&line));
    }
}

pub(crate) fn phases(text: &mut String, summary: &Summary, style: Style) {
    if !phases::are_informative(summary) {
        return;
    }
    push_heading(text, "Phases", style);
    let mut rows = table(&["", "time", "bytes", "bytes/s", "operations/s", "errors"], 1);
    phases::rows(summary, &mut rows);
    push_table(text, &rows);
    for line in phases::lines(summary, style) {
        let _ = writeln!(text, " {line}");
    }
}

pub(crate) fn rates(text: &mut String, summary: &Summary, style: Style) {
    if summary.rates.is_empty() {
        return;
    }
    push_heading(text, "Rates, per second", style);
    let mut rates = table(&["", "mean", "p50", "p95", "p99", "max"], 1);
    for (name, figures) in &summary.rates {
        let show = |per_s: f64| if name == "bytes" { Bytes(per_s as u64).to_string() } else { rate(per_s) };
        rates.add_row([
            name.replace('_', " "),
            show(figures.mean_per_s),
            show(figures.p50_per_s),
            show(figures.p95_per_s),
            show(figures.p99_per_s),
            show(figures.max_per_s),
        ]);
    }
    push_table(text, &rates);
}

fn stalls(text: &mut String, summary: &Summary, style: Style) {
    if summary.operations.is_empty() {
        return;
    }
    let threshold = Nanoseconds(summary.slower_than_ns);
    push_heading(text, &format!("Stalls: operations slower than {threshold}"), style);
    if summary.slow.is_empty() && summary.worst.is_empty() {
        let _ = writeln!(text, " none");
    }
    let counts: Vec<String> =
        summary.slow.iter().map(|slow| format!("{} {}", grouped(slow.count), printable(&slow.class))).collect();
    if !counts.is_empty() {
        let _ = writeln!(text, " {}", counts.join(", "));
    }
    for operation in summary.worst.iter().take(5) {
        let _ = writeln!(text, " {}", worst_line(operation, summary));
    }
}

/// One of the worst operations.
pub(crate) fn worst_line(operation: &OperationRecord, summary: &Summary) -> String {
    let since_start = operation.start_ns.saturating_sub(summary.started_ns) as f64 / 1e9;
    let state = if operation.kind == OperationKind::Stuck { "unfinished" } else { "finished" };
    let path =
        operation.path.as_deref().map(|path| format!("  {}", printable(below(path, summary)))).unwrap_or_default();
    format!(
        "{:>9}  {:<12} thread {:<8} from {since_start:.1} s, {state}{path}",
        Nanoseconds(operation.duration_ns),
        printable(&operation.class),
        operation.tid
    )
}

fn pressure(text: &mut String, summary: &Summary, style: Style) {
    if summary.pressure.is_empty() && summary.memory_cgroup.is_none() {
        return;
    }
    push_heading(text, "Pressure", style);
    for resource in ["memory", "io", "cpu"] {
        let of = |extent: &str| {
            summary.pressure.iter().find(|p| p.resource == resource && p.extent == extent).map(|p| share(p.share))
        };
        if let Some(some) = of("some") {
            // Machine-wide CPU `full` is always 0: some task runs while others wait.
            let full =
                of("full").filter(|_| resource != "cpu").map_or_else(String::new, |full| format!(", full {full}"));
            let _ = writeln!(text, " {resource:<7} PSI some {some}{full}");
        }
    }
    if let Some(figures) = summary.memory_cgroup {
        let used = figures.max_usage_bytes.map_or_else(|| "unknown".to_owned(), |bytes| Bytes(bytes).to_string());
        let _ = write!(text, " cgroup  peak memory usage {used}, limit {}", Bytes(figures.limit_bytes));
        if let Some(hits) = figures.limit_hits_per_s {
            let _ = write!(text, "; limit hit {} times/s", rate(hits));
        }
        if let Some(reclaims) = figures.reclaims_per_s {
            let _ = write!(text, "; {} direct reclaims/s", rate(reclaims));
        }
        text.push('\n');
    }
}

fn timeline(text: &mut String, rows: &[TimelineRow], style: Style) {
    let rows: Vec<&TimelineRow> = rows.iter().filter(|row| row.values.len() > 1).collect();
    if rows.is_empty() {
        return;
    }
    push_heading(text, "Over time", style);
    let width = rows.iter().map(|row| printable(&row.name).chars().count()).max().unwrap_or(0);
    for row in rows {
        let largest = row.values.iter().flatten().copied().fold(0.0, f64::max);
        let _ = writeln!(
            text,
            " {:<width$} {}  max {}",
            printable(&row.name),
            sparkline(&row.values, style),
            rate(largest)
        );
    }
}

/// Figures of a recorded command (`record --metric`).
fn printed(text: &mut String, summary: &Summary, style: Style) {
    if summary.printed.is_empty() {
        return;
    }
    push_heading(text, "The command's figures", style);
    let mut rows = table(&["", ""], 1);
    for (name, value) in &summary.printed {
        rows.add_row(vec![printable(name), value.to_string()]);
    }
    // Without the line of the empty headings.
    rows.lines().skip(1).for_each(|line| {
        let _ = writeln!(text, " {}", line.trim_end());
    });
}

fn recording(text: &mut String, summary: &Summary, style: Style) {
    let recording = &summary.recording;
    push_heading(text, if summary.simulated.is_some() { "Output" } else { "Recording" }, style);
    let (samples, metrics) = (counted(recording.samples, "sample"), counted(recording.metrics, "metric"));
    let mut parts = vec![format!("{samples} of {metrics}")];
    parts.extend(
        recording
            .cpu_ms_per_sample
            .filter(|_| summary.simulated.is_none())
            .map(|ms| format!("{ms:.2} ms of CPU per sample")),
    );
    parts.extend(recording.bytes_per_sample.map(|bytes| format!("{} bytes per sample", grouped(bytes.round() as u64))));
    parts.extend(recording.archive_bytes.map(|bytes| format!("{} total", Bytes(bytes))));
    let _ = writeln!(text, " {}", parts.join(", "));
    if let Some(trace) = &recording.trace {
        let programs = match trace.programs_cpu_ns {
            Some(_) => "",
            None => " (without the BPF programs, whose run time this kernel does not report)",
        };
        let cpu =
            trace.cpu_share().map_or_else(String::new, |of_one| format!(", {} of one CPU{programs}", share(of_one)));
        let _ = writeln!(text, " {} traced{cpu}", counted(trace.events, "event"));
    }
    let losses = [
        (recording.late_samples, "late sample"),
        (recording.missing_samples, "missing sample"),
        (recording.lost_events, "lost event"),
    ];
    let losses: Vec<String> =
        losses.iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(*count, what)).collect();
    let line = if losses.is_empty() { " nothing lost".to_owned() } else { format!(" {}", losses.join(", ")) };
    let _ = writeln!(text, "{}", if losses.is_empty() { line } else { style.remark(&line) });
}

/// Losses, clock steps and notes, one line each.
pub(crate) fn remark_lines(summary: &Summary) -> Vec<String> {
    let line = |remark: &RunEvent| match remark {
        RunEvent::ClockStep { by_ns, .. } => {
            Some(format!("the wall clock stepped by {:.3} s; no duration is affected", *by_ns as f64 / 1e9))
        }
        RunEvent::TableDropped { table, why, .. } => Some(format!("table '{table}' was abandoned: {}", printable(why))),
        RunEvent::Loss { what, count, .. } => {
            Some(format!("{} {} lost", grouped(*count), printable(&noun(*count, what))))
        }
        RunEvent::Note { text, .. } => Some(printable(text)),
        _ => None,
    };
    summary.remarks.iter().filter_map(line).collect()
}

fn remarks(text: &mut String, summary: &Summary, style: Style) {
    for line in remark_lines(summary) {
        let _ = writeln!(text, " {}", style.remark(&line));
    }
    for finding in &summary.missing {
        let why = finding.why.as_deref().unwrap_or("missing");
        let remedy = finding.remedy.as_deref().map_or_else(String::new, |remedy| format!(" ({})", printable(remedy)));
        let _ = writeln!(
            text,
            " {}",
            style.faint(&format!("without {}: {}{remedy}", printable(&finding.capability), printable(why)))
        );
    }
}
