//! A full disk: what matters most is still written, and the run closes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scenario::{Step, description, moment, options, rows_in, rows_of, skip};
use archive::{FlushState, Run, RunState, Writer, WriterOptions};
use model::event::{Ending, RunEvent};
use tempfile::{TempDir, tempdir};

/// A small file system, unmounted when dropped.
struct SmallDisk {
    mount: PathBuf,
    _base: TempDir,
}

impl SmallDisk {
    /// `Err` says why it cannot be had here.
    fn mount(fs_type: &str) -> Result<SmallDisk, String> {
        let base = tempdir().map_err(|error| error.to_string())?;
        let mount = base.path().join("mount");
        fs::create_dir(&mount).map_err(|error| error.to_string())?;
        if fs_type == "tmpfs" {
            run(Command::new("mount").args(["-t", "tmpfs", "-o", "size=3m", "none"]).arg(&mount))?;
        } else {
            let image = base.path().join("image");
            let file = fs::File::create(&image).map_err(|error| error.to_string())?;
            file.set_len(16 << 20).map_err(|error| error.to_string())?;
            run(Command::new(format!("mkfs.{fs_type}")).arg("-q").arg(&image))?;
            run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&mount))?;
        }
        Ok(SmallDisk { mount, _base: base })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.mount).status();
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Writes until nothing more is accepted, closes, and checks what is left. `fill` takes the disk's free space away.
fn write_until_full(dir: &Path, options: WriterOptions, fill: impl FnOnce()) {
    let mut writer = Writer::create(dir, &description(), options).unwrap();
    let mut fill = Some(fill);
    let mut states = Vec::new();
    let mut steps = 0;
    loop {
        Step::number(steps).write(&mut writer);
        let state = writer.flush(moment(steps));
        steps += 1;
        if steps == 10 {
            fill.take().into_iter().for_each(|fill| fill());
        }
        let full = matches!(state, FlushState::Full { .. });
        if states.last() != Some(&state) {
            states.push(state);
        }
        if full {
            break;
        }
        assert!(steps < 500_000, "the disk never became full: {states:?}");
    }
    writer.event(RunEvent::Ended { at_ns: 1, how: Ending::ArchiveFull });
    let closed = writer.close(moment(steps)).unwrap();
    assert_eq!(Some(&closed.state), states.last());
    check_order(&states);
    check_rows(dir, steps);
}

fn check_order(states: &[FlushState]) {
    let dropped: Vec<&[&str]> = states
        .iter()
        .filter_map(|state| match state {
            FlushState::Degraded { dropped, .. } => Some(dropped.as_slice()),
            _ => None,
        })
        .collect();
    assert_eq!(states.first(), Some(&FlushState::Whole));
    let traced = ["stalls", "stacks", "requests", "request_intervals", "tasks", "usage", "user_stacks", "user_frames"];
    let in_order = [&traced[..], &["operations", "intervals"]].concat();
    assert_eq!(dropped, [&in_order[..8], &in_order[..9], &in_order[..10]], "{states:?}");
}

fn check_rows(dir: &Path, steps: u32) {
    let run = Run::open(dir).unwrap();
    let rows = rows_in(&run);
    assert!(rows.are_among(&rows_of(steps)));
    let written = rows_of(steps);
    let share = |kept: usize, of: usize| kept as f64 / of as f64;
    let kept = [
        share(rows.stalls.len(), written.stalls.len()),
        share(rows.operations.len(), written.operations.len()),
        share(rows.intervals.len(), written.intervals.len()),
        share(rows.samples.len(), written.samples.len()),
    ];
    assert!(kept.is_sorted() && kept[0] < kept[1], "{kept:?}");
    let whole_until = rows_of(rows.samples.len() as u32);
    assert_eq!((rows.samples, rows.changes), (whole_until.samples, whole_until.changes));
    let report = run.check();
    assert!(report.whole, "{report:?}");
    assert_eq!(report.state, RunState::Closed);
    let dropped = run.events().iter().filter(|event| matches!(event, RunEvent::TableDropped { .. })).count();
    let losses = run.events().iter().filter(|event| matches!(event, RunEvent::Loss { .. })).count();
    assert!(dropped == 13 && losses >= 2, "{:?}", run.events());
    assert!(run.events().contains(&RunEvent::Ended { at_ns: 1, how: Ending::ArchiveFull }));
    assert!(!dir.join("reserve").exists());
}

#[test]
fn a_size_limit_is_kept_and_ends_the_run() {
    let base = tempdir().unwrap();
    let dir = base.path().join("run");
    // Not every limit gives the tables up one after another: where it is reached while rows are moved to their
    // segments, a part of the reserve may be too small for the rest.
    let limit = 512 << 10;
    write_until_full(&dir, WriterOptions { size_limit_bytes: Some(limit), ..options(5) }, || ());
    let size: u64 = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(size <= limit + 4096, "{size}");
}

fn on_a_full(fs_type: &str, sync: bool) {
    let disk = match SmallDisk::mount(fs_type) {
        Ok(disk) => disk,
        Err(why) => return skip(&format!("no small {fs_type}: {why}")),
    };
    let fill = || {
        let mut file = fs::File::create(disk.mount.join("ballast")).unwrap();
        let filled = std::io::copy(&mut std::io::repeat(7), &mut file);
        assert_eq!(filled.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    };
    let options = WriterOptions { reserve_bytes: 256 << 10, sync, ..options(5) };
    write_until_full(&disk.mount.join("run"), options, fill);
}

#[test]
fn a_full_tmpfs_is_degraded_in_order() {
    on_a_full("tmpfs", false);
}

#[test]
fn a_full_ext4_is_degraded_in_order() {
    on_a_full("ext4", true);
}

#[test]
fn a_disk_without_room_for_the_reserve_is_refused() {
    let disk = match SmallDisk::mount("tmpfs") {
        Ok(disk) => disk,
        Err(why) => return skip(&format!("no small tmpfs: {why}")),
    };
    let large = WriterOptions { reserve_bytes: 4 << 20, ..options(5) };
    let refused = Writer::create(&disk.mount.join("run"), &description(), large).err().unwrap().to_string();
    assert!(refused.contains("are needed to begin"), "{refused}");
}
