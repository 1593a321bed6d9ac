//! `sweep`: every run is made once, also after interruptions, and the machine's settings are restored.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::recorded_disk::{Mounted, RecordedDisk, output};
use crate::stage::{Disk, Running, exclusive_machine_settings, folder, is_root, run};

/// A sweep over runs of a quarter of a second.
fn sweep_file(folder: &Path, directory: &Path, more: &str) -> PathBuf {
    let path = folder.join("sweep.toml");
    let text = format!(
        "name = 'small'\nworkload = 'paced-writer'\nrepetitions = 2\nsettle = '10ms'\nnoise_floor = false\n\
         directories = ['{}']\n[options]\nno-trace = true\n[variables]\nruntime = '250ms'\nfile_size = '1m'\n{more}",
        directory.display()
    );
    fs::write(&path, text).unwrap();
    path
}

const THREADS: &str = "[[axis]]\nname = 'threads'\nvary = 'variable'\nvalues = [1, 2]\n";

fn descriptions(out: &Path) -> Vec<Value> {
    let mut runs: Vec<PathBuf> = fs::read_dir(out.join("runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    runs.sort();
    let read = |run: &PathBuf| serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
    runs.iter().map(read).collect()
}

#[test]
fn a_sweep_makes_every_run_once_and_resumes_where_it_stopped() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let file = sweep_file(folder.path(), data.path(), THREADS);
    let out = folder.path().join("out");
    let words = format!("sweep {} --json -q --out {}", file.display(), out.display());
    let ended = run(&words).expect_code(0);
    assert_eq!((&ended.document()["finished"], &ended.document()["stopped"]), (&4.into(), &false.into()));
    let runs = descriptions(&out);
    let names: Vec<&str> = runs.iter().map(|run| run["configuration"]["name"].as_str().unwrap()).collect();
    // The second block mirrors the first.
    assert_eq!((names[0], names[1]), (names[3], names[2]), "{names:?}");
    assert_ne!(names[0], names[1]);
    assert_eq!((&runs[0]["seed"], &runs[2]["seed"]), (&runs[1]["seed"], &runs[3]["seed"]));
    assert_ne!(runs[0]["seed"], runs[2]["seed"]);

    // One of four runs is not recorded as finished: it alone is repeated, and its remains are moved aside.
    let finished = out.join("finished.jsonl");
    let lines = fs::read_to_string(&finished).unwrap();
    let kept: Vec<&str> = lines.lines().filter(|line| !line.contains("\"cell\":2,")).collect();
    fs::write(&finished, kept.join("\n") + "\n").unwrap();
    run(&words).expect_code(0);
    let again = descriptions(&out);
    let is_new: Vec<bool> = runs.iter().zip(&again).map(|(a, b)| a["started"] != b["started"]).collect();
    assert_eq!(is_new, [false, false, true, false]);
    assert_eq!(fs::read_dir(out.join("cut-off")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(data.path()).unwrap().count(), 0);
}

#[test]
fn an_interrupted_sweep_keeps_its_finished_runs() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let file = sweep_file(folder.path(), data.path(), THREADS);
    let out = folder.path().join("out");
    let mut program = Running::start(&format!("sweep {} --out {}", file.display(), out.display()));
    let finished = out.join("finished.jsonl");
    program.wait_until("a run is finished", |_| fs::read_to_string(&finished).is_ok_and(|text| !text.is_empty()));
    program.signal(Signal::INT);
    let ended = program.wait().expect_code(130);
    assert!(ended.stderr.contains("the same command resumes here"), "{}", ended.stderr);
    // Where standard error is a log, each run has a line.
    assert!(ended.stderr.contains("run 1 of 4: "), "{}", ended.stderr);
    let kept = fs::read_to_string(&finished).unwrap().lines().count();
    assert_eq!(descriptions(&out).len(), kept);
    assert_eq!(fs::read_dir(data.path()).unwrap().count(), 0);
}

/// A run that cannot make its first file of rows gives up tables and goes on.
#[test]
fn what_a_run_lost_is_said_by_its_sweep() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let file = sweep_file(folder.path(), data.path(), "[[axis]]\nname = 'threads'\nvary = 'variable'\nvalues = [1]\n");
    let [plain, full] = ["plain", "full"].map(|name| folder.path().join(name));
    let ended = run(&format!("sweep {} -q --out {}", file.display(), plain.display())).expect_code(0);
    assert!(!ended.stderr.contains("no longer recorded"), "{}", ended.stderr);
    let mut names: Vec<_> = fs::read_dir(plain.join("runs")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let mut strace = Command::new("strace");
    strace.args([
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=openat",
        "-e",
        "inject=openat:error=ENOSPC:when=1",
        "-P",
    ]);
    strace.arg(full.join("runs").join(&names[0]).join("recent-0001")).arg(env!("CARGO_BIN_EXE_stallscope"));
    if Command::new("strace").arg("-V").output().is_err() {
        return println!("skipped: strace is not installed");
    }
    strace.args(["sweep", "-q", "--out"]).args([&full, &file]);
    let ended = Running::spawn(strace).wait();
    if ended.stderr.contains("PTRACE_") {
        return println!("skipped: strace may not trace here");
    }
    assert_eq!(ended.stderr.matches("no longer recorded").count(), 1, "{}", ended.stderr);
}

/// Value of an attribute of the queue of a loop device.
fn read_ahead(disk: &Disk) -> String {
    fs::read_to_string(format!("/sys/dev/block/{}/queue/read_ahead_kb", disk.number())).unwrap().trim().to_owned()
}

const READ_AHEAD: &str = "[[axis]]\nname = 'ahead'\nvary = 'queue'\nkey = 'read_ahead_kb'\nvalues = [48]\n";

#[test]
fn settings_are_restored_after_each_run_and_after_a_kill() {
    if !is_root("changing a device's queue") {
        return;
    }
    let (folder, disk) = (folder(), Disk::ext4(64 << 20));
    let before = read_ahead(&disk);
    assert_ne!(before, "48");
    let file = sweep_file(folder.path(), disk.path(), READ_AHEAD);
    let sweep = |out: &str| format!("sweep {} --out {}", file.display(), folder.path().join(out).display());
    run(&sweep("whole")).expect_code(0);
    assert_eq!(read_ahead(&disk), before);
    for run in descriptions(&folder.path().join("whole")) {
        assert_eq!(run["configuration"]["settings"][0], serde_json::json!(["ahead", "48"]));
    }

    let mut program = Running::start(&sweep("killed"));
    program.wait_until("the setting is changed", |_| read_ahead(&disk) == "48");
    program.signal(Signal::KILL);
    program.wait();
    let mut messages = String::new();
    let began = Instant::now();
    while read_ahead(&disk) != before && began.elapsed() < Duration::from_secs(60) {
        messages.push_str(&run("doctor").stderr);
    }
    assert_eq!(read_ahead(&disk), before, "{messages}");
    // A program of another test may have been first, and reported it.
    assert!(messages.is_empty() || messages.contains("setting 48"), "{messages}");
}

/// Differences between two configurations of a sweep of that axis, and what implies them.
fn differing(folder: &Path, axis: &str) -> Vec<(String, bool, Value)> {
    let file = folder.join("sweep.toml");
    let text = format!(
        "name = 'small'\nworkload = 'paced-writer'\nrepetitions = 1\nsettle = '10ms'\nnoise_floor = false\n\
         [options]\nno-trace = true\n[variables]\nruntime = '200ms'\n\
         [file_system]\nkind = 'ext4'\nsize = '128m'\nplace = '{}'\n[[axis]]\nname = 'x'\n{axis}",
        folder.display()
    );
    fs::write(&file, text).unwrap();
    let out = tempfile::tempdir_in(folder).unwrap();
    run(&format!("sweep {} -q --out {}", file.display(), out.path().display())).expect_code(0);
    let document = run(&format!("compare --json {}", out.path().display())).expect_code(0).document();
    let differences = document["configurations"][0]["differences"].as_array().unwrap().clone();
    let one = |one: Value| {
        (one["what"].as_str().unwrap().to_owned(), one["intended"].as_bool().unwrap(), one["follows"].clone())
    };
    differences.into_iter().map(one).collect()
}

#[test]
fn changes_implied_by_an_axis_are_intended() {
    if !is_root("making file systems") {
        return;
    }
    let _settings = exclusive_machine_settings();
    let folder = folder();
    let assert_changes = |axis: &str, expected: &[&str]| {
        let found = differing(folder.path(), axis);
        // The measured time of a run of 200 ms varies on a busy machine.
        let mut by_chance = vec!["measured time"];
        if !axis.contains("'scheduler'") {
            // Each run gets another loop device, whose settings may differ from earlier use.
            by_chance.extend(["I/O scheduler", "queue depth"]);
        }
        let is_accident =
            |(what, intended, _): &&(String, bool, Value)| !intended && !by_chance.contains(&what.as_str());
        let accidents: Vec<_> = found.iter().filter(is_accident).collect();
        assert!(accidents.is_empty(), "{axis}: {accidents:?}");
        for what in expected {
            assert!(found.contains(&((*what).to_owned(), true, "x".into())), "{axis}: {what} in {found:?}");
        }
    };
    assert_changes("vary = 'option'\nkey = 'disk-bps'\nvalues = ['20m', '16m']", &["disk limit, bytes/s"]);
    assert_changes("vary = 'mount'\nvalues = ['noatime', 'data=journal']", &["mount options"]);
    assert_changes("vary = 'mkfs'\nvalues = ['-E stride=16', '-b 1024']", &["mount options"]);
    // The default file size depends on the free space.
    assert_changes("vary = 'file_system'\nvalues = ['ext4', 'btrfs']", &["mount options", "variable file_size"]);
    assert_changes("vary = 'variable'\nkey = 'threads'\nvalues = [1, 2]", &[]);
    assert_changes("vary = 'scheduler'\nvalues = ['none', 'mq-deadline']", &[]);
    let kept = folder.path().join("swappiness");
    let command = format!(
        "vary = 'command'\nvalues = ['few', 'many']\n\
         before = ['cat /proc/sys/vm/swappiness > {0}; echo 7 > /proc/sys/vm/swappiness', '']\n\
         after = ['cat {0} > /proc/sys/vm/swappiness; rm {0}', '']",
        kept.display()
    );
    assert_changes(&command, &["vm.swappiness"]);
}

/// sync(2) waits for every file system, and the disk of another one may not answer for minutes, as one that is
/// throttled to nothing.
#[test]
fn a_sweep_goes_on_beside_a_disk_that_does_not_answer() {
    if !is_root("a file system") || !Path::new("/dev/fuse").exists() {
        return;
    }
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let disk = RecordedDisk::new(32 << 20).unwrap();
    output("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", disk.device()]).unwrap();
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("place");
    let _mounted = Mounted::device(disk.device(), &place).unwrap();
    let file = sweep_file(folder.path(), data.path(), "[[axis]]\nname = 'threads'\nvary = 'variable'\nvalues = [1]\n");
    // Before the disk stops: the write may ask it where there is room.
    fs::write(place.join("dirty"), vec![1; 1 << 20]).unwrap();
    let stopped = disk.stop();
    let ended = run(&format!("sweep {} -q --out {}", file.display(), folder.path().join("out").display()));
    drop(stopped);
    let ended = ended.expect_code(0);
    assert!(ended.stderr.contains("other file systems are still being written to"), "{}", ended.stderr);
    assert!(ended.took < Duration::from_secs(60), "{:?}", ended.took);
}

