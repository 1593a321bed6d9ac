//! Names come from the machine that was recorded, and may hold anything.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::browser::Browser;
use super::{Rows, S, START};
use crate::{Limits, document, report};

const HOSTILE: [&str; 8] = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "<!--",
    "]]>",
    "\u{202e}drow\u{2028}\u{2029}",
    "'\"`${alert(1)}\\",
    "\0\u{1b}[2J",
    "\u{fdd0}😀",
];

fn hostile(name: &str) -> Rows {
    let mut rows = Rows { samples: 3, ..Rows::default() };
    rows.stall(name, 7, START + S, S, name, name);
    rows.tasks.push(model::stall::TaskRecord {
        tid: 7,
        pid: 7,
        name: name.into(),
        cgroup: Some(name.into()),
        started_by: None,
        role: None,
        container: None,
        io_cgroup: None,
        seen_ns: 0,
    });
    rows.events.push(model::event::RunEvent::Note { at_ns: START + S, text: name.into() });
    rows
}

fn check(name: &str) {
    let with = report(&document(vec![hostile(name).page(Limits::FILE)], Vec::new()));
    let without = report(&document(vec![hostile("x").page(Limits::FILE)], Vec::new()));
    assert_eq!(html_around_the_data(&with).0, html_around_the_data(&without).0, "of {name:?}");
    let data = html_around_the_data(&with).1;
    assert!(data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)));
    let unpacked = unpack(data);
    assert_eq!(unpacked["runs"][0]["stalls"]["full"]["0"]["path"], name, "it comes through as it was");
}

/// The page without its data, and the data.
fn html_around_the_data(html: &str) -> (String, &str) {
    const BEGIN: &str = "id=\"data\">";
    let (before, rest) = html.split_once(BEGIN).unwrap();
    let (data, after) = rest.split_once("</script>").unwrap();
    (format!("{before}{after}"), data)
}

fn unpack(data: &str) -> Value {
    use base64::Engine as _;
    let packed = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
    serde_json::from_reader(flate2::read::GzDecoder::new(&packed[..])).unwrap()
}

#[test]
fn hostile_names_change_nothing_but_the_data() {
    HOSTILE.into_iter().for_each(check);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn no_name_changes_anything_but_the_data(name in "\\PC{1,20}|[<>/\"'&a-z!-]{1,20}") {
        check(&name);
    }
}

#[test]
fn the_program_itself_cannot_end_its_script_or_style() {
    for text in [crate::SCRIPT, crate::STYLE] {
        let text = text.to_lowercase();
        assert!(!text.is_empty() && !text.contains("</script") && !text.contains("</style") && !text.contains("<!--"));
    }
    assert!(!crate::SCRIPT.contains("innerHTML="), "names never become HTML");
}

/// The document of a run whose stall has a request, its users, a lock's holder, user stacks and a convoy of that name.
fn hostile_in_full(name: &str) -> Value {
    let mut page = hostile(name).page(Limits::FILE);
    let user = json!([{ "task": name, "cgroup": name, "own": false, "requests": 41, "bytes": 4096 }]);
    let frame = json!({ "function": name, "file": name, "line": 7, "module": name, "build_id": null, "offset": 16 });
    let stall = &mut page["stalls"]["full"]["0"];
    stall["user_stack"] = json!([frame, { "function": null, "file": null, "module": name, "offset": 16 }, null]);
    stall["chain"] = json!([{ "task": name, "waits_for": "lock", "detail": name, "time_ns": S, "holds_lock": "yes",
        "kernel_stack": [name], "user_stack": [frame], "user_stack_at": "release" },
        { "task": name, "waits_for": "stopped", "detail": null, "time_ns": S, "stopped_it": true, "kernel_stack": null,
          "user_stack": null }]);
    stall["request"] = json!({ "device": "8,0", "device_name": name, "sector": 0, "bytes": 4096, "rwbs": "W",
        "task": name, "queue_ns": null,
        "device_ns": null, "throttled": false, "in_flight": {}, "overtaken_by": {}, "in_flight_of": user,
            "overtakers": user });
    stall["served"] = json!({ "requests": 41, "bytes": 4096, "by": user });
    let (task, cause) = (stall["task"].clone(), stall["causes"][0]["cause"].clone());
    page["explanation"]["convoys"] = json!([{ "cause": cause, "holder": name, "start_ns": START,
        "end_ns": START + 3 * S,
        "victims": 5, "times": 2, "at_once": 5, "time_ns": S, "longest_ns": S, "longest": [{ "task": task,
            "time_ns": S }] }]);
    page
}

/// All of them at once, in a real browser: none becomes an element or runs.
#[test]
fn hostile_names_are_shown_as_text_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<Value> = HOSTILE.into_iter().map(hostile_in_full).collect();
    let file = folder.path().join("hostile.html");
    std::fs::write(&file, report(&document(runs, Vec::new()))).unwrap();
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&format!("file://{}", file.display()));
    browser.evaluate("document.querySelectorAll('.tall .row').forEach(row => row.click())");
    browser.wait_for("document.querySelectorAll('.detail table').length >= 8");
    assert_eq!(browser.evaluate("document.querySelectorAll('img, #app script').length"), 0);
    let shown = browser.evaluate("document.querySelector('.tall .row .path').textContent");
    assert_eq!(shown, HOSTILE[0], "as it is, and as text");
    let detail = browser.evaluate("document.querySelector('.detail').textContent");
    let detail = detail.as_str().unwrap();
    for part in [
        "5 tasks waited at once for",
        "overtook it",
        "41, 4 KiB (100 %)",
        ":7",
        "+0x10",
        "where it released the lock",
        "stopped by",
    ] {
        assert!(detail.contains(part), "{part}: {detail}");
    }
    assert_eq!(browser.errors, [""; 0]);
}
