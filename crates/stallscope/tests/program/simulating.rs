//! `simulate`, and the readers of its runs: they read like any other, and are marked as simulated.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::browser::Browser;
use crate::stage::{checked, folder, number, run, shown};

/// Lustre's write RPCs, small enough for a test.
fn simulated(folder: &Path, seed: u64) -> Value {
    let words = format!("simulate osc --policy old,full --set writers=4 block=64m --seed {seed} --json --quiet");
    run(&format!("{words} --out {}", folder.display())).expect_code(0).document()
}

/// Everything in a run's tables except the wall clock, which is not simulated.
fn tables(run_directory: &Path) -> Vec<(String, String)> {
    let output = run_directory.with_extension("csv");
    run(&format!("export {} --to csv -q -o {}", run_directory.display(), output.display())).expect_code(0);
    let mut tables: Vec<(String, String)> = fs::read_dir(&output)
        .unwrap()
        .map(|entry| entry.unwrap())
        // These hold the wall clock.
        .filter(|entry| !["samples.csv", "explained.csv"].contains(&&*entry.file_name().to_string_lossy()))
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".csv"))
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
        .collect();
    tables.sort();
    assert!(tables.iter().any(|(name, _)| name.starts_with("intervals")), "{:?}", tables.len());
    tables
}

#[test]
fn a_simulated_run_reads_like_any_other_and_is_marked_everywhere() {
    let folder = folder();
    let document = simulated(folder.path(), 1);
    assert_eq!((document["simulated"].as_bool(), document["policies"].as_array().unwrap().len()), (Some(true), 2));
    assert!(number(&document, "/policies/1/ratio_to_first/pages_per_rpc_mean") > 1.0, "the patch makes larger RPCs");
    let old = folder.path().join("old");
    let summary = shown(&old);
    assert_eq!(summary["simulated"]["policy"], "old");
    assert!(number(&summary, "/simulated/figures/rpcs") > 0.0);
    assert!(number(&summary, "/operations/write/count") > 0.0);
    let check = checked(&old);
    assert_eq!((check["whole"].as_bool(), check["simulated"]["model"].as_str()), (Some(true), Some("osc")));
    let explained = run(&format!("explain --json {}", old.display())).expect_code(0).document();
    assert_eq!(explained["simulated"]["seed"], 1);
    for verb in ["show", "explain", "check"] {
        let ended = run(&format!("{verb} {}", old.display())).expect_code(0);
        assert!(ended.stdout.contains("SIMULATED by the model 'osc', policy 'old', seed 1"), "{verb}");
    }
    let page = folder.path().join("page.html");
    run(&format!("report {} -o {}", old.display(), page.display())).expect_code(0);
    if let Some(mut browser) = Browser::start() {
        browser.open(&format!("file://{}", page.display()));
        let badge = browser.evaluate("document.querySelector('.badge').textContent").to_string();
        assert!(badge.contains("SIMULATED by the model 'osc'"), "{badge}");
        let charts = "[...document.querySelectorAll('figure[data-chart]')].filter(one => \
                      one.dataset.chart.startsWith('own.')).length > 0";
        assert_eq!(browser.evaluate(charts), true);
        assert_eq!(browser.errors, [""; 0]);
    }
    let exported = folder.path().join("exported");
    let ended = run(&format!("export {} --to parquet -o {}", old.display(), exported.display())).expect_code(0);
    assert!(ended.stderr.contains("SIMULATED"));
    // Exports say it themselves where their format has a field for it.
    for (form, name) in [("hlog", "h"), ("openmetrics", "o"), ("fio-json", "f"), ("perfetto", "p")] {
        let file = folder.path().join(name);
        run(&format!("export {} --to {form} -q -o {}", old.display(), file.display())).expect_code(0);
        let bytes = fs::read(&file).unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains("SIMULATED by the model 'osc'"), "{form}");
    }
    let ended = run(&format!("top {} --once", old.display())).expect_code(0);
    assert!(ended.stdout.lines().next().unwrap().contains("SIMULATED"), "{}", ended.stdout);
    let ended = run(&format!("top {} --once --json", old.display())).expect_code(0);
    assert_eq!(ended.document()["simulated"]["policy"], "old");
}

