//! A trace as text.

use std::fmt::Write as _;

use lifecycle::{DeviceReport, Histogram, Phase, SubmitterTimes};
use model::quantity::{Bytes, Nanoseconds};
use model::quantity::{counted, grouped, verb};

use super::{BlkFindings, merge_ratio, merged, overhead, slow};
use crate::number::{latency, share};
use crate::style::{Style, printable};
use crate::table::{push_section, table};

/// Rows of a table of processes or cgroups.
const ROWS: usize = 15;

/// The whole text.
pub fn text(findings: &BlkFindings<'_>, style: Style) -> String {
    let mut text = String::new();
    headline(&mut text, findings, style);
    warnings(&mut text, findings, style);
    if findings.report.devices.is_empty() {
        return text;
    }
    phases(&mut text, findings, style);
    shares(&mut text, findings, style);
    devices(&mut text, findings, style);
    kinds(&mut text, findings, style);
    submitters(&mut text, "Processes, most bytes first", &findings.report.processes, style, |&pid| {
        findings.thread(pid)
    });
    submitters(&mut text, "Cgroups, most bytes first", &findings.report.cgroups, style, u64::to_string);
    slow::section(&mut text, findings, style);
    text
}

fn headline(text: &mut String, findings: &BlkFindings<'_>, style: Style) {
    let (report, reading) = (findings.report, &findings.reading);
    let length = Nanoseconds(report.last_ns.saturating_sub(report.first_ns));
    let (events, devices) = (counted(reading.events, "event"), counted(report.devices.len() as u64, "device"));
    let title = format!("{events} over {length} on {devices}");
    let _ = writeln!(text, "{}", style.heading(&title));
    let inputs: Vec<String> = reading.inputs.iter().map(|name| printable(name)).collect();
    let _ = writeln!(text, "{}", style.faint(&format!("{}; {}", inputs.join(", "), Bytes(reading.bytes))));
}

fn warnings(text: &mut String, findings: &BlkFindings<'_>, style: Style) {
    for line in damage(findings).into_iter().chain(clock_jumps(findings)) {
        let _ = writeln!(text, "{}", style.bad(&line));
    }
    for line in missing(findings) {
        let _ = writeln!(text, "{}", style.remark(&line));
    }
    for line in anomalies(findings).into_iter().chain(excluded(findings)) {
        let _ = writeln!(text, "{}", style.remark(&line));
    }
}

fn damage(findings: &BlkFindings<'_>) -> Vec<String> {
    let reading = &findings.reading;
    let mut lines = Vec::new();
    if reading.gaps > 0 {
        let (lost, gaps) = (counted(reading.lost_events, "event"), counted(reading.gaps, "gap"));
        lines.push(format!(
            "{lost} lost, in {gaps}: depths, rates and counts are too low; bios in flight during a gap are excluded"
        ));
    }
    if reading.noticed_late > 0 {
        let (late, were) = (grouped(reading.noticed_late), verb(reading.noticed_late, "was", "were"));
        lines.push(format!("{late} of these gaps {were} found late: times of bios that completed before may be wrong"));
    }
    let damage = reading.damage.iter().filter(|(name, count, _)| *count > 0 && *name != "gap");
    lines.extend(damage.map(|(name, count, amount)| {
        format!("{}: {}, {} total", name.replace('_', " "), counted(*count, "time"), grouped(*amount))
    }));
    lines
}

/// Kinds of events that the trace lacks, with what is unknown without them.
fn missing(findings: &BlkFindings<'_>) -> Vec<String> {
    let missing: Vec<&str> = findings.missing_events();
    if missing.is_empty() {
        return Vec::new();
    }
    let is_known = |phase: &&Phase| findings.report.phases[**phase].count() > 0;
    let unknown: Vec<&str> = [Phase::Q2Q, Phase::Q2G, Phase::G2I, Phase::I2D, Phase::D2C, Phase::Q2C]
        .iter()
        .filter(|phase| !is_known(phase) && missing.iter().any(|letter| phase.name().contains(letter)))
        .map(|phase| phase.name())
        .collect();
    let without = if Phase::ALL.iter().any(|phase| is_known(&phase)) {
        format!("{} are unknown", unknown.join(", "))
    } else {
        "no time of a bio is known, only rates and sizes".to_owned()
    };
    let of_remaps = if findings.remaps_stand_for_queueing() { "; A stands for Q" } else { "" };
    vec![format!(
        "the trace has no {} events, so that {without}{of_remaps}; blktrace without -a records all",
        missing.join(", ")
    )]
}

