//! What the load did, in formats for that.

use serde_json::Value;

use super::{export, recorded, told};
use crate::stage::{folder, run, shown};

/// Every line with HdrHistogram's own Python reader: operations of each tag, and their 99th percentile.
const READ_HLOG: &str = "
import json, math, sys
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
    return whole.get_value_at_percentile(100.0 * math.ceil(0.99 * count) / count)
print(json.dumps({tag: [whole.get_total_count(), p99(whole)] for tag, whole in found.items()}))
";

#[test]
fn hdrhistogram_reads_the_interval_log() {
    let Some(mut python) = super::readers::python("hdrh", "reading an interval log (hdrhistogram)") else { return };
    let folder = folder();
    let run = recorded(folder.path());
    let output = folder.path().join("run.hlog");
    export(&run, "hlog", &output).expect_code(0);
    let found: Value = serde_json::from_str(&told(python.args(["-c", READ_HLOG]).arg(&output))).unwrap();
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
fn a_run_without_a_load_has_no_latencies_to_export() {
    let folder = folder();
    let out = folder.path().join("run");
    run(&format!("record --runtime 300ms --interval 100ms -q --out {}", out.display())).expect_code(0);
    let ended = export(&out, "hlog", &folder.path().join("x")).expect_code(2);
    assert!(ended.error().contains("no load"), "{}", ended.error());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
