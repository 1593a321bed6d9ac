//! Temporary file systems on real loop devices.

use std::process::Command;
use std::time::{Duration, Instant};

use super::{is_root, register, register_after_death};
use crate::child::find_tool;
use crate::remove::mount::loops_of;
use crate::{FsKind, Rig, RigError, RigRequest, Roots, TemporaryFileSystem};

#[test]
fn each_kind_is_made_used_and_removed() {
    if !is_root("a loop device") {
        return;
    }
    for (kind, size_bytes) in [(FsKind::Xfs, 320 << 20), (FsKind::Ext4, 64 << 20), (FsKind::Btrfs, 160 << 20)] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (register, _) = register(folder.path());
        let made = match TemporaryFileSystem::make(kind, size_bytes, folder.path(), &register) {
            Err(error @ (RigError::MissingTool { .. } | RigError::Tool { .. })) => {
                println!("skipped: {error}");
                continue;
            }
            made => made.unwrap(),
        };
        std::fs::write(made.path().join("file"), "content").unwrap();
        let mounts = Roots::default().mounts().unwrap();
        let mount = mounts.iter().find(|mount| mount.point == made.path()).unwrap();
        assert_eq!(mount.fs_type, kind.name());
        assert_eq!(made.device().unwrap().split(':').next(), Some("7"));
        println!("{}: {:?}, {:?}", kind.name(), made.device(), made.notes());
        let removed = made.remove();
        assert_eq!(removed.len(), 3);
        assert!(removed.iter().all(|outcome| outcome.complete), "{removed:?}");
    }
}

#[test]
fn the_queue_of_an_earlier_user_is_not_kept() {
    if !is_root("a loop device") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (register, _) = register(folder.path());
    let make = || TemporaryFileSystem::make(FsKind::Ext4, 32 << 20, folder.path(), &register).unwrap();
    let queue = |made: &TemporaryFileSystem| {
        std::path::PathBuf::from(format!("/sys/dev/block/{}/queue", made.device().unwrap()))
    };
    // Another test may take the device in between: try again.
    for _ in 0..10 {
        let earlier = make();
        let number = earlier.device().unwrap().to_owned();
        std::fs::write(queue(&earlier).join("nr_requests"), "77").unwrap();
        std::fs::write(queue(&earlier).join("scheduler"), "mq-deadline").unwrap();
        earlier.remove();
        let later = make();
        if later.device() != Some(&number) {
            continue;
        }
        assert!(std::fs::read_to_string(queue(&later).join("scheduler")).unwrap().contains("[none]"));
        assert_eq!(std::fs::read_to_string(queue(&later).join("nr_requests")).unwrap().trim(), "128");
        let tags = format!("/sys/kernel/debug/block/loop{}/hctx0/tags", number.trim_start_matches("7:"));
        if let Ok(tags) = std::fs::read_to_string(tags) {
            assert!(tags.contains("depth=128\n"), "{tags}");
        }
        return;
    }
    println!("skipped: other tests took the loop device ten times");
}

#[test]
fn a_busy_file_system_is_released_with_its_user() {
    if !is_root("a loop device") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (register, _) = register(folder.path());
    let made = TemporaryFileSystem::make(FsKind::Ext4, 32 << 20, folder.path(), &register).unwrap();
    let image = made.path().with_file_name("image");
    let held = std::fs::File::create(made.path().join("held")).unwrap();
    let removed = made.remove();
    // Lazily unmounted; the loop device is still in use, and so it stays registered.
    assert!(removed[0].complete && removed[0].sentence.starts_with("lazily unmounted"), "{removed:?}");
    assert!(!removed[1].complete, "{removed:?}");
    drop(held);
    wait_until("the loop device is released", || loops_of(&image, &Roots::default()).is_empty());
}

/// The limit only ends a test that hangs.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "timed out: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a process is stuck in the kernel: it stays in uninterruptible sleep for longer than reading a page of
/// its program takes.
fn wait_until_stuck(pid: u32) {
    let uninterruptible = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        line("State:").contains('D').then(|| line("voluntary_ctxt_switches:"))
    };
    let mut since = (Instant::now(), None);
    wait_until("the writer is stuck", || {
        let now = uninterruptible();
        if now != since.1 {
            since = (Instant::now(), now);
        }
        since.1.is_some() && since.0.elapsed() > Duration::from_millis(300)
    });
}

