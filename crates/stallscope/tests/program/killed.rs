//! `kill -9` at any moment: flushed data reads back, the load dies, and the next run removes everything.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::stage::kernel::{cgroups_of, children_of, is_gone, is_slowed};
use crate::stage::{Disk, Running, SMALL, checked, folder, is_root, number, run, shown, sweep_until};

/// Kills a run of `seconds` in a memory cgroup on a slowed disk when `due`, which returns the output of `check` shortly
/// before. Checks the remains before and after the next run.
fn kill_when(name: &str, seconds: u32, due: impl FnOnce(&mut Running, &Path) -> Value) {
    if !is_root("killing a run in a memory cgroup") {
        return;
    }
    let (folder, disk) = (folder(), Disk::ext4(96 << 20));
    let out = folder.path().join("run");
    let load = SMALL.replace("-r 3", &format!("-r {seconds}"));
    let words =
        format!("run simoop {load} --memory 48m --disk-bps 24m --out {} {}", out.display(), disk.path().display());
    let mut program = Running::start(&words);
    let pid = program.pid();
    program.wait_for_the_archive(&out);
    let flushed = due(&mut program, &out);
    let load = children_of(pid);
    assert_eq!(flushed["state"], "live", "{name}");
    program.signal(Signal::KILL);
    let ended = program.wait();
    assert_eq!(ended.code, None, "{name}: {}", ended.stderr);
    assert!(load.iter().all(|&child| is_gone(child)), "{name}: the load outlives the program");
    let report = checked(&out);
    println!("{name}: {report}");
    assert_eq!(report["state"], "cut_off", "{name}");
    assert_eq!(report["lost"].as_array().unwrap().len(), 0, "{name}");
    for (table, rows) in flushed["rows"].as_object().unwrap() {
        assert!(report["rows"][table].as_u64() >= rows.as_u64(), "{name}: {table} {rows}");
    }
    let text = run(&format!("check {}", out.display()));
    assert!(text.stdout.contains("cut off"), "{name}: {}", text.stdout);
    assert_eq!(text.code, Some(1), "{name}: as of show: its end is missing");
    let document = shown(&out);
    assert!(document["ended"].is_null(), "{name}");
    run(&format!("show {}", out.display())).expect_code(0);
    sweep_until(|| disk.names().is_empty() && cgroups_of(pid).is_empty() && !is_slowed(disk.number()));
}

#[test]
fn at_the_very_beginning() {
    kill_when("at the beginning", 600, |_, out| checked(out));
}

#[test]
fn during_the_fill() {
    kill_when("during the fill", 600, |program, out| {
        std::thread::sleep(Duration::from_millis(400 + u64::from(program.pid() % 100)));
        checked(out)
    });
}

#[test]
fn in_the_measured_run() {
    kill_when("in the run", 600, |program, out| {
        program.wait_until("there are intervals", |program| program.stdout().contains("Run time: 2 seconds"));
        program.wait_until("there are samples", |_| number(&shown(out), "/recording/samples") >= 2.0);
        checked(out)
    });
}

#[test]
fn just_before_the_end() {
    kill_when("before the end", 6, |program, out| {
        program.wait_for_the_run();
        let flushed = checked(out);
        // Near the end, and still before it where this test is preempted.
        program.wait_until("the end is near", |program| {
            ["Run time: 4 seconds", "Run time: 5 seconds"].iter().any(|time| program.stdout().contains(time))
        });
        flushed
    });
}
