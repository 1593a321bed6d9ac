//! The answers of recordings, as people read them: text, its width and its words, and the first screen of the page.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::pack;
use crate::stage::Running;

/// Kinds of answers, with a recording of each.
const KINDS: [(&str, &str); 9] = [
    ("limit_by_neighbour", "truth-culprit-of-script"),
    ("lock_of_a_limited_holder", "truth-convoy-of-16"),
    ("hang", "truth-writer-of-a-pipe-stopped-throughout"),
    ("slow_disk", "trixie-slow-disk"),
    ("freeze", "foreign-rabbitmq-frozen"),
    ("damaged", "damaged-requests-gone"),
    ("quiet", "trixie-idle"),
    ("shorter_waits", "trixie-quota-of-command"),
    ("row_lock", "trixie-postgres-lock"),
];
/// Columns of narrow and wide terminals.
const WIDTHS: [usize; 3] = [60, 80, 100];
/// A window of this size shows the answer with its pictures.
const WINDOW: (u32, u32) = (1280, 900);

/// A recording of the corpus.
fn recorded(name: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/runs").join(format!("{name}.run.tar.zst"));
    let run = folder.path().join("run");
    pack::unpack(&packed, &run).unwrap();
    (folder, run.display().to_string())
}

/// The lines of an answer: what stands before the tables, without how the run is damaged.
fn answer(run: &str, columns: usize) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    command.args(["explain", "--worst", "0", run]).env("COLUMNS", columns.to_string());
    let text = Running::spawn(command).wait().stdout.replace(run, "RUN");
    let is_of_tables = |line: &&str| line.starts_with("RUN: ");
    let lines: Vec<String> = text.lines().take_while(|line| !is_of_tables(line)).map(str::to_owned).collect();
    let banner = lines.iter().position(|line| line.is_empty()).filter(|_| text.starts_with("INCOMPLETE"));
    lines[banner.map_or(0, |end| end + 1)..].to_vec()
}

#[test]
fn the_answers_of_each_kind_of_recording() {
    for (kind, name) in KINDS {
        let (_folder, run) = recorded(name);
        let text = answer(&run, 100).join("\n");
        insta::assert_snapshot!(kind, text.trim_end());
    }
}

#[test]
fn no_line_of_an_answer_is_wider_than_the_terminal() {
    for (_, name) in KINDS {
        let (_folder, run) = recorded(name);
        for columns in WIDTHS {
            let lines = answer(&run, columns);
            // A run's own name may be longer: tests call it RUN, as in the lines.
            let wide = lines.iter().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{name}, {columns} columns: {lines:#?}");
        }
    }
}

/// The headline, and the two sentences to copy: who waited and what would help.
#[test]
fn the_words_of_an_answer_are_those_of_the_field() {
    for (_, name) in KINDS {
        let (_folder, run) = recorded(name);
        let lines = answer(&run, 100);
        let text = lines.join("\n");
        for bad in ["at most", ", who ", "that one", "the one ", "processs", "; 0 operations", "waited for lock"] {
            assert!(!text.contains(bad), "{name}: {bad}: {text}");
        }
        assert!(!lines[0].is_empty() && !lines[0].ends_with('.'), "{text}");
        assert!(text.contains("\n  next     stallscope "), "no answer without its next command: {text}");
    }
}

/// The first screen needs no scrolling.
#[test]
fn the_page_shows_the_answer_with_its_pictures_on_one_screen() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start() else { return };
    let (width, height) = WINDOW;
    let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", metrics);
    let (_run_folder, run) = recorded("foreign-rabbitmq-frozen");
    let page = folder.path().join("page.html");
    Running::start_with(&["report", &run, "-o", page.to_str().unwrap()]).wait().expect_code(0);
    browser.open(&format!("file://{}", page.display()));
    browser.wait_for("document.querySelector('.first canvas') !== null");
    for part in [".headline", ".answer", ".help", ".waits", ".first .uplot"] {
        let bottom = browser.evaluate(&format!("document.querySelector('{part}').getBoundingClientRect().bottom"));
        assert!(bottom.as_f64().is_some_and(|bottom| bottom <= f64::from(height)), "{part}: {bottom}");
    }
    let legends = browser.evaluate("document.querySelector('.first .u-legend').textContent");
    assert!(legends.as_str().is_some_and(|text| !text.contains('–') && !text.contains("--")), "{legends}");
    let headline = "document.querySelector('.headline').textContent";
    let of_command = browser.evaluate(headline);
    assert!(of_command.as_str().is_some_and(|text| text.starts_with("python3 waited 3.34 s")), "{of_command}");
    browser.evaluate("document.querySelectorAll('.switch button')[1].click()");
    let of_machine = browser.evaluate(headline);
    assert!(of_machine.as_str().is_some_and(|text| text.contains(" waited 6.97 s")), "{of_machine}");
    assert_eq!(browser.evaluate("document.querySelectorAll('.tall .row').length"), json!(7), "all are listed");
    assert_eq!(browser.errors, [""; 0]);
}

/// Every number of the text is in the document, with its kind.
#[test]
fn the_document_has_the_answer_with_its_values() {
    let (_folder, run) = recorded("truth-culprit-of-limit");
    let document = Running::start_with(&["explain", "--json", &run]).wait().expect_code(0).document();
    let answer = &document["answer"];
    let headline = &answer["headline"];
    let values = headline["values"].as_array().unwrap();
    let text = headline["text"].as_str().unwrap();
    assert!(values.iter().all(|value| text.contains(value["text"].as_str().unwrap())), "{headline:#}");
    assert!(values.iter().any(|value| value["ns"].is_u64()) && values.iter().any(|value| value["bytes"].is_u64()));
    assert_eq!((&answer["verdict"], &answer["cause"]), (&json!("slow"), &json!("io_throttle")));
    assert_ne!(answer["fix"]["command"], Value::Null);
}
