//! After a power cut: what was flushed is on the disk and in order.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::recorded_disk::{Mounted, Order, RecordedDisk, output};
use crate::stage::{Running, checked, folder, is_root, run};

const DISK_BYTES: usize = 64 << 20;
/// Its tools refuse less than about 110 MiB.
const BTRFS_BYTES: usize = 128 << 20;

/// The power fails right after each second of some flushes of the disk. All that came later is lost.
#[test]
fn a_run_on_a_disk_without_power_is_whole_up_to_its_last_flush() {
    if !is_root("a file system") || !Path::new("/dev/fuse").exists() {
        return;
    }
    check(DISK_BYTES, "mkfs.ext4", &["-q", "-F", "-E", "nodiscard"]);
}

/// Its sync of a file does not keep the name of another one, which ext4's journal does.
#[test]
fn a_run_on_btrfs_without_power_is_whole_up_to_its_last_flush() {
    if is_root("a file system") && Path::new("/dev/fuse").exists() {
        check(BTRFS_BYTES, "mkfs.btrfs", &["-q", "-f", "-K"]);
    }
}

fn check(disk_bytes: usize, make: &str, options: &[&str]) {
    let disk = RecordedDisk::new(disk_bytes).unwrap();
    output(make, &[options, &[disk.device()]].concat()).unwrap();
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("place");
    let mounted = Mounted::device(disk.device(), &place).unwrap();
    output("sync", &["-f", &place.display().to_string()]).unwrap();
    let base = disk.snapshot();
    let out = place.join("run").display().to_string();
    let ended = run(&format!("record -q --no-trace --interval 100ms --runtime 2500ms --out {out}"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let orders = disk.orders();
    drop(mounted);
    let mut image = base;
    let (mut runs, mut flushes) = (0, 0);
    for (_, order) in &orders {
        match order {
            Order::Write { offset, data } => image[*offset..offset + data.len()].copy_from_slice(data),
            Order::Flush => {
                flushes += 1;
                // Each sync of a file is one or two flushes, and a mount takes some tenths of a second.
                if flushes % 4 == 0 {
                    runs += u32::from(is_whole_after_a_cut(&image));
                }
            }
        }
    }
    assert!(runs >= 3, "{runs} runs of {flushes} flushes");
}

/// Whether there is a run, which then must be intact.
fn is_whole_after_a_cut(image: &[u8]) -> bool {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("image");
    fs::write(&file, image).unwrap();
    let mounted = Mounted::image(&file, &home.path().join("place")).unwrap();
    let run = home.path().join("place/run");
    let is_run = run.join("run.json").exists();
    if is_run {
        let document = checked(&run);
        assert_eq!(document["whole"], true, "{document:#}");
    }
    drop(mounted);
    is_run
}

/// A disk without power may have written the watermark, and not yet what it promises: it comes after the sync.
#[test]
fn the_watermark_promises_what_is_on_the_disk() {
    if Command::new("strace").arg("-V").output().is_err() {
        return println!("skipped: strace is not installed");
    }
    let folder = folder();
    let (trace, out) = (folder.path().join("trace"), folder.path().join("run"));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-qq", "-e", "trace=pwrite64,fdatasync", "-e", "signal=none", "-o"]).arg(&trace);
    strace.arg(env!("CARGO_BIN_EXE_stallscope"));
    strace.args("record -q --no-trace --interval 100ms --runtime 1300ms --out".split(' ')).arg(&out);
    let ended = Running::spawn(strace).wait();
    if ended.stderr.contains("PTRACE_") {
        return println!("skipped: strace may not trace here");
    }
    let (mut unsynced, mut promises) = (None, 0);
    for line in fs::read_to_string(&trace).unwrap().lines() {
        let file = line.split_once("/run/").and_then(|(_, rest)| rest.split_once('>')).map(|(name, _)| name.to_owned());
        let Some(file) = file.filter(|name| name != "reserve") else { continue };
        match (line.contains("pwrite64("), file == "watermark") {
            (true, true) => {
                promises += 1;
                assert_eq!(unsynced, None, "{line}");
            }
            (true, false) if file == "journal" || file.starts_with("recent-") => unsynced = Some(file),
            (false, _) if unsynced.as_ref() == Some(&file) => unsynced = None,
            _ => {}
        }
    }
    assert!(promises > 5, "{promises} writes of the watermark");
}