#[test]
fn an_impossible_sweep_is_refused_before_the_first_run() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let refused = |more: &str, code: i32, expected: &str| {
        let file = sweep_file(folder.path(), data.path(), more);
        let out = folder.path().join(format!("out-{}", more.len()));
        let ended = run(&format!("sweep {} -q --out {}", file.display(), out.display())).expect_code(code);
        assert!(ended.error().contains(expected), "{}", ended.stderr);
    };
    refused("[[axis]]\nname = 'x'\nvary = 'variable'\nvalues = [1]\n", 2, "no variable 'x'");
    refused("[[axis]]\nname = 'threads'\nvary = 'variable'\nvalues = ['one']\n", 2, "threads=one");
    refused("[[axis]]\nname = 'memory'\nvary = 'option'\nvalues = ['lots']\n", 2, "memory=lots");
    refused("[[axis]]\nname = 'fs'\nvary = 'file_system'\nvalues = ['xfs']\n", 2, "needs [file_system]");
    if is_root("refusing a value that the kernel refuses") {
        refused("[[axis]]\nname = 'vm.dirty_ratio'\nvary = 'sysctl'\nvalues = [9999]\n", 3, "dirty_ratio");
        refused("[[axis]]\nname = 'vm.no_such'\nvary = 'sysctl'\nvalues = [1]\n", 3, "cannot be read");
    }
}

