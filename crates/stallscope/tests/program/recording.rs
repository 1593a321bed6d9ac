//! `record`: any command, in a memory cgroup or not, or the machine alone.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use archive::Run;
use rustix::process::Signal;

use crate::stage::kernel::cgroups_of;
use crate::stage::{Running, folder, is_root, number, run, shown};

#[test]
fn a_failing_command_is_reported_and_its_output_stays_out_of_the_document() {
    let folder = folder();
    let out = folder.path().join("run");
    let out_text = out.display().to_string();
    let words = ["record", "--json", "--out", &out_text, "--", "sh", "-c", "echo hello; sleep 0.3; exit 7"];
    let ended = Running::start_with(&words).wait().expect_code(1);
    assert_eq!(ended.document()["workload"], "sh");
    assert!(ended.stderr.contains("hello"), "{}", ended.stderr);
    println!("{}", ended.error());
    assert!(ended.error().contains("'sh'") && ended.error().contains('7'), "{}", ended.error());
    assert!(shown(&out)["remarks"].to_string().contains("exit status: 7"));
}

#[test]
fn a_command_that_does_not_exist_is_one_clear_error() {
    let folder = folder();
    let out = folder.path().join("run");
    let ended = run(&format!("record --out {} -- /nonexistent/program", out.display())).expect_code(2);
    println!("{}", ended.error());
    assert!(ended.error().contains("/nonexistent/program"));
}

#[test]
fn a_limited_command_stays_in_its_memory_cgroup() {
    if !is_root("a memory cgroup") {
        return;
    }
    let folder = folder();
    let out = folder.path().join("run").display().to_string();
    // On a disk: pages of a tmpfs could not be reclaimed.
    let disk = tempfile::tempdir().unwrap();
    let sink = disk.path().join("sink").display().to_string();
    // 96 MiB through the page cache of a memory cgroup of 32 MiB; the command prints its cgroup.
    let script = format!("cat /proc/self/cgroup >&2; dd if=/dev/zero of={sink} bs=1M count=96 2>/dev/null; sleep 1.2");
    let program = Running::start_with(&[
        "record",
        "--memory",
        "32m",
        "--interval",
        "200ms",
        "--json",
        "--out",
        &out,
        "--",
        "sh",
        "-c",
        &script,
    ]);
    let pid = program.pid();
    let ended = program.wait().expect_code(0);
    let document = ended.document();
    assert!(ended.stderr.contains(&format!("stallscope-{pid}-")), "{}", ended.stderr);
    println!("{:#}", document["memory_cgroup"]);
    assert!(number(&document, "/memory_cgroup/limit_hits_per_s") > 0.0);
    assert!(number(&document, "/memory_cgroup/max_usage_bytes") <= 32.0 * 1048576.0);
    assert!(cgroups_of(pid).is_empty());
}

#[test]
fn the_machine_alone_is_recorded_for_a_time_with_all_its_metrics() {
    let folder = folder();
    let out = folder.path().join("run");
    let ended = run(&format!("record --runtime 2s --interval 500ms --json --out {}", out.display())).expect_code(0);
    let document = ended.document();
    assert_eq!(document["ended"], "done");
    assert!((1.5..60.0).contains(&number(&document, "/duration_s")), "{document:#}");
    // On a busy machine some samples may be late; those are counted.
    let samples = ["samples", "missing_samples"].map(|name| number(&document, &format!("/recording/{name}")));
    assert!(samples[0] >= 2.0 && samples[0] + samples[1] >= 4.0, "{samples:?}");
    let run = Run::open(&out).unwrap();
    let metrics = run.descriptors().flat_map(|batch| batch.unwrap());
    let sources: BTreeSet<String> =
        metrics.map(|metric| metric.name.split('.').next().unwrap_or_default().to_owned()).collect();
    println!("{sources:?}");
    for source in ["vmstat", "meminfo", "stat", "diskstats", "recorder"] {
        assert!(sources.contains(source), "{source}");
    }
    if std::path::Path::new("/proc/pressure/io").exists() {
        assert!(sources.contains("pressure"));
    }
    if rustix::process::geteuid().is_root() {
        assert!(sources.contains("slabinfo") && sources.contains("buddyinfo"));
    }
}

#[test]
fn ctrl_c_ends_a_recording_without_a_command() {
    let folder = folder();
    let out = folder.path().join("run");
    let mut program = Running::start(&format!("record --json --out {}", out.display()));
    program.wait_for_the_archive(&out);
    std::thread::sleep(Duration::from_millis(1200));
    let began = Instant::now();
    program.signal(Signal::INT);
    let ended = program.wait().expect_code(0);
    println!("{:.2} s from SIGINT to the end", began.elapsed().as_secs_f64());
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(ended.document()["ended"], "done");
}

#[test]
fn ctrl_c_ends_a_command_too() {
    let folder = folder();
    let out = folder.path().join("run");
    let mut program = Running::start(&format!("record --json --out {} -- sleep 60", out.display()));
    program.wait_until("the command runs", |program| !crate::stage::kernel::children_of(program.pid()).is_empty());
    let sleep = crate::stage::kernel::children_of(program.pid());
    program.signal(Signal::INT);
    let ended = program.wait().expect_code(130);
    assert_eq!(ended.document()["ended"], "interrupted");
    assert!(sleep.into_iter().all(crate::stage::kernel::is_gone));
}
