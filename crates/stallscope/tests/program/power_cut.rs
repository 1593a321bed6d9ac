//! After a power cut: what was flushed is on the disk and in order.

use std::fs;
use std::path::Path;

use crate::recorded_disk::{Mounted, Order, RecordedDisk, output};
use crate::stage::{checked, is_root, run};

const DISK_BYTES: usize = 64 << 20;

/// The power fails right after each second of some flushes of the disk. All that came later is lost.
#[test]
fn a_run_on_a_disk_without_power_is_whole_up_to_its_last_flush() {
    if !is_root("a file system") || !Path::new("/dev/fuse").exists() {
        return;
    }
    let disk = RecordedDisk::new(DISK_BYTES).unwrap();
    output("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", disk.device()]).unwrap();
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
                if flushes % 8 == 0 {
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