/// Two parts of a sweep, each on a machine of its own name.
#[test]
fn the_parts_of_a_sweep_are_compared_within_their_machines() {
    if !is_root("a host name of its own") {
        return;
    }
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let file = sweep_file(folder.path(), data.path(), THREADS);
    let all = folder.path().join("all");
    fs::create_dir(&all).unwrap();
    for (machine, part) in [("db-1", "1/2"), ("db-2", "2/2")] {
        let out = folder.path().join(machine);
        let script = format!(
            "hostname {machine} && exec {} sweep {} --shard {part} -q --out {}",
            env!("CARGO_BIN_EXE_stallscope"),
            file.display(),
            out.display()
        );
        assert!(Command::new("unshare").args(["--uts", "sh", "-c", &script]).status().unwrap().success());
        for run in fs::read_dir(out.join("runs")).unwrap() {
            let run = run.unwrap();
            fs::rename(run.path(), all.join(run.file_name())).unwrap();
        }
    }
    let found = &run(&format!("compare {} --json", all.display())).expect_code(0).document()["configurations"][0];
    let machine = |name: &str| serde_json::json!({"name": name, "a_runs": 1, "b_runs": 1});
    assert_eq!(found["machines"], serde_json::json!([machine("db-1"), machine("db-2")]), "{found:#}");
    let differences = found["differences"].as_array().unwrap();
    assert!(differences.iter().all(|difference| difference["what"] != "machine"), "{differences:?}");
    let work = found["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "work_per_s").unwrap();
    assert_eq!(work["by_machine"].as_array().unwrap().len(), 2);
}
