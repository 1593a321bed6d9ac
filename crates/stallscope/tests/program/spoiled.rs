//! Workloads on disks that are full, read-only or failing, and unsupported requests: the exit code says which, and
//! failures are named with file and offset.

use std::process::Command;

use serde_json::Value;

use crate::stage::disk::text;
use crate::stage::{Disk, Ended, Running, folder, is_root, run, shown};

/// Every shipped workload.
const WORKLOADS: [&str; 15] = [
    "bonnie",
    "cold-reader",
    "fsmark",
    "fsync-storm",
    "ior",
    "mdtest",
    "multi-source",
    "paced-writer",
    "randrw",
    "read-latency",
    "rewrite",
    "sequential-write",
    "simoop",
    "sync-latency",
    "write-latency",
];

fn on(disk: &Disk, words: &str) -> Ended {
    let folder = folder();
    run(&format!("run {words} --no-trace -q --json --out {} {}", text(&folder.path().join("run")), text(disk.path())))
}

#[test]
fn a_full_disk_fails_each_workload_with_file_and_offset() {
    if !is_root("disks that fill up") {
        return;
    }
    for (words, class, below) in [
        ("bonnie -f -s 64 -n 0 -r 0", "write", "large/0000/000"),
        ("bonnie -s 0 -n 8:65536:65536 -r 0", "write", "small/"),
        ("ior -w -r -t 64k -b 32m -N 2", "write", "shared/0000/000"),
        ("ior -w -F -t 64k -b 32m -N 2", "write", "own/0000/00"),
        ("sequential-write --size 64m", "write", "file/0000/000"),
        ("fsmark -s 65536 -n 800 -S 0", "write", "files/"),
        (
            "multi-source --drop none --files 30 --mails 150 --mail-size 512k --pack 1m -t 1 --revisions 2",
            "write",
            "mails/cur/",
        ),
    ] {
        let disk = Disk::ext4(32 << 20);
        let ended = on(&disk, &format!("{words} --force")).expect_code(1);
        let document = ended.document();
        let failures = document["failures"].as_array().unwrap();
        let full = failures.iter().find(|failure| failure["error"] == "ENOSPC" && failure["class"] == class);
        let full = full.unwrap_or_else(|| panic!("{words}: {failures:#?}"));
        let workload = words.split(' ').next().unwrap();
        let path = full["first"]["path"].as_str().unwrap();
        assert!(path.contains(&format!("stallscope-{workload}/{below}")), "{words}: {full:#}");
        assert!(full["first"]["offset_bytes"].is_u64(), "{words}: {full:#}");
        assert_eq!(disk.names(), [""; 0], "{words}");
    }
}

/// A failure of the fill before the load fails the run.
#[test]
fn a_disk_that_is_full_during_the_fill_is_one_error_with_file_and_offset() {
    if !is_root("disks that fill up") {
        return;
    }
    for words in ["rewrite -s 64m", "randrw -s 64m", "paced-writer --file-size 64m"] {
        let disk = Disk::ext4(32 << 20);
        let ended = on(&disk, &format!("{words} --force")).expect_code(1);
        let error = ended.error();
        for part in ["cannot write", "/0000/00", "No space left", "from byte"] {
            assert!(error.contains(part), "{words}: {error}");
        }
        assert_eq!(disk.names(), [""; 0], "{words}");
    }
}

#[test]
fn a_read_only_disk_is_refused_by_every_workload_before_anything_is_made() {
    if !is_root("a read-only file system") {
        return;
    }
    let disk = Disk::ext4(32 << 20);
    let remount = |how: &str| {
        let status = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(disk.path()).status().unwrap();
        assert!(status.success());
    };
    remount("ro");
    for workload in WORKLOADS {
        let ended = on(&disk, &format!("{workload} --force")).expect_code(3);
        assert!(ended.error().contains(&text(disk.path())), "{workload}: {}", ended.stderr);
    }
    remount("rw");
    assert_eq!(disk.names(), [""; 0]);
}

