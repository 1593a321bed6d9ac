//! Names come from the machine that was recorded, and may hold anything.

use proptest::prelude::*;
use serde_json::Value;

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

/// All of them at once, in a real browser: none becomes an element or runs.
#[test]
fn hostile_names_are_shown_as_text_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<Value> = HOSTILE.into_iter().map(|name| hostile(name).page(Limits::FILE)).collect();
    let file = folder.path().join("hostile.html");
    std::fs::write(&file, report(&document(runs, Vec::new()))).unwrap();
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&format!("file://{}", file.display()));
    browser.evaluate("document.querySelectorAll('.tall .row').forEach(row => row.click())");
    browser.wait_for("document.querySelectorAll('.detail table').length >= 8");
    assert_eq!(browser.evaluate("document.querySelectorAll('img, #app script').length"), 0);
    let shown = browser.evaluate("document.querySelector('.tall .row .path').textContent");
    assert_eq!(shown, HOSTILE[0], "as it is, and as text");
    assert_eq!(browser.errors, [""; 0]);
}
