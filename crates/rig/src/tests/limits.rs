//! Memory limits and I/O throttling on the real kernel.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{is_root, register, run_in_cgroup};
use crate::{FsKind, Register, Rig, RigError, RigRequest, TemporaryFileSystem};

fn memory_cgroup(register: &Register) -> Option<Rig> {
    let request = RigRequest { memory_bytes: Some(64 << 20), ..RigRequest::default() };
    match Rig::build(&request, register) {
        Ok(rig) => Some(rig),
        Err(error @ RigError::NoController { .. }) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn page_cache_hits_the_memory_limit() {
    if !is_root("a memory cgroup") {
        return;
    }
    // Not /tmp, which may be a tmpfs: it is charged to the cgroup, and cannot be written back.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (register, _) = register(folder.path());
    let Some(rig) = memory_cgroup(&register) else { return };
    let output = format!("of={}", folder.path().join("dirt").display());
    run_in_cgroup(&rig.cgroup_procs, &["dd", "if=/dev/zero", &output, "bs=1M", "count=200", "status=none"]);
    let (file, key) = match (&rig.memory_v1, &rig.unified) {
        (Some(group), _) => (group.join("memory.failcnt"), ""),
        (None, group) => (group.as_ref().unwrap().join("memory.events"), "max "),
    };
    let text = fs::read_to_string(file).unwrap();
    let hits = text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok()).unwrap();
    assert!(hits > 0);
    println!("200 MiB in a memory cgroup of 64 MiB hit its limit {hits} times");
    assert!(rig.remove().iter().all(|outcome| outcome.complete));
}

#[test]
fn a_cgroup_is_removed_with_its_tasks_even_after_a_panic() {
    if !is_root("a memory cgroup") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (register, _) = register(folder.path());
    let Some(rig) = memory_cgroup(&register) else { return };
    let procs = rig.cgroup_procs[0].clone();
    let script = format!("echo $$ > {}; echo in; exec sleep 1000", procs.display());
    let mut command = std::process::Command::new("sh");
    let mut child = command.args(["-c", &script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = [0; 3];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _held = rig;
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert!(!procs.exists());
    assert!(!child.wait().unwrap().success());
}

fn timed(rig: &Rig, file: &Path, how: &str) -> Duration {
    let output = format!("of={}", file.display());
    let started = Instant::now();
    run_in_cgroup(&rig.cgroup_procs, &["dd", "if=/dev/zero", &output, "bs=1M", "count=16", how, "status=none"]);
    started.elapsed()
}

/// 16 MiB at 8 MiB/s take 2 s, less the 0.1 s slice that the kernel lets pass at once.
const LIMITED: Duration = Duration::from_millis(1500);

/// Whether the device is unlimited. Under a limit no run is fast; on a busy machine some runs are slow, but not all.
fn is_free(register: &Register, file: &Path, how: &str) -> bool {
    (0..20).any(|_| {
        let took = timed(&Rig::build(&RigRequest::default(), register).unwrap(), file, how);
        println!("16 MiB with {how}: {took:?} unlimited");
        took < LIMITED
    })
}

#[test]
fn a_slow_device_is_slow_for_direct_and_for_buffered_writes() {
    if !is_root("a slow device") {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (register, _) = register(folder.path());
    let temporary = TemporaryFileSystem::make(FsKind::Ext4, 64 << 20, folder.path(), &register).unwrap();
    let request = RigRequest {
        disk_bytes_per_s: Some(8 << 20),
        directories: vec![temporary.path().to_owned()],
        ..RigRequest::default()
    };
    let file = temporary.path().join("written");
    for how in ["oflag=direct", "conv=fsync"] {
        assert!(is_free(&register, &file, how), "{how}: 16 MiB never take less than {LIMITED:?} here");
        let rig = match Rig::build(&request, &register) {
            Err(error @ RigError::NoController { .. }) => return println!("skipped: {error}"),
            rig => rig.unwrap(),
        };
        assert!(matches!(Rig::build(&request, &register), Err(RigError::ForeignRule { .. })) || rig.blkio_v1.is_none());
        let slow = timed(&rig, &file, how);
        println!("16 MiB with {how}: {slow:?} at 8 MiB/s");
        assert!(slow > LIMITED, "{how}: {slow:?}");
        assert!(rig.remove().iter().all(|outcome| outcome.complete));
        assert!(is_free(&register, &file, how), "{how}: the limit is still there");
    }
}
