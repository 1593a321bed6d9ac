//! Tables with btt's headings and units, for readers used to btt. docs/BLOCK.md lists where the figures differ from
//! btt's, and why.

use std::fmt::Write as _;

use lifecycle::{DeviceReport, Histogram, PerPhase, Phase, Seeks};

use super::{BlkFindings, merge_ratio, merged, overhead};

/// The whole text.
pub fn text(findings: &BlkFindings<'_>) -> String {
    let mut text = String::new();
    all_devices(&mut text, &findings.report.phases);
    device_overhead(&mut text, findings);
    merges(&mut text, findings);
    seek_table(&mut text, findings, "Q2Q", |device| &device.tables.q2q_seeks);
    seek_table(&mut text, findings, "D2D", |device| &device.tables.d2d_seeks);
    plugs(&mut text, findings);
    depths(&mut text, findings);
    activity(&mut text, findings);
    text
}

fn heading(text: &mut String, title: &str) {
    let _ = writeln!(text, "==================== {title} ====================\n");
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn dev(device: &DeviceReport) -> String {
    format!("({:3},{:3})", device.device.major(), device.device.minor())
}

fn all_devices(text: &mut String, phases: &PerPhase<Histogram>) {
    heading(text, "All Devices");
    let _ = writeln!(text, "            ALL           MIN           AVG           MAX           N");
    let _ = writeln!(text, "--------------- ------------- ------------- ------------- -----------\n");
    for phase in Phase::ALL {
        let times = &phases[phase];
        let (Some(min), Some(max)) = (times.min(), times.max()) else { continue };
        let mean = times.sum() as f64 / times.count() as f64 / 1e9;
        let (name, count) = (phase.name(), times.count());
        let _ = writeln!(text, "{name:<15} {:13.9} {mean:13.9} {:13.9} {count:11}", seconds(min), seconds(max));
    }
    text.push('\n');
}

fn device_overhead(text: &mut String, findings: &BlkFindings<'_>) {
    const COLUMNS: [Phase; 9] =
        [Phase::Q2G, Phase::G2I, Phase::Q2M, Phase::I2D, Phase::M2D, Phase::D2C, Phase::G2D, Phase::Q2A, Phase::A2C];
    heading(text, "Device Overhead");
    let names: Vec<String> = COLUMNS.iter().map(|column| format!("{:>9}", column.name())).collect();
    let rule = format!("---------- | {}", vec!["---------"; COLUMNS.len() + 1].join(" "));
    let _ = writeln!(text, "       DEV | {}     Other\n{rule}", names.join(" "));
    let mut row = |name: &str, (parts, other): (Vec<(Phase, f64)>, f64)| {
        let share = |column: Phase| parts.iter().find(|(phase, _)| *phase == column).map_or(0.0, |(_, share)| *share);
        let cells: Vec<String> = COLUMNS.iter().map(|&column| format!("{:8.4}%", share(column) * 100.0)).collect();
        let _ = writeln!(text, "{name:>10} | {} {:8.4}%", cells.join(" "), other * 100.0);
    };
    for device in &findings.report.devices {
        if let Some(shares) = overhead(std::iter::once(&device.tables)) {
            row(&dev(device), shares);
        }
    }
    if let Some(shares) = overhead(findings.report.devices.iter().map(|device| &device.tables)) {
        row("Overall", shares);
    }
    text.push('\n');
}

fn merges(text: &mut String, findings: &BlkFindings<'_>) {
    heading(text, "Device Merge Information");
    let _ = writeln!(text, "       DEV |       #Q       #D   Ratio |   BLKmin   BLKavg   BLKmax    Total");
    let _ = writeln!(text, "---------- | -------- -------- ------- | -------- -------- -------- --------");
    for device in &findings.report.devices {
        let tables = &device.tables;
        let sizes = merged(tables.sizes.iter());
        let _ = writeln!(
            text,
            "{:>10} | {:8} {:8} {:7.1} | {:8} {:8} {:8} {:8}",
            dev(device),
            tables.bios,
            tables.requests,
            merge_ratio(tables).unwrap_or(0.0),
            sizes.min().unwrap_or(0),
            sizes.mean().unwrap_or(0),
            sizes.max().unwrap_or(0),
            sizes.sum()
        );
    }
    text.push('\n');
}

fn seek_table(text: &mut String, findings: &BlkFindings<'_>, name: &str, pick: impl Fn(&DeviceReport) -> &Seeks) {
    heading(text, &format!("Device {name} Seek Information"));
    let _ = writeln!(text, "       DEV |          NSEEKS            MEAN          MEDIAN | MODE");
    let _ = writeln!(text, "---------- | --------------- --------------- --------------- | ---------------");
    for device in &findings.report.devices {
        let distance = &pick(device).distance;
        let mean = distance.sum() as f64 / distance.count().max(1) as f64;
        let mode = distance.mode().map_or_else(String::new, |(low, high, count)| {
            if low == high { format!("{low}({count})") } else { format!("{low}..{high}({count})") }
        });
        let median = distance.quantile(0.5).unwrap_or(0);
        let _ = writeln!(text, "{:>10} | {:15} {mean:15.1} {median:15} | {mode}", dev(device), distance.count());
    }
    text.push('\n');
}

fn plugs(text: &mut String, findings: &BlkFindings<'_>) {
    heading(text, "Plug Information");
    let _ = writeln!(text, "       DEV |    # Plugs # Timer Us  | % Time Q Plugged");
    let _ = writeln!(text, "---------- | ---------- ----------  | ----------------");
    let length_ns = findings.report.last_ns.saturating_sub(findings.report.first_ns).max(1) as f64;
    for device in &findings.report.devices {
        let plugs = &device.tables.plugs;
        let share = plugs.plugged_ns as f64 / length_ns * 100.0;
        let _ = writeln!(text, "{:>10} | {:10} {:10}  | {share:15.9}%", dev(device), plugs.plugs, plugs.timer_unplugs);
    }
    let _ = writeln!(text, "\n       DEV |    IOs/Unp   IOs/Unp(to)\n---------- | ----------   ----------");
    for device in &findings.report.devices {
        let plugs = &device.tables.plugs;
        let mean = |requests: u64, unplugs: u64| requests as f64 / unplugs.max(1) as f64;
        let own = mean(plugs.unplugged, plugs.unplugs);
        let timer = mean(plugs.timer_unplugged, plugs.timer_unplugs);
        let _ = writeln!(text, "{:>10} | {own:10.1}   {timer:10.1}", dev(device));
    }
    text.push('\n');
}

fn depths(text: &mut String, findings: &BlkFindings<'_>) {
    heading(text, "Active Requests At Q Information");
    let _ = writeln!(text, "       DEV |  Avg Reqs @ Q\n---------- | -------------");
    for device in &findings.report.devices {
        let depth = &device.tables.issued_at_queue;
        let mean = depth.sum() as f64 / depth.count().max(1) as f64;
        let _ = writeln!(text, "{:>10} | {mean:13.1}", dev(device));
    }
    text.push('\n');
}

fn activity(text: &mut String, findings: &BlkFindings<'_>) {
    heading(text, "I/O Active Period Information");
    let _ = writeln!(text, "       DEV |     # Live      Avg. Act     Avg. !Act % Live");
    let _ = writeln!(text, "---------- | ---------- ------------- ------------- ------");
    for device in &findings.report.devices {
        let (active, idle) = (&device.tables.active, &device.tables.idle);
        let all = (active.sum() + idle.sum()).max(1) as f64;
        let share = active.sum() as f64 / all * 100.0;
        let mean = |times: &Histogram| times.mean().map_or(0.0, seconds);
        let live = active.count();
        let _ = writeln!(text, "{:>10} | {live:10} {:13.9} {:13.9} {share:6.2}", dev(device), mean(active), mean(idle));
    }
    text.push('\n');
}
