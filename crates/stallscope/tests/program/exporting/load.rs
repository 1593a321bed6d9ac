//! The load's operations, in formats for them.

use serde_json::Value;

use super::{export, output_of, recorded};
use crate::stage::{folder, run, shown};

/// Every line with HdrHistogram's own Python reader: operations of each tag, and their 99th percentile.
const READ_HLOG: &str = "
import json, sys
from hdrh.log import HistogramLogReader
from hdrh.histogram import HdrHistogram
found = {}
reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, 3600000000000, 3))
while True:
    histogram = reader.get_next_interval_histogram()
    if histogram is None:
        break
    whole = found.setdefault(histogram.get_tag(), HdrHistogram(1, 3600000000000, 3))
    whole.add(histogram)
# This reader rounds the rank to the nearest, where we take the first that has 99 % at or below it.
def p99(whole):
    count = whole.get_total_count()
    return whole.get_value_at_percentile(100.0 * -(-99 * count // 100) / count)
print(json.dumps({tag: [whole.get_total_count(), p99(whole)] for tag, whole in found.items()}))
";

#[test]
fn hdrhistogram_reads_the_interval_log() {
    let Some(mut python) = super::readers::python("hdrh", "reading an interval log (hdrhistogram)") else { return };
    let folder = folder();
    let run = recorded(folder.path());
    let output = folder.path().join("run.hlog");
    export(&run, "hlog", &output).expect_code(0);
    let found: Value = serde_json::from_str(&output_of(python.args(["-c", READ_HLOG]).arg(&output))).unwrap();
    println!("{found}");
    for (class, shown) in shown(&run)["operations"].as_object().unwrap() {
        let [count, p99_ns] = [0, 1].map(|place| found[format!("run.{class}")][place].as_u64().unwrap());
        assert_eq!(Some(count), shown["count"].as_u64(), "{class}");
        if let Some(expected) = shown["p99_ns"].as_u64() {
            assert!(p99_ns.abs_diff(expected) <= expected / 500, "{class}: {p99_ns}, shown as {expected}");
        }
    }
}

#[test]
fn fios_own_tool_reads_every_operation() {
    let tool = std::path::Path::new("/usr/bin/fio_jsonplus_clat2csv");
    if !tool.exists() {
        return println!("skipped: reading fio's json+ needs fio_jsonplus_clat2csv (package fio)");
    }
    let Some(mut python) = super::readers::python("six", "fio_jsonplus_clat2csv") else { return };
    let folder = folder();
    let run = recorded(folder.path());
    let output = folder.path().join("fio.json");
    let ended = export(&run, "fio-json", &output).expect_code(0);
    assert!(ended.stderr.contains("left out") && ended.stderr.contains("allocation"), "{}", ended.stderr);
    python.arg(tool).arg(&output).arg(folder.path().join("fio.csv"));
    println!("{}", output_of(&mut python));
    println!("{}", output_of(python.arg("--validate")));
    let csv = std::fs::read_to_string(folder.path().join("fio_job0.csv")).unwrap();
    let columns: Vec<&str> = csv.lines().next().unwrap().split(", ").collect();
    for (class, column) in [("read", "read_lat_ns_count"), ("write", "write_clat_ns_count")] {
        let at = columns.iter().position(|name| *name == column).unwrap();
        let count = |line: &str| line.split(", ").nth(at).and_then(|cell| cell.parse::<u64>().ok());
        let counted: u64 = csv.lines().filter_map(count).sum();
        assert_eq!(Some(counted), shown(&run)["operations"][class]["count"].as_u64(), "{class}");
    }
}

/// Its entry point parses the command line. Importing it takes seconds: all pictures are drawn by one program.
const DRAW: &str = "
import sys, fio_plot
source, place, kinds = sys.argv[1], sys.argv[2], sys.argv[3:]
for number, kind in enumerate(kinds):
    sys.argv = ['fio-plot', '-T', 'x', '-r', 'rw', '-d', '1', '-n', '2', '-i', source, '-o', f'{place}/{number}.png', \
    *kind.split()]
    try:
        fio_plot.main()
    except SystemExit as end:
        if end.code:
            raise
";

#[test]
fn fio_plot_draws_the_run() {
    let Some(mut python) = super::readers::python("fio_plot", "drawing fio's files (fio-plot)") else { return };
    let folder = folder();
    let run = recorded(folder.path());
    let output = folder.path().join("plot");
    export(&run, "fio-plot", &output).expect_code(0);
    let kinds = ["-g -t bw iops lat -f read write", "-H -f read", "-N -f write", "-l -f read", "-L -t iops -f read"];
    // Without a display it needs a non-interactive back end.
    python.env("MPLBACKEND", "Agg").args(["-c", DRAW]).arg(&output).arg(folder.path()).args(kinds);
    output_of(&mut python);
    for (number, kind) in kinds.iter().enumerate() {
        let bytes = std::fs::read(folder.path().join(format!("{number}.png"))).unwrap();
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{kind}: {} bytes", bytes.len());
    }
}

#[test]
fn a_run_without_a_load_has_no_latencies_to_export() {
    let folder = folder();
    let out = folder.path().join("run");
    run(&format!("record --runtime 300ms --interval 100ms -q --out {}", out.display())).expect_code(0);
    let ended = export(&out, "hlog", &folder.path().join("x")).expect_code(2);
    assert!(ended.error().contains("no load"), "{}", ended.error());
    export(&out, "fio-json", &folder.path().join("x")).expect_code(2);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
