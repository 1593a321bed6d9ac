//! Loads on temporary file systems that freeze, fill up or fail. Needs root and loop devices.

mod running;
mod temporary;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::catalogue::find;
use load::clock;
use load::conductor::LoadEvent;
use model::operation::{OperationKind, OperationRecord};
use running::{RunReport, plan, start};
use temporary::{Frozen, disk, run};

#[test]
fn a_stop_needs_no_cooperation_of_stuck_threads() {
    let Some(disk) = disk(&["mkfs.xfs", "-q"], 512 << 20) else { return };
    let settings = [("runtime", "1h"), ("file_size", "4m"), ("threads", "4")];
    let mut conductor = start(plan(&find("paced-writer").unwrap(), &disk.mount, &settings));
    let mut report = RunReport::default();
    report.poll_until(&mut conductor, |report| report.count("run", "write") > 100);
    let frozen = Frozen::new(&disk);
    let deadline = clock::now_ns() + 60_000_000_000;
    let is_stuck = |operation: &OperationRecord| operation.class == "write" && operation.duration_ns > 1_000_000_000;
    while conductor.stuck(clock::now_ns()).iter().filter(|operation| is_stuck(operation)).count() < 4 {
        assert!(clock::now_ns() < deadline, "{:?}", conductor.stuck(clock::now_ns()));
        std::thread::sleep(Duration::from_millis(20));
    }
    report.poll(&mut conductor);
    let before = report.intervals.len();
    let asked = clock::now_ns();
    conductor.stop();
    report.poll(&mut conductor);
    assert!(report.intervals.len() > before, "statistics at once");
    assert!(report.of("run", "write").last().is_some_and(|record| record.stuck == 4));
    report.poll_until(&mut conductor, |_| clock::now_ns() > asked + 500_000_000);
    assert_eq!(report.end, None, "its threads are still stuck");
    drop(conductor);
    drop(frozen);
    std::thread::sleep(Duration::from_millis(500));
}

#[test]
fn a_full_disk_under_load_is_counted_and_survived() {
    let Some(disk) = disk(&["mkfs.ext4", "-q", "-m", "0"], 64 << 20) else { return };
    let text = r#"name = "crowd"
about = "replaces files where there is no room for a second copy"
[[phase]]
name = "fill"
kind = "fill"
[[phase]]
name = "run"
kind = "run"
duration = "1h"
[files.set]
count = 2
size = "14m"
[[actor]]
name = "crowd"
count = 4
[[actor.step]]
do = "create"
from = "set"
"#;
    let recipe = load::recipe::Recipe::parse("crowd.toml", text).unwrap();
    let mut conductor = start(plan(&recipe, &disk.mount, &[]));
    let mut report = RunReport::default();
    // It continues after the first failures.
    report.poll_until(&mut conductor, |report| report.intervals.iter().filter(|record| record.errors > 0).count() > 1);
    conductor.stop();
    report.poll_until(&mut conductor, |_| false);
    assert_eq!(report.end, Some(LoadEvent::Finished));
    println!("{} creates, {} failed", report.count("run", "create"), report.errors());
    assert!(report.errors() > 0);
    let failed = report.operations.iter().find(|operation| operation.kind == OperationKind::Failed).unwrap();
    assert_eq!(failed.errno, Some(28), "ENOSPC");
    assert!(failed.path.as_deref().is_some_and(|path| path.contains("stallscope-crowd/set/0000/")));
}

#[test]
fn a_failing_disk_is_counted_and_survived() {
    let Some(disk) = disk(&["mkfs.ext4", "-q"], 64 << 20) else { return };
    let text = r#"name = "reader"
about = "reads"
[[phase]]
name = "fill"
kind = "fill"
[[phase]]
name = "run"
kind = "run"
duration = "1s"
[files.set]
count = 8
size = "4m"
[[actor]]
name = "reader"
count = 2
[[actor.step]]
do = "read"
from = "set"
size = "256k"
fork = 2
"#;
    let recipe = load::recipe::Recipe::parse("reader.toml", text).unwrap();
    assert_eq!(RunReport::all(start(plan(&recipe, &disk.mount, &[]))).errors(), 0);
    let plan = plan(&recipe, &disk.mount, &[]);
    for file in 0..8 {
        let path = load::data::file_path(&plan.data_directories[0], &plan.file_sets[0], file);
        rustix::fs::fadvise(File::open(path).unwrap(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
    // A loop device fails to read what is beyond the end of its backing file.
    File::options().write(true).open(disk.home.path().join("image")).unwrap().set_len(12 << 20).unwrap();
    let report = RunReport::all(start(plan));
    assert_eq!((report.end.as_ref(), report.reused), (Some(&LoadEvent::Finished), 1));
    println!("{} reads, {} failed", report.count("run", "read"), report.errors());
    assert!(report.errors() > 0);
    let failed = report.operations.iter().find(|operation| operation.kind == OperationKind::Failed).unwrap();
    assert_eq!(failed.errno, Some(5), "EIO");
    assert!(failed.offset_bytes.is_some_and(|offset| offset < 4 << 20), "{failed:?}");
    assert!(failed.path.as_deref().is_some_and(|path| path.contains("stallscope-reader/set/0000/")));
}

#[test]
fn a_fill_that_finds_no_room_ends_the_load_with_a_message() {
    let Some(disk) = disk(&["mkfs.ext4", "-q", "-m", "0"], 32 << 20) else { return };
    let settings = [("file_size", "16m"), ("runtime", "1s")];
    let report = RunReport::all(start(plan(&find("paced-writer").unwrap(), &disk.mount, &settings)));
    let Some(LoadEvent::Died { signal: None, message, .. }) = &report.end else { panic!("{:?}", report.end) };
    println!("{message}");
    assert!(message.starts_with("cannot write ") && message.contains("No space left"), "{message}");
}

#[test]
fn another_file_system_mounted_inside_is_not_removed() {
    let Some(disk) = disk(&["mkfs.ext4", "-q"], 32 << 20) else { return };
    std::fs::write(disk.mount.join("precious"), "x").unwrap();
    let home = tempfile::tempdir().unwrap();
    let report = RunReport::all(start(plan(
        &find("paced-writer").unwrap(),
        home.path(),
        &[("file_size", "1m"), ("runtime", "50ms")],
    )));
    assert_eq!(report.end, Some(LoadEvent::Finished));
    let data = home.path().join("stallscope-paced-writer");
    let inside = data.join("set/inside");
    std::fs::create_dir(&inside).unwrap();
    let bound = Bound::new(&disk.mount, &inside);
    let error = load::data::remove::data_directory("paced-writer", &data).unwrap_err().to_string();
    assert!(error.contains("another file system"), "{error}");
    assert!(disk.mount.join("precious").exists());
    drop(bound);
    load::data::remove::data_directory("paced-writer", &data).unwrap();
    assert!(!data.exists());
}

/// A bind mount, taken away when dropped.
struct Bound(PathBuf);

impl Bound {
    fn new(from: &Path, to: &Path) -> Bound {
        run("mount", &["--bind", &from.display().to_string(), &to.display().to_string()]).unwrap();
        Bound(to.to_owned())
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = run("umount", &[&self.0.display().to_string()]);
    }
}