fn clock_jumps(findings: &BlkFindings<'_>) -> Vec<String> {
    let report = findings.report;
    let line = |jump: &lifecycle::Jump| {
        let at = Nanoseconds(jump.at_ns.saturating_sub(report.first_ns));
        let by = Nanoseconds(jump.by_ns.unsigned_abs());
        let way = if jump.by_ns < 0 { "back" } else { "ahead" };
        format!("the clock jumps {by} {way} at {at}; bios in flight then are excluded")
    };
    report.clock.jumps.iter().take(5).map(line).collect()
}

fn anomalies(findings: &BlkFindings<'_>) -> Option<String> {
    let counts = findings.report.anomalies.counts();
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let anomalies: Vec<String> =
        counts.map(|(name, count)| format!("{} {}", grouped(*count), name.replace('_', " "))).collect();
    (!anomalies.is_empty()).then(|| format!("events that do not fit a bio's lifecycle: {}", anomalies.join(", ")))
}

fn excluded(findings: &BlkFindings<'_>) -> Option<String> {
    let sum = |pick: fn(&DeviceReport) -> u64| findings.report.devices.iter().map(pick).sum::<u64>();
    let after_loss = sum(|device| device.tables.counted_out.after_loss);
    let across = sum(|device| device.tables.counted_out.across_clock_jump);
    (after_loss + across > 0).then(|| {
        format!(
            "excluded bios: {} because of lost events, {} because of clock jumps",
            grouped(after_loss),
            grouped(across)
        )
    })
}

fn phases(text: &mut String, findings: &BlkFindings<'_>, style: Style) {
    let mut add = |title: &str, phases: &lifecycle::PerPhase<Histogram>| {
        let mut rows = table(&["", "count", "min", "mean", "p50", "p99", "max"], 1);
        for phase in Phase::ALL.into_iter().filter(|&phase| phases[phase].count() > 0) {
            let times = &phases[phase];
            rows.add_row([
                phase.name().to_owned(),
                grouped(times.count()),
                latency(times.min()),
                latency(times.mean()),
                latency(times.quantile(0.50)),
                latency(times.quantile(0.99)),
                latency(times.max()),
            ]);
        }
        push_section(text, title, &rows, style);
    };
    add("Phases, all devices", &findings.report.phases);
    if findings.report.devices.len() > 1 {
        for device in &findings.report.devices {
            add(&format!("Phases, device {}", device.device), &device.tables.phases);
        }
    }
}

fn shares(text: &mut String, findings: &BlkFindings<'_>, style: Style) {
    let mut headings = vec![""];
    headings.extend(Phase::PARTS.iter().map(|phase| phase.name()));
    headings.push("undivided");
    let mut rows = table(&headings, 1);
    let devices = || findings.report.devices.iter().map(|device| &device.tables);
    let named = findings.report.devices.iter().map(|device| (device.device.to_string(), vec![&device.tables]));
    for (name, tables) in named.chain([("all".to_owned(), devices().collect())]) {
        let Some((parts, undivided)) = overhead(tables.iter().copied()) else { continue };
        let mut row = vec![name];
        row.extend(parts.iter().map(|(_, part)| share(*part)));
        row.push(share(undivided));
        rows.add_row(row);
    }
    push_section(text, "Where the time goes, shares of all bios' Q2C", &rows, style);
}

const FLOW: [&str; 11] =
    ["", "bios", "merged", "split", "requests", "bios/request", "requeued", "errors", "mean KiB", "depth", "max"];