#[test]
fn a_frozen_file_system_is_thawed_and_removed() {
    let Some(fsfreeze) = find_tool("fsfreeze").filter(|_| is_root("a frozen file system")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (register, _) = register(folder.path());
    let made = TemporaryFileSystem::make(FsKind::Ext4, 32 << 20, folder.path(), &register).unwrap();
    assert!(Command::new(fsfreeze).arg("-f").arg(made.path()).status().unwrap().success());
    // It writes to the frozen file system and hangs until it is thawed.
    let script = format!("echo x > {}", made.path().join("stuck").display());
    let mut writer = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    wait_until_stuck(writer.id());
    let removed = made.remove();
    assert!(removed.iter().all(|outcome| outcome.complete), "{removed:?}");
    let _ = writer.wait();
}

#[test]
fn a_cgroup_with_a_stuck_process_is_left_in_time_and_removed_later() {
    let Some(fsfreeze) = find_tool("fsfreeze").filter(|_| is_root("a frozen file system")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (register, _) = register(folder.path());
    let made = TemporaryFileSystem::make(FsKind::Ext4, 32 << 20, folder.path(), &register).unwrap();
    let request = RigRequest { memory_bytes: Some(64 << 20), ..RigRequest::default() };
    let rig = match Rig::build(&request, &register) {
        Err(error @ RigError::NoController { .. }) => return println!("skipped: {error}"),
        rig => rig.unwrap(),
    };
    let procs = rig.cgroup_procs[0].clone();
    assert!(Command::new(fsfreeze).arg("-f").arg(made.path()).status().unwrap().success());
    let script = format!("echo $$ > {}; echo x > {}", procs.display(), made.path().join("stuck").display());
    let mut writer = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    wait_until_stuck(writer.id());
    let removed = rig.remove();
    assert!(!removed[0].complete && removed[0].sentence.contains("does not die"), "{removed:?}");
    assert!(procs.exists());
    // Removing the file system thaws it, which lets the process die.
    assert!(made.remove().iter().all(|outcome| outcome.complete));
    drop(register);
    let removed = register_after_death(folder.path());
    assert!(removed.len() == 1 && removed[0].complete, "{removed:?}");
    assert!(!procs.exists());
    let _ = writer.wait();
}

#[test]
fn an_unsupported_file_system_is_reported_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (register, _) = register(folder.path());
    let error = TemporaryFileSystem::directory(1 << 60, folder.path(), &register).unwrap_err();
    assert!(matches!(error, RigError::NoSpace { .. }), "{error}");
    // Too small for XFS and for a journal on ext4.
    let made = TemporaryFileSystem::best_available(16 << 10, folder.path(), &register).unwrap();
    assert!(made.path().is_dir());
    assert_eq!(made.kind(), None, "{:?}", made.notes());
    assert!(made.notes().last().unwrap().contains("using a plain directory"), "{:?}", made.notes());
    let removed = made.remove();
    assert!(removed.iter().all(|outcome| outcome.complete), "{removed:?}");
}

#[test]
fn an_image_from_before_a_reboot_is_removed_and_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let (register, _) = register(folder.path());
    let place = folder.path().join("place");
    let owner = register.owner().clone();
    let earlier = crate::Owner { boot_id: "earlier".into(), ..owner.clone() };
    let make = |name: &str, owner: Option<&crate::Owner>| {
        let path = place.join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("image"), "").unwrap();
        let marker = owner.map(|owner| std::fs::write(path.join(crate::MARKER), serde_json::to_string(owner).unwrap()));
        marker.into_iter().for_each(|written| written.unwrap());
        path
    };
    let gone = make("stallscope-1-2-0", Some(&earlier));
    let kept = [make("stallscope-1-2-1", Some(&owner)), make("stallscope-1-2-2", None), make("other", Some(&earlier))];
    let made = TemporaryFileSystem::directory(0, &place, &register).unwrap();
    assert_eq!(made.notes().len(), 1, "{:?}", made.notes());
    assert!(!gone.exists());
    assert!(kept.iter().all(|path| path.join("image").exists()));
}
