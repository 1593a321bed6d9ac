//! Series as CSV, for plotting. Times are seconds since the trace's first event; a bin's time is its start. A missing
//! value is an empty cell.

use std::fmt::Write as _;

use lifecycle::{DeviceReport, Histogram, Phase, Timeline, heat_row_range_ns};

use super::BlkFindings;

/// The files: name and content.
pub fn files(findings: &BlkFindings<'_>) -> Vec<(String, String)> {
    let mut files = vec![("phases.csv".to_owned(), phases(findings)), ("slow.csv".to_owned(), slow(findings))];
    for device in &findings.report.devices {
        let name = device.device.to_string().replace(',', "-");
        let timeline = &device.tables.timeline;
        files.push((format!("{name}-timeline.csv"), over_time(timeline)));
        files.push((format!("{name}-heat.csv"), heat(timeline)));
        files.push((format!("{name}-request-sizes.csv"), sizes(device)));
        files.push((format!("{name}-seeks.csv"), seeks(device)));
        files.push((format!("{name}-depth-at-queue.csv"), depths(device)));
    }
    files
}

fn phases(findings: &BlkFindings<'_>) -> String {
    let mut text = String::from("device,phase,count,min_ns,mean_ns,p50_ns,p99_ns,max_ns\n");
    let named = findings.report.devices.iter().map(|report| (report.device.to_string(), &report.tables.phases));
    for (name, phases) in named.chain([("all".to_owned(), &findings.report.phases)]) {
        for phase in Phase::ALL {
            let times = &phases[phase];
            let figures = [times.min(), times.mean(), times.quantile(0.5), times.quantile(0.99), times.max()];
            let name = name.replace(',', ":");
            let _ = writeln!(text, "{name},{},{},{}", phase.key(), times.count(), cells(&figures));
        }
    }
    text
}

fn cells(values: &[Option<u64>]) -> String {
    values.iter().map(|value| value.map_or_else(String::new, |value| value.to_string())).collect::<Vec<_>>().join(",")
}

fn over_time(timeline: &Timeline) -> String {
    let mut text = String::from(
        "time_s,queued_per_s,issued_per_s,reads_per_s,writes_per_s,discards_per_s,others_per_s,read_bytes_per_s,\
         written_bytes_per_s,mean_depth,max_depth,mean_depth_at_device,mean_latency_ns,max_latency_ns\n",
    );
    let width_ns = timeline.width_ns() as f64;
    let per_s = |count: u64| count as f64 * 1e9 / width_ns;
    for (number, bin) in timeline.bins.iter().enumerate() {
        let latency = |value: u128| if bin.latencies > 0 { value.to_string() } else { String::new() };
        let _ = writeln!(
            text,
            "{:.6},{:.3},{:.3},{:.3},{:.3},{:.3},{:.3},{:.0},{:.0},{:.3},{},{:.3},{},{}",
            number as f64 * width_ns / 1e9,
            per_s(bin.queued),
            per_s(bin.issued),
            per_s(bin.completed[0]),
            per_s(bin.completed[1]),
            per_s(bin.completed[2]),
            per_s(bin.completed[3]),
            per_s(bin.completed_bytes[0]),
            per_s(bin.completed_bytes[1]),
            bin.depth_ns as f64 / width_ns,
            bin.depth_max,
            bin.issued_depth_ns as f64 / width_ns,
            latency(bin.latency_sum_ns / u128::from(bin.latencies.max(1))),
            latency(u128::from(bin.latency_max_ns)),
        );
    }
    text
}

/// Cells without bios are omitted.
fn heat(timeline: &Timeline) -> String {
    let mut text = String::from("time_s,latency_from_ns,latency_to_ns,bios\n");
    for (number, bin) in timeline.bins.iter().enumerate() {
        let time_s = number as f64 * timeline.width_ns() as f64 / 1e9;
        for (row, count) in bin.heat.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (from, to) = heat_row_range_ns(row);
            let _ = writeln!(text, "{time_s:.6},{from},{to},{count}");
        }
    }
    text
}

fn ranges<'a>(text: &mut String, prefixes: impl IntoIterator<Item = (&'static str, &'a Histogram)>) {
    for (prefix, histogram) in prefixes {
        for (low, high, count) in histogram.ranges() {
            let _ = writeln!(text, "{prefix},{low},{high},{count}");
        }
    }
}

fn sizes(device: &DeviceReport) -> String {
    let mut text = String::from("operation,sectors_from,sectors_to,requests\n");
    ranges(&mut text, ["read", "write", "discard", "other"].into_iter().zip(&device.tables.sizes));
    text
}

fn seeks(device: &DeviceReport) -> String {
    let mut text = String::from("between,sectors_from,sectors_to,seeks\n");
    let tables = &device.tables;
    ranges(&mut text, [("q2q", &tables.q2q_seeks.distance), ("d2d", &tables.d2d_seeks.distance)]);
    text
}

fn depths(device: &DeviceReport) -> String {
    let mut text = String::from("what,depth_from,depth_to,bios\n");
    let tables = &device.tables;
    ranges(&mut text, [("in_flight", &tables.depth_at_queue), ("at_device", &tables.issued_at_queue)]);
    text
}

fn slow(findings: &BlkFindings<'_>) -> String {
    let mut text = String::from("device,sector,sectors,rwbs,pid,queued_ns,completed_ns,in_flight,overtaken_by,behind");
    for phase in Phase::PARTS {
        let _ = write!(text, ",{}_ns", phase.key());
    }
    text.push('\n');
    for bio in &findings.report.slow.kept {
        let others = [&bio.in_flight, &bio.overtaken_by, &bio.behind].map(|others| others.as_ref().map(|o| o.total()));
        let parts: Vec<Option<u64>> = Phase::PARTS.iter().map(|&part| bio.phases.get(part)).collect();
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{}",
            bio.device.to_string().replace(',', ":"),
            bio.sector,
            bio.sectors,
            bio.kind,
            bio.pid,
            bio.queued_ns,
            bio.completed_ns,
            cells(&others),
            cells(&parts),
        );
    }
    text
}
