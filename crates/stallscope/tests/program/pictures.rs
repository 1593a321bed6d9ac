//! How a run's page looks: light, dark, on paper, and led by keys. The pictures stay in a folder, for people to look at.
//!
//! `PICTURES_OF=RUN PICTURES=docs/images` makes those of the docs, of a run of one's own.

use std::fs;
use std::path::{Path, PathBuf};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::stage::{folder, run};

/// The run to look at: one that is simulated has stalls, chains and requests without root.
fn directory(scratch: &Path) -> PathBuf {
    if let Some(given) = std::env::var_os("PICTURES_OF") {
        return given.into();
    }
    let out = scratch.join("run");
    run(&format!("simulate sched --policy cfq --set duration=10s --quiet --out {}", out.display())).expect_code(0);
    out
}

fn pictures() -> PathBuf {
    let place = std::env::var_os("PICTURES")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures"), PathBuf::from);
    fs::create_dir_all(&place).unwrap();
    place
}

/// Takes a picture of where an element begins, and says how many bytes it has: one of nothing has few.
fn take(browser: &mut Browser, element: &str, name: &str) -> usize {
    browser.evaluate(&format!("document.querySelector('{element}').scrollIntoView()"));
    browser.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 200))))",
    );
    let png = BASE64_STANDARD.decode(browser.picture()).unwrap();
    fs::write(pictures().join(name), &png).unwrap();
    png.len()
}

fn media(browser: &mut Browser, media: &str, scheme: &str) {
    let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
    browser.call("Emulation.setEmulatedMedia", json!({ "media": media, "features": features }));
}

/// How light the page's ground is, from 0 to 765.
fn lightness(browser: &mut Browser) -> u64 {
    let sum =
        "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).slice(0, 3).reduce((a, b) => a + +b, 0)";
    browser.evaluate(sum).as_u64().unwrap()
}

fn key(browser: &mut Browser, key: &str) {
    for kind in ["keyDown", "keyUp"] {
        let event = json!({ "type": kind, "key": key, "code": key, "text": if key.len() == 1 { key } else { "" } });
        browser.call("Input.dispatchKeyEvent", event);
    }
}

#[test]
fn the_page_can_be_read_by_day_by_night_and_on_paper() {
    let scratch = folder();
    let run_directory = directory(scratch.path());
    let file = scratch.path().join("report.html");
    run(&format!("report {} -o {}", run_directory.display(), file.display())).expect_code(0);
    let Some(mut browser) = Browser::start() else { return };
    let size = json!({ "width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", size);
    media(&mut browser, "screen", "light");
    browser.open(&format!("file://{}", file.display()));
    let mut bytes =
        vec![take(&mut browser, "main", "report-summary.png"), take(&mut browser, ".charts", "report-charts.png")];
    let by_day = lightness(&mut browser);
    // The first of the list, which is the longest, by the keys alone.
    browser.evaluate("document.querySelector('.rows').focus()");
    key(&mut browser, "ArrowDown");
    browser
        .wait_for("document.querySelector('.detail .chain') !== null || document.querySelector('.detail h4') !== null");
    bytes.push(take(&mut browser, ".detail", "report-stall.png"));
    media(&mut browser, "screen", "dark");
    bytes.push(take(&mut browser, ".charts", "report-dark.png"));
    assert!(lightness(&mut browser) + 300 < by_day, "{by_day}");
    media(&mut browser, "print", "light");
    let shown = |element: &str| format!("getComputedStyle(document.querySelector('{element}')).display !== 'none'");
    assert_eq!(browser.evaluate(&shown(".on-paper")), Value::Bool(true));
    assert_eq!(browser.evaluate(&shown("header")), Value::Bool(false));
    bytes.push(take(&mut browser, "main", "report-print.png"));
    assert!(bytes.iter().all(|bytes| *bytes > 10_000), "{bytes:?}");
    assert_eq!(browser.errors, [""; 0]);
}
