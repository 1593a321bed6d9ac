//! Whatever stage a program is killed at, the next one removes everything.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

use super::{again, is_root, register};
use crate::remove::mount::loops_of;
use crate::{FsKind, Hierarchies, Rig, RigRequest, Roots, TemporaryFileSystem};

/// Resources that [`builder`] registers: directory, loop device, mount, cgroup, two rules.
const STAGES: u64 = 6;

#[test]
fn builder() {
    let Ok(folder) = std::env::var("RIG_TEST_FOLDER") else { return };
    let folder = Path::new(&folder);
    let (register, _) = register(folder);
    let temporary = TemporaryFileSystem::make(FsKind::Ext4, 32 << 20, folder, &register).unwrap();
    let request = RigRequest {
        memory_bytes: Some(64 << 20),
        disk_bytes_per_s: Some(7 << 20),
        directories: vec![temporary.path().to_owned()],
        ..RigRequest::default()
    };
    let rig = Rig::build(&request, &register).unwrap();
    // A process that outlives us in the cgroup, with a file open on the temporary file system.
    let script = "for file in \"$@\"; do echo $$ > \"$file\"; done; exec sleep 1000 > still-open";
    let mut sleeper = Command::new("sh");
    sleeper.args(["-c", script, "sh"]).args(&rig.cgroup_procs).current_dir(temporary.path());
    std::mem::forget(sleeper.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    while !temporary.path().join("still-open").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(getpid(), Signal::KILL).unwrap();
}

#[test]
fn killed_at_any_stage_the_next_run_removes_everything() {
    if !is_root("killing a builder of real resources") {
        return;
    }
    for stage in 0..=STAGES {
        let folder = tempfile::tempdir().unwrap();
        let mut command = again("tests::crash::builder");
        command.env("RIG_TEST_FOLDER", folder.path()).env("RIG_TEST_DIE_AT", stage.to_string());
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        assert!(!child.wait().unwrap().success());
        let (register, removed) = register(folder.path());
        for outcome in &removed {
            println!("stage {stage}: {outcome}");
        }
        assert!(removed.iter().all(|outcome| outcome.complete), "stage {stage}: {removed:?}");
        assert_eq!(removed.is_empty(), stage == 0, "stage {stage}: {removed:?}");
        assert_nothing_left(folder.path(), pid);
        drop(register);
    }
}

/// Dies while its command is executed.
#[test]
fn changer() {
    let Ok(folder) = std::env::var("RIG_TEST_CHANGER") else { return };
    let (register, _) = register(Path::new(&folder));
    let death = std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(200));
        kill_process(getpid(), Signal::KILL).unwrap();
    });
    let changed = Path::new(&folder).join("changed").display().to_string();
    let _entry = register.change_by(&format!("sleep 0.8; touch {changed}"), &format!("rm -f {changed}")).unwrap();
    death.join().unwrap();
}

/// Such as mount(8): the next start found nothing mounted, and then it was.
#[test]
fn what_a_tool_makes_after_the_death_of_its_program_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = again("tests::crash::changer");
    let status = command.env("RIG_TEST_CHANGER", folder.path()).stdout(Stdio::null()).status().unwrap();
    assert!(!status.success());
    let (_register, removed) = register(folder.path());
    assert!(removed.len() == 1 && removed[0].complete, "{removed:?}");
    std::thread::sleep(Duration::from_secs(1));
    assert!(!folder.path().join("changed").exists());
}

fn assert_nothing_left(folder: &Path, pid: u32) {
    let roots = Roots::default();
    let names: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["register"]);
    assert!(!roots.mounts().unwrap().iter().any(|mount| mount.point.starts_with(folder)));
    let backing = folder.join(format!("stallscope-{pid}"));
    assert!(loops_of(&backing, &roots).is_empty());
    for entry in fs::read_dir("/sys/block").unwrap().flatten() {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        assert!(!file.starts_with(folder.to_str().unwrap()), "{file}");
    }
    let found = Hierarchies::detect(&roots).unwrap();
    for hierarchy in [found.memory, found.unified].into_iter().flatten() {
        for parent in [&hierarchy.own, &hierarchy.mount] {
            let ours = format!("stallscope-{pid}-");
            let left = fs::read_dir(parent).unwrap().flatten();
            assert!(!left.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(&ours)));
        }
    }
    if let Some(blkio) = found.blkio {
        let rules = fs::read_to_string(blkio.mount.join("blkio.throttle.write_bps_device")).unwrap();
        assert!(!rules.contains(" 7340032\n"), "{rules}");
    }
}