/// No file system here fails a close by itself: strace injects the error.
#[test]
fn an_error_of_close_is_reported_with_its_file() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let file = data.path().join("stallscope-ior/shared/0000/000");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=close", "-e", "inject=close:error=EIO", "-P"]);
    strace.arg(&file).arg(env!("CARGO_BIN_EXE_stallscope"));
    strace.args("run ior -w -t 64k -b 64k -N 2 --no-trace -q --json --out".split(' ')).args([&out, data.path()]);
    if Command::new("strace").arg("-V").output().is_err() {
        return println!("skipped: strace is not installed");
    }
    let ended = Running::spawn(strace).wait();
    if ended.stderr.contains("PTRACE_") {
        return println!("skipped: strace may not trace here");
    }
    let document = ended.expect_code(1).document();
    let [failure] = &document["failures"].as_array().unwrap()[..] else { panic!("{:#}", document["failures"]) };
    assert_eq!((&failure["class"], &failure["error"]), (&"close".into(), &"EIO".into()), "{failure:#}");
    assert_eq!(failure["first"]["path"], text(&file));
}

#[test]
fn unsupported_direct_io_is_refused_before_the_load_begins() {
    if !is_root("a disk of large sectors") {
        return;
    }
    let (folder, disk) = (folder(), LargeSectors::new());
    let at = text(disk.mount.path());
    for words in [
        "randrw --direct -b 512",
        "ior -B -t 512 -b 512",
        "bonnie -D -s 1:512 -n 0 -r 0",
        "sequential-write --direct --block 512 --size 1m",
        "sequential-write --direct --block 4096 --size 6k",
    ] {
        let ended = run(&format!("run {words} --out {} {at}", text(&folder.path().join("run")))).expect_code(3);
        assert!(ended.error().contains("multiples of 4096 bytes"), "{words}: {}", ended.stderr);
        assert!(!folder.path().join("run").exists(), "{words}");
    }
    let fits = "run randrw --direct -b 4k -s 64k -r 100ms --no-trace -q";
    run(&format!("{fits} --out {} {at}", text(&folder.path().join("fits")))).expect_code(0);
    let left: Vec<_> = std::fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lost+found"]);
}

/// ext4 on a disk whose sectors are 4 KiB long; removed when dropped.
struct LargeSectors {
    device: String,
    mount: tempfile::TempDir,
    _image: tempfile::NamedTempFile,
}

impl LargeSectors {
    fn new() -> LargeSectors {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(32 << 20).unwrap();
        let device = tool("losetup", &["-f", "--show", "-b", "4096", &text(image.path())]);
        let disk =
            LargeSectors { device: device.trim().to_owned(), mount: tempfile::tempdir().unwrap(), _image: image };
        tool("mkfs.ext4", &["-q", "-F", &disk.device]);
        tool("mount", &[&disk.device, &text(disk.mount.path())]);
        disk
    }
}

impl Drop for LargeSectors {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", &text(self.mount.path())]).status();
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}

fn tool(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_unsupported_output_form_is_refused_and_workloads_that_support_it_are_named() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    for workload in WORKLOADS {
        if ["bonnie", "fsmark", "ior", "mdtest", "simoop"].contains(&workload) {
            continue;
        }
        let ended = run(&format!("run {workload} --format native --out {} {}", text(&out), text(data.path())));
        let ended = ended.expect_code(2);
        assert!(ended.error().contains("bonnie, fsmark, ior, mdtest, simoop"), "{workload}: {}", ended.stderr);
    }
    assert!(!out.exists());
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
}

/// More slow operations than the board holds while nothing reads it: losses are counted, and the figures are complete.
#[test]
fn dropped_slow_operations_are_counted() {
    use rustix::process::Signal;
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let mut program = Running::start(&format!(
        "run randrw --engine null -s 64k -r 8 --slower-than 1ns --no-trace --json --out {} {}",
        text(&out),
        text(data.path())
    ));
    program.wait_for_the_archive(&out);
    program.wait_until("the run has begun", |_| {
        shown(&out)["phases"].as_array().is_some_and(|phases| phases.iter().any(|phase| phase["name"] == "run"))
    });
    // The load, a separate process, continues.
    for _ in 0..4 {
        program.signal(Signal::STOP);
        std::thread::sleep(std::time::Duration::from_millis(500));
        program.signal(Signal::CONT);
    }
    let document = program.wait().expect_code(0).document();
    let number =
        |at: &str| document.pointer(at).and_then(Value::as_u64).unwrap_or_else(|| panic!("{at}: {document:#}"));
    let done = number("/operations/read/count") + number("/operations/write/count");
    let lost = number("/recording/lost_events");
    assert!(done > 8192 && lost > 0 && lost < done, "{lost} of {done}");
    let shown = run(&format!("show {}", text(&out))).expect_code(0).stdout;
    assert!(shown.contains("lost"), "{shown}");
}
