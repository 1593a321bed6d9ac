//! Screenshots of the report: light, dark, printed, and after keys; charts of models. They are kept in a folder for
//! review.
//!
//! `PICTURES_OF=RUN PICTURES=docs/images` makes those of the docs, from that run.

use std::fs;
use std::path::{Path, PathBuf};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::stage::{folder, run};

/// Size of a window for a model's chart.
const WIDTH: u32 = 1_100;

/// The run to show: a simulated one has stalls, chains and requests without root.
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

/// Takes a screenshot at the top of an element, and returns its size in bytes: an empty one is small.
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

/// Lightness of the page's background, from 0 to 765.
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
fn the_report_is_legible_light_dark_and_printed() {
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
    // Open the first of the list, which is the longest, with keys only.
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

/// Takes a screenshot of an expression's elements, one per run, side by side under the runs' badges; returns its size
/// in bytes.
fn cut_out(browser: &mut Browser, elements: &str, name: &str) -> usize {
    browser.evaluate(&format!("({elements})[0].scrollIntoView()"));
    browser.wait_for(&format!("({elements}).every(one => one.querySelector('canvas') !== null)"));
    let alone = "const [main, badges] = [document.querySelector('main'), [...document.querySelectorAll('.badge')]];\
         document.querySelector('header').remove();\
         main.replaceChildren(...picked.map((one, at) => {\
             const place = document.createElement('div');\
             place.append(badges[at].cloneNode(true), one);\
             return place;\
         }));\
         const gridTemplateColumns = `repeat(${picked.length}, 1fr)`;
         Object.assign(main.style, { display: 'grid', gap: '24px', gridTemplateColumns });";
    browser.evaluate(&format!("(picked => {{ {alone} scrollTo(0, 0); }})({elements})"));
    let height = browser.evaluate("document.querySelector('main').getBoundingClientRect().bottom").as_f64().unwrap();
    let clip = json!({ "x": 0, "y": 0, "width": WIDTH, "height": height.min(2_000.0), "scale": 1 });
    let asked = json!({ "format": "png", "clip": clip, "captureBeyondViewport": true });
    let answer = browser.call("Page.captureScreenshot", asked);
    let png = BASE64_STANDARD.decode(answer["data"].as_str().unwrap()).unwrap();
    fs::write(pictures().join(name), &png).unwrap();
    png.len()
}

/// Simulates policies and opens the report of all.
fn page_of_a_model(browser: &mut Browser, scratch: &Path, words: &str, policies: &[&str]) {
    let out = scratch.join("runs");
    let words = format!("simulate {words} --policy {} --quiet --out {}", policies.join(","), out.display());
    run(&words).expect_code(0);
    let runs: Vec<String> = match policies {
        [_] => vec![out.display().to_string()],
        several => several.iter().map(|policy| out.join(policy).display().to_string()).collect(),
    };
    let file = scratch.join("report.html");
    run(&format!("report {} -o {}", runs.join(" "), file.display())).expect_code(0);
    let size = json!({ "width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", size);
    media(browser, "screen", "light");
    browser.open(&format!("file://{}", file.display()));
}

#[test]
fn a_models_gauges_and_histograms_are_drawn() {
    let Some(mut browser) = Browser::start() else { return };
    // Full size for the docs, else small.
    let of_docs = std::env::var_os("PICTURES").is_some();
    let (memory, block) = if of_docs { ("", "") } else { ("--set memory=4g", "--set block=16m") };
    let scratch = folder();
    page_of_a_model(&mut browser, scratch.path(), &format!("bufcache {memory}"), &["original"]);
    let gauges =
        "[...document.querySelectorAll('figure')].filter(one => /\\bnumdirtybuffers\\b/.test(one.textContent))";
    assert_eq!(browser.evaluate(&format!("({gauges}).length")), 1);
    let bytes = cut_out(&mut browser, gauges, "bufcache-over-time.png");
    let scratch = folder();
    page_of_a_model(&mut browser, scratch.path(), &format!("osc {block}"), &["old", "full"]);
    let histograms = "[...document.querySelectorAll('.histograms > :first-child')]";
    let rows = format!("({histograms}).map(one => one.querySelectorAll('tbody tr').length)");
    assert_eq!(browser.evaluate(&rows), json!([9, 9]), "1 to 256 pages, under both policies");
    let others = cut_out(&mut browser, histograms, "osc-rpc-histograms.png");
    assert!(bytes > 10_000 && others > 5_000, "{bytes} {others}");
    assert_eq!(browser.errors, [""; 0]);
}
