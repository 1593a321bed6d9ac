//! `record`: any command, in a memory cgroup or not, or the machine alone.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
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
    let ended = Running::start_with(&words).wait().expect_code(7);
    assert_eq!(ended.document()["workload"], "sh");
    assert!(ended.stderr.contains("hello"), "{}", ended.stderr);
    println!("{}", ended.error());
    assert!(ended.error().contains("'sh'") && ended.error().contains('7'), "{}", ended.error());
    assert!(shown(&out)["remarks"].to_string().contains("exit status: 7"));
}

#[test]
fn a_command_keeps_its_standard_output_and_its_exit_code() {
    let folder = folder();
    let out = |name: &str| folder.path().join(name).display().to_string();
    let record = |options: &[&str], name: &str, script: &str| {
        let out = out(name);
        let words = [&["record", "--no-trace", "--out", &out], options, &["--", "sh", "-c", script]].concat();
        Running::start_with(&words).wait()
    };
    let ended = record(&[], "fine", "echo hello").expect_code(0);
    assert_eq!(ended.stdout, "hello\n");
    assert!(ended.stderr.contains("Recording"), "{}", ended.stderr);
    let ended = record(&[], "failed", "echo hello; exit 7").expect_code(7);
    assert_eq!(ended.stdout, "hello\n");
    record(&[], "killed", "kill -TERM $$").expect_code(128 + 15);
    // With -q there is nothing of ours.
    let ended = record(&["-q"], "quiet", "echo hello; echo complaint >&2; exit 3").expect_code(3);
    assert_eq!((&*ended.stdout, &*ended.stderr), ("hello\n", "complaint\n"));
    // Ending the command is what --runtime asks for.
    let limited = record(&["--runtime", "200ms"], "limited", "sleep 60").expect_code(0);
    assert!(limited.stderr.contains("stallscope: --runtime ended 'sh' after 200 ms"), "{}", limited.stderr);
}

/// A script's workers would go on, without the script.
#[test]
fn with_a_command_ends_what_it_started() {
    let folder = folder();
    let pid_file = folder.path().join("pid").display().to_string();
    let out = folder.path().join("run").display().to_string();
    let script = format!("sh -c 'sleep 600 & echo $! >{pid_file}; wait'; echo never");
    // The time runs from the start of the recording: the command has written its file by then.
    let words = ["record", "--no-trace", "--runtime", "3s", "--out", &out, "--", "sh", "-c", &script];
    let ended = Running::start_with(&words).wait().expect_code(0);
    assert_eq!(ended.stdout, "");
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    // Nobody may have reaped it yet.
    assert!(state.as_ref().map_or(true, |stat| stat.contains("(sleep) Z")), "{state:?}");
}

