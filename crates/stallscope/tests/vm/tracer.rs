//! The tracer on this kernel: sources that it finds, and reasons for those that it lacks.

use serde_json::Value;

use crate::stage::run;

/// What this kernel has, whatever its version.
const EXPECTED: [&str; 2] = ["scheduler", "system calls"];

#[test]
fn each_source_is_found_or_reported_missing() {
    let document = run("doctor --json").expect_code(0).document();
    let findings = document["findings"].as_array().unwrap();
    let name = |finding: &Value| finding["capability"].as_str().unwrap().to_owned();
    let sources: Vec<&Value> = findings.iter().filter(|finding| name(finding).contains("trac")).collect();
    for source in &sources {
        println!("{} {}: {}", source["available"], name(source), source["why"]);
        assert!(source["available"] == true || source["why"].is_string(), "{source}");
    }
    for expected in EXPECTED {
        let found = sources.iter().find(|source| name(source).contains(expected));
        let found = found.unwrap_or_else(|| panic!("{expected} is missing in {findings:#?}"));
        assert_eq!(found["available"], true, "{found}");
    }
}
