//! `run --json` and `show --json`: the contract that scripts rely on.

use serde_json::Value;

use crate::stage::{SMALL, folder, number, run, shown};

const LATENCIES: [&str; 6] = ["p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns", "max_ns"];

#[test]
fn a_run_prints_one_document_and_show_says_the_same() {
    let folder = folder();
    let data = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let ended = run(&format!("run simoop {SMALL} --json --out {} {}", out.display(), data.path().display()));
    let document = ended.expect_code(0).document();
    assert_eq!(document["run"], out.display().to_string());
    assert_eq!(document["workload"], "simoop");
    assert!((2.9..60.0).contains(&number(&document, "/duration_s")), "{document:#}");
    assert!((0.9..60.0).contains(&number(&document, "/warmup_s")), "{document:#}");
    for class in ["read", "write", "allocation"] {
        check_class(&document["operations"][class], class);
    }
    for rate in ["work_per_s", "alloc_stalls_per_s", "bytes_per_s"] {
        for figure in ["mean", "p50", "p95", "p99"] {
            number(&document, &format!("/rates/{rate}/{figure}"));
        }
    }
    check_phases(&document);
    for field in ["samples", "metrics", "cpu_ms_per_sample", "bytes_per_sample", "archive_bytes"] {
        assert!(number(&document, &format!("/recording/{field}")) > 0.0, "{field}");
    }
    for field in ["late_samples", "lost_events"] {
        number(&document, &format!("/recording/{field}"));
    }
    let again = shown(&out);
    for part in ["operations", "rates", "phases", "duration_s", "warmup_s", "workload", "ended"] {
        assert_eq!(document[part], again[part], "{part}");
    }
}

fn check_class(class: &Value, name: &str) {
    assert!(number(class, "/count") > 0.0, "{name}");
    assert_eq!((number(class, "/errors"), number(class, "/stuck")), (0.0, 0.0), "{name}");
    let figures: Vec<f64> = LATENCIES.iter().map(|figure| number(class, &format!("/{figure}"))).collect();
    // Percentiles have three digits, the maximum is exact: a rounded percentile may exceed it.
    assert!(figures.windows(2).all(|pair| pair[0] <= pair[1] * 1.01), "{name}: {figures:?}");
    let mean = number(class, "/mean_ns");
    assert!(mean > 0.0 && mean <= number(class, "/max_ns"), "{name}: {mean}");
    if name != "allocation" {
        // Two subthreads move 1 MiB each. The counters are read one after another while the load runs, so some
        // operations may be in only one of them.
        let apart = (number(class, "/bytes") / (2.0 * 1048576.0) - number(class, "/count")).abs();
        assert!(apart <= 8.0 && apart <= 1.0 + number(class, "/count") / 10.0, "{name}: {class:#}");
    }
}

fn check_phases(document: &Value) {
    let phases = document["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["fill", "warmup", "run"]);
    assert_eq!(number(&phases[0], "/bytes"), 32.0 * 1048576.0, "8 files of 4 MiB");
    for phase in phases {
        assert!(number(phase, "/start_s") <= number(phase, "/end_s"));
        assert!(number(phase, "/bytes_per_s") > 0.0, "{phase}");
    }
    let moved = ["read", "write"].map(|class| number(document, &format!("/operations/{class}/bytes")));
    assert!(number(&phases[2], "/bytes") >= moved[0] + moved[1], "{document:#}");
}

#[test]
fn quiet_and_json_leave_standard_error_empty() {
    let folder = folder();
    let data = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let small = SMALL.replace("-r 3", "-r 1").replace("-w 1", "-w 0");
    let ended = run(&format!("run simoop {small} --json -q --out {} {}", out.display(), data.path().display()));
    let ended = ended.expect_code(0);
    ended.document();
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_workloads_help_says_what_it_does_and_has_one_man_page() {
    let folder = crate::stage::folder();
    crate::stage::run(&format!("generate {}", folder.path().display())).expect_code(0);
    for recipe in load::catalogue::catalogue() {
        for flag in ["-h", "--help"] {
            let help = crate::stage::run(&format!("run {} {flag}", recipe.name)).expect_code(0).stdout;
            assert!(help.starts_with(&recipe.about), "{help}");
        }
        let page = folder.path().join(format!("stallscope-run-{}.1", recipe.name));
        assert!(page.is_file(), "{}", page.display());
    }
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let of_help = names.filter(|name| name.to_string_lossy().contains("help"));
    assert_eq!(of_help.count(), 0, "no pages about the help of pages");
}