#[test]
fn figures_are_taken_from_a_commands_output_which_passes_unchanged() {
    let folder = folder();
    let out = |name: &str| folder.path().join(name).display().to_string();
    let record = |name: &str, tps: u32| {
        let script = format!("printf 'progress tps = 1\\rtps = {tps}.5 (without)\\n'; echo complaint >&2");
        let metric = r"tps=tps = ([\d.]+)";
        let words = ["record", "--no-trace", "--metric", metric, "--metric", "errors=errors: ([0-9]+)", "--out"];
        Running::start_with(&[&words[..], &[&out(name), "--", "sh", "-c", &script]].concat()).wait().expect_code(0)
    };
    let ended = record("a", 80);
    assert_eq!(ended.stdout, "progress tps = 1\rtps = 80.5 (without)\n");
    assert!(ended.stderr.contains("complaint\n") && ended.stderr.contains("  tps  80.5\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("--metric errors=errors: ([0-9]+): not found"), "{}", ended.stderr);
    record("b", 161);
    assert_eq!(number(&shown(&folder.path().join("a")), "/printed/tps"), 80.5);
    let compared = run(&format!("compare --json --a {} --b {}", out("a"), out("b"))).expect_code(0).document();
    let metrics = compared["metrics"].as_array().unwrap();
    let tps = metrics.iter().find(|metric| metric["name"] == "tps").unwrap();
    assert_eq!((number(tps, "/a"), number(tps, "/b")), (80.5, 161.5), "{tps:#}");
}

#[test]
fn a_command_that_cannot_start_is_one_clear_error_and_leaves_nothing_behind() {
    let folder = folder();
    let file = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.display().to_string()
    };
    let (text, broken) = (file("text", "x", 0o644), file("broken", "\x7fELFx", 0o755));
    let place = folder.path().join("place");
    fs::create_dir(&place).unwrap();
    for (program, why) in [
        ("/nonexistent/program", "no such file"),
        ("no-such-program", "not found in PATH"),
        ("/tmp", "is a directory"),
        (&*text, "is not executable"),
        (&*broken, "Exec format error"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
        command.args(["record", "--no-trace", "--", program]).current_dir(&place);
        let ended = Running::spawn(command).wait().expect_code(2);
        println!("{}", ended.error());
        assert!(ended.error().contains(program) && ended.error().contains(why), "{}", ended.error());
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "{program}");
    }
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

/// A `flock` that waits half a second for another one, and then some time in which the program may speak.
fn waits_for_a_lock(folder: &Path, rest: &str) -> String {
    let file = folder.join("lock").display().to_string();
    format!("flock {file} sleep 0.8 & sleep 0.3; flock {file} true; wait; {rest}")
}

#[test]
fn the_end_explains_only_what_is_in_scope() {
    if !is_root("tracing") {
        return;
    }
    let folder = folder();
    let record = |scope: &[&str], name: &str| {
        let (out, script) = (folder.path().join(name).display().to_string(), waits_for_a_lock(folder.path(), "true"));
        let words =
            [&["record", "--slower-than", "100ms", "--out", &out], scope, &["--", "sh", "-c", &script]].concat();
        Running::start_with(&words).wait()
    };
    // A sentence is wrapped.
    let says = |text: &str, words: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words);
    let inside = record(&["--comm", "flock"], "inside").expect_code(0);
    assert!(says(&inside.stderr, "--comm flock") && says(&inside.stderr, "flock by flock/"), "{}", inside.stderr);
    assert!(says(&inside.stderr, "blocker sleep/"), "what flock runs: {}", inside.stderr);
    let outside = record(&["--comm", "nobody"], "outside").expect_code(0);
    assert!(says(&outside.stderr, "--comm nobody") && !says(&outside.stderr, "flock by"), "{}", outside.stderr);
    // All is recorded: another scope is explained later.
    let later = run(&format!("explain {} --comm flock", folder.path().join("outside").display())).expect_code(0);
    assert!(says(&later.stdout, "flock by flock/"), "{}", later.stdout);
    let unknown = record(&["--device", "nosuchdisk"], "unknown").expect_code(2);
    assert!(unknown.error().contains("nosuchdisk"), "{}", unknown.error());
    assert!(record(&["--comm", "flock", "--json"], "json").expect_code(2).error().contains("explain"));
    assert!(run("record --ring 1m --comm flock").expect_code(2).error().contains("--ring"));
}

/// `script` gives the program a terminal.
#[test]
fn the_slowest_operation_is_named_while_it_records() {
    if !is_root("tracing") {
        return;
    }
    let folder = folder();
    let script = folder.path().join("stall.sh");
    fs::write(&script, waits_for_a_lock(folder.path(), "sleep 60")).unwrap();
    let words = format!(
        "{} record --slower-than 100ms --out {} -- sh {}",
        env!("CARGO_BIN_EXE_stallscope"),
        folder.path().join("run").display(),
        script.display()
    );
    let mut command = Command::new("script");
    command.args(["-q", "-e", "-f", "-c", &words, "/dev/null"]).env("TERM", "xterm").env("COLUMNS", "200");
    let mut program = Running::spawn(command);
    let says = |text: String| text.contains("flock/") && text.contains(" flock of ") && text.contains(" blocked ");
    program.wait_until("the line", |program| says(program.stdout()));
}

#[test]
fn the_slowest_operation_is_named_in_a_message_where_nobody_sees_the_progress() {
    if !is_root("tracing") {
        return;
    }
    let folder = folder();
    let (out, script) = (folder.path().join("run").display().to_string(), waits_for_a_lock(folder.path(), "sleep 60"));
    let mut program =
        Running::start_with(&["record", "--slower-than", "100ms", "--out", &out, "--", "sh", "-c", &script]);
    let says = |text: String| text.contains("flock/") && text.contains(" flock of ") && text.contains(" blocked ");
    program.wait_until("the message", |program| says(program.stderr()));
}

#[test]
fn what_cannot_be_followed_is_said() {
    let refused = run("record --follow 4194304 -- true").expect_code(2);
    assert!(refused.stderr.contains("--follow") && refused.stderr.contains("no such process"), "{}", refused.stderr);
    if !is_root("tracing") {
        return;
    }
    let folder = folder();
    let out = folder.path().join("run");
    let out_text = out.display().to_string();
    let words = ["record", "--json", "--follow", "nobody-has-this", "--out", &out_text, "--", "sleep", "0.3"];
    Running::start_with(&words).wait().expect_code(0);
    let remarks = shown(&out)["remarks"].to_string();
    assert!(remarks.contains("--follow nobody-has-this: no process had a thread of this name"), "{remarks}");
}

/// The end of the recording is not what it waited for.
#[test]
fn a_command_that_hangs_is_looked_at_before_it_is_ended() {
    if !is_root("tracing") {
        return;
    }
    let folder = folder();
    let (out, fifo) = (folder.path().join("run"), folder.path().join("pipe"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let paths = [&out, &fifo].map(|path| path.display().to_string());
    let words = ["record", "--runtime", "2s", "--slower-than", "100ms", "--out", &paths[0], "--", "cat", &paths[1]];
    Running::start_with(&words).wait().expect_code(0);
    let document = run(&format!("explain --json {}", out.display())).expect_code(0).document();
    println!("{:#}", document["sleeps"]);
    let text = document["sleeps"].to_string();
    assert!(text.contains("which no process has open at its other end"), "{text}");
    assert!(!text.contains("stallscope"), "{text}");
}

/// The lock of its journal is the recorder's while it records.
#[test]
fn the_recorder_is_to_blame_for_a_lock_that_it_holds() {
    if !is_root("tracing") {
        return;
    }
    let folder = folder();
    let out = folder.path().join("run").display().to_string();
    let waits = format!("flock --timeout 1 --conflict-exit-code 0 {out}/journal true");
    run(&format!("record --slower-than 200ms --out {out} -- {waits}")).expect_code(0);
    let document = run(&format!("explain --json {out}")).expect_code(0).document();
    // Others may wait for locks of theirs meanwhile.
    let culprit = &document["command"]["culprits"][0];
    assert!(culprit["task"].as_str().is_some_and(|task| task.starts_with("stallscope/")), "{culprit:#}");
    assert_eq!(culprit["cause"], "lock", "{culprit:#}");
}
