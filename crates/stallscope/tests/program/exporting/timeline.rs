//! Perfetto traces, read with Perfetto's own schema. There is no package of its trace_processor.

use serde_json::Value;

use super::{export, output_of, recorded};
use crate::stage::{checked, folder};

#[test]
fn a_trace_keeps_to_the_schema_and_its_slices_lie_in_one_another() {
    let Some(mut python) = super::readers::python("perfetto google.protobuf", "reading a Perfetto trace") else {
        return;
    };
    let folder = folder();
    let run = recorded(folder.path());
    let output = folder.path().join("run.pftrace");
    export(&run, "perfetto", &output).expect_code(0);
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/read_perfetto.py");
    let found: Value = serde_json::from_str(&output_of(python.arg(script).arg(&output))).unwrap();
    println!("{found}");
    let rows = &checked(&run)["rows"];
    let number = |key: &str| found[key].as_u64().unwrap_or(0);
    assert!(number("value") >= rows["metrics"].as_u64().unwrap());
    assert!(number("phase") >= 2, "fill and run at least");
    // Each arrow of a chain joins two slices.
    assert_eq!(number("chain_ends_alone"), 0);
    assert!(number("arrows_of_chains") > 0 || stalls_of(rows) == 0);
    // Each operation, stall and request has a slice.
    let waits = ["system_call", "off_cpu", "blocked", "span", "short_sleeps", "short_cpu_waits", "short_spans"];
    let stalls: u64 =
        waits.into_iter().chain(["still_blocked", "short_request_waits", "standing", "on_cpu"]).map(number).sum();
    assert_eq!(stalls, stalls_of(rows));
    assert!(number("request") >= rows["requests"].as_u64().unwrap_or(0));
    assert!(number("slow") + number("failed") <= rows["operations"].as_u64().unwrap());
}

fn stalls_of(rows: &Value) -> u64 {
    rows["stalls"].as_u64().unwrap_or(0)
}