#[test]
fn every_reader_of_the_run_reports_a_hang() {
    let folder = folder();
    let words = "simulate bufcache --policy original,noclusterw --set memory=4g runtime=10s --quiet";
    let ended = run(&format!("{words} --out {}", folder.path().display())).expect_code(0);
    let waiter = "rewriter 1 waits since";
    assert!(
        ended.stdout.contains("HANG: no progress is possible after") && ended.stdout.contains(waiter),
        "{}",
        ended.stdout
    );
    let [original, other] = ["original", "noclusterw"].map(|policy| folder.path().join(policy).display().to_string());
    let shown = run(&format!("show {original}")).expect_code(0);
    assert!(
        shown.stdout.contains("HANG: no progress is possible after") && shown.stdout.contains(waiter),
        "{}",
        shown.stdout
    );
    let explained = run(&format!("explain {original} --json")).expect_code(0).document();
    let causes = explained["causes"].as_array().unwrap();
    assert!(causes.iter().all(|one| one["cause"] != "unexplained"), "{causes:?}");
    let daemon = causes.iter().find(|one| one["cause"] == "lock").expect("bufdaemon waits for files' locks");
    assert_eq!(daemon["operations"], 1);
    let compared = run(&format!("compare --a {original} --b {other}")).expect_code(0);
    assert!(compared.stdout.contains("it HANGS") && !compared.stdout.contains("make the run longer"));
    assert!(!run(&format!("show {other}")).expect_code(0).stdout.contains("HANG"));
}

#[test]
fn the_same_seed_makes_the_same_tables() {
    let (one, other) = (folder(), folder());
    simulated(one.path(), 7);
    simulated(other.path(), 7);
    for policy in ["old", "full"] {
        assert!(tables(&one.path().join(policy)) == tables(&other.path().join(policy)), "{policy}");
    }
}

#[test]
fn simulated_runs_are_compared_by_the_models_figures_and_not_silently_with_real_ones() {
    let folder = folder();
    simulated(folder.path(), 1);
    let [old, full, real] = ["old", "full", "real"].map(|name| folder.path().join(name).display().to_string());
    let ended = run(&format!("compare --a {old} --b {full} --json")).expect_code(0);
    let document = ended.document();
    let metrics = document["metrics"].as_array().unwrap();
    let figure = metrics.iter().find(|metric| metric["name"] == "model.rpcs").unwrap();
    assert_eq!(figure["better"], "lower");
    assert!(document["cautions"][0].as_str().unwrap().starts_with("SIMULATED"));
    run(&format!("record --no-trace --runtime 300ms --interval 100ms -q --out {real}")).expect_code(0);
    let ended = run(&format!("compare --a {real} --b {old}")).expect_code(0);
    assert!(ended.stderr.contains("1 of 2 runs is simulated"), "{}", ended.stderr);
    assert!(ended.stdout.contains("SIMULATED runs are compared with runs on a machine"));
}

#[test]
fn an_impossible_simulation_is_one_error_line() {
    for (words, message) in [
        ("osc --policy nosuch", "policies: old, full"),
        ("osc --set writer=1", "parameters: writers"),
        ("osc --set writers=many", "a whole number"),
        ("osc --set writers", "NAME=VALUE"),
        ("sched --set service=0s", "at least 1us"),
    ] {
        let ended = run(&format!("simulate {words}")).expect_code(2);
        assert!(ended.error().contains(message) && ended.error().trim().lines().count() == 1, "{}", ended.error());
    }
    let listed = run("simulate osc --list").expect_code(0);
    assert!(listed.stdout.contains("rpc_pages") && listed.stdout.contains("[a count, default 256; "));
}

const SWEEP: &str = r#"
name = "plane"
simulate = "osc"
repetitions = 1
noise_floor = false
[parameters]
block = "4m"
[[axis]]
name = "policy"
vary = "policy"
values = ["old", "full"]
[[axis]]
name = "writers"
vary = "parameter"
values = [1, 4]
[[axis]]
name = "transfer"
vary = "parameter"
values = ["256k", "1m"]
"#;

#[test]
fn a_sweep_over_a_model_becomes_a_plane() {
    let folder = folder();
    let (file, out) = (folder.path().join("plane.toml"), folder.path().join("out"));
    fs::write(&file, SWEEP).unwrap();
    let ended = run(&format!("sweep {} --out {} --json --quiet", file.display(), out.display())).expect_code(0);
    assert_eq!(ended.document()["finished"], 8);
    let chart = folder.path().join("plane.svg");
    let words = format!("compare {} --table rpcs --plane writers,transfer", out.display());
    let document = run(&format!("{words} --json --svg {}", chart.display())).expect_code(0).document();
    assert_eq!((document["simulated"].as_bool(), document["cells"].as_array().unwrap().len()), (Some(true), 8));
    let chart = fs::read_to_string(chart).unwrap();
    assert!(chart.starts_with("<svg") && chart.matches("text-anchor=\"middle\"").count() >= 8);
    let csv = run(&format!("{words} --format csv")).expect_code(0);
    assert_eq!(csv.stdout.lines().count(), 9);
    run(&format!("{words} --format mmtests")).expect_code(2);
    let wrong = SWEEP.replace("vary = \"policy\"", "vary = \"scheduler\"");
    fs::write(&file, wrong).unwrap();
    let ended = run(&format!("sweep {} --out {}", file.display(), out.display())).expect_code(2);
    assert!(ended.error().contains("policy"), "{}", ended.error());
}
