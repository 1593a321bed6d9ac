//! `kill -9` at any moment: what was flushed reads back, the load dies, and the next run takes everything away.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::stage::kernel::{cgroups_of, children_of, is_gone, is_slowed};
use crate::stage::{Disk, Running, SMALL, checked, folder, is_root, number, run, shown};

/// Kills a boxed and slowed run when `due`, and looks at what is left, before and after the next run.
fn kill_when(name: &str, due: impl FnOnce(&mut Running, &Path)) {
    if !is_root("killing a run in a box") {
        return;
    }
    let (folder, disk) = (folder(), Disk::ext4(96 << 20));
    let out = folder.path().join("run");
    let words =
        format!("run simoop {SMALL} --memory 48m --disk-bps 24m --out {} {}", out.display(), disk.path().display());
    let mut program = Running::start(&words);
    let pid = program.pid();
    program.wait_for_the_archive(&out);
    due(&mut program, &out);
    let load = children_of(pid);
    let flushed = checked(&out);
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
    let document = shown(&out);
    assert!(document["ended"].is_null(), "{name}");
    run(&format!("show {}", out.display())).expect_code(0);
    sweep(&folder.path().join("next"));
    assert_eq!(disk.names(), [""; 0], "{name}");
    assert!(cgroups_of(pid).is_empty(), "{name}");
    assert!(!is_slowed(disk.number()), "{name}");
}

/// The next run of the program: any that opens the register removes what a dead one left.
fn sweep(out: &Path) {
    run(&format!("record --runtime 100ms --json -q --out {}", out.display())).expect_code(0);
}

#[test]
fn at_the_very_beginning() {
    kill_when("at the beginning", |_, _| {});
}

#[test]
fn during_the_fill() {
    kill_when("during the fill", |program, _| {
        std::thread::sleep(Duration::from_millis(400 + u64::from(program.pid() % 100)))
    });
}

#[test]
fn in_the_measured_run() {
    kill_when("in the run", |program, out| {
        program.wait_for_the_run();
        std::thread::sleep(Duration::from_millis(1700));
        let document = shown(out);
        assert!(number(&document, "/recording/samples") >= 2.0, "{document:#}");
    });
}

#[test]
fn just_before_the_end() {
    kill_when("before the end", |program, _| {
        program.wait_for_the_run();
        std::thread::sleep(Duration::from_millis(2500));
    });
}