const USE: [&str; 9] =
    ["", "plugs", "requests/unplug", "plugged", "sequential", "median seek", "flushes", "mean flush", "active"];

fn devices(text: &mut String, findings: &BlkFindings<'_>, style: Style) {
    let (mut flow, mut usage) = (table(&FLOW, 1), table(&USE, 1));
    let length_ns = findings.report.last_ns.saturating_sub(findings.report.first_ns).max(1) as f64;
    for device in &findings.report.devices {
        flow.add_row(flow_row(device));
        usage.add_row(usage_row(device, length_ns));
    }
    push_section(text, "Devices", &flow, style);
    push_section(text, "Device usage", &usage, style);
}

fn flow_row(device: &DeviceReport) -> [String; FLOW.len()] {
    let tables = &device.tables;
    let dash = || "-".to_owned();
    [
        device.device.to_string(),
        grouped(tables.bios),
        grouped(tables.merges),
        grouped(tables.splits),
        grouped(tables.requests),
        merge_ratio(tables).map_or_else(dash, |ratio| format!("{ratio:.2}")),
        grouped(tables.requeues),
        grouped(tables.errors),
        merged(tables.sizes.iter()).mean().map_or_else(dash, |sectors| format!("{:.1}", sectors as f64 / 2.0)),
        tables.depth_at_queue.mean().map_or_else(dash, grouped),
        tables.depth_at_queue.max().map_or_else(dash, grouped),
    ]
}

fn usage_row(device: &DeviceReport, length_ns: f64) -> [String; USE.len()] {
    let tables = &device.tables;
    let (plugs, seeks) = (&tables.plugs, &tables.d2d_seeks.distance);
    let sequential = seeks.ranges().next().filter(|(low, ..)| *low == 0).map_or(0, |(.., count)| count);
    [
        device.device.to_string(),
        grouped(plugs.plugs),
        format!("{:.1}", plugs.unplugged as f64 / plugs.unplugs.max(1) as f64),
        share(plugs.plugged_ns as f64 / length_ns),
        share(sequential as f64 / seeks.count().max(1) as f64),
        seeks.quantile(0.5).map_or_else(|| "-".to_owned(), grouped),
        grouped(tables.flushes.count()),
        latency(tables.flushes.mean()),
        share((tables.active.sum() as f64 / length_ns).min(1.0)),
    ]
}

fn kinds(text: &mut String, findings: &BlkFindings<'_>, style: Style) {
    let mut rows = table(&["", "bios", "bytes", "Q2C mean", "p50", "p99", "max", "D2C mean"], 1);
    for (kind, times) in &findings.report.kinds {
        rows.add_row([
            kind.to_string(),
            grouped(times.queued),
            Bytes(times.queued_bytes).to_string(),
            latency(times.q2c.mean()),
            latency(times.q2c.quantile(0.50)),
            latency(times.q2c.quantile(0.99)),
            latency(times.q2c.max()),
            latency(times.d2c.mean()),
        ]);
    }
    push_section(text, "Kinds", &rows, style);
}

fn submitters<K>(text: &mut String, title: &str, all: &[SubmitterTimes<K>], style: Style, name: impl Fn(&K) -> String) {
    if all.is_empty() {
        return;
    }
    let mut rows = table(&["", "bios", "read", "written", "Q2C mean", "p50", "p99", "max", "slow"], 1);
    for sums in all.iter().take(ROWS) {
        rows.add_row([
            name(&sums.submitter),
            grouped(sums.queued),
            Bytes(sums.read_bytes).to_string(),
            Bytes(sums.write_bytes).to_string(),
            latency(sums.q2c.mean()),
            latency(sums.q2c.quantile(0.50)),
            latency(sums.q2c.quantile(0.99)),
            latency(sums.q2c.max()),
            grouped(sums.slow),
        ]);
    }
    push_section(text, title, &rows, style);
    if all.len() > ROWS {
        let _ = writeln!(text, "{}", style.faint(&format!(" and {} more", grouped((all.len() - ROWS) as u64))));
    }
}
