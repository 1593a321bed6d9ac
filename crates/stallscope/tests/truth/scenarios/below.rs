//! What is below a wait: writeback, flushes, locked buffers, loop devices.

use std::time::Duration;

use super::{GO, Test, sharing};
use crate::ground::{Disk, EXT4, Ground, tool};
use crate::victim::{Truth, Victim};

pub const TESTS: &[Test] = &[
    sharing("below_fsync_of_pages", &[fsync_of_pages]),
    sharing("below_msync", &[msync]),
    sharing("below_sync_file_range", &[sync_file_range]),
    sharing("below_direct_read", &[direct_read]),
    sharing("below_empty_flush", &[empty_flush]),
    sharing("below_commit_with_flushes", &[commit_with_flushes]),
    sharing("below_second_reader", &[second_reader]),
    sharing("below_truncate", &[truncate]),
    sharing("below_cold_directory", &[cold_directory]),
    sharing("below_journal", &[below_journal]),
    sharing("below_journal_of_a_buffered_loop", &[below_buffered_journal]),
    sharing("below_xfs_log", &[below_xfs_log]),
    sharing("below_syncfs", &[below_syncfs]),
    sharing("below_loop", &[loop_over_slow_disk]),
    sharing("below_large_write", &[large_write]),
    sharing("below_loop_twice", &[loop_twice]),
    sharing("below_buffered_loop", &[buffered_loop]),
    sharing("below_frozen_direct", &[frozen_direct]),
    sharing("below_frozen_fsync", &[frozen_fsync]),
];

/// A victim on that disk, which becomes slow once the victim has prepared.
fn slowed(ground: &Ground, disk: &Disk, limit: (&str, u64), script: &str) -> Truth {
    let go = ground.at(GO);
    let victim = Victim::start(ground, &script.replace("GO", &format!("await {go}")));
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(disk, limit.0, limit.1);
    ground.go(&go);
    victim.suffered("io_throttle")
}

/// Pages that the call itself writes: its waits end when the conversion of unwritten extents has ended, in a worker.
fn fsync_of_pages() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let file = disk.file("victim");
    let script = format!("open {file}\nrealtime\nGO\nwrite {file} 0 16m\nfsync {file}");
    slowed(&ground, &disk, ("write_bps", 8 << 20), &script)
}

fn msync() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let file = disk.file("victim");
    let script =
        format!("open {file}\nwrite {file} 0 8m\nfsync {file}\ndirty {file}\nrealtime\nGO\ndirty {file}\nmsync {file}");
    slowed(&ground, &disk, ("write_bps", 4 << 20), &script)
}

fn sync_file_range() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let file = disk.file("victim");
    let script = format!("open {file}\nrealtime\nGO\nwrite {file} 0 8m\nsyncrange {file}");
    slowed(&ground, &disk, ("write_bps", 4 << 20), &script)
}

/// A direct read first writes the dirty pages of its range.
fn direct_read() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let file = disk.file("victim");
    let other = format!("{}/./victim", disk.path.display());
    let script = format!("open {file}\nopen {other} direct\nrealtime\nGO\nwrite {file} 0 8m\nread {other} 0 8m");
    slowed(&ground, &disk, ("write_bps", 4 << 20), &script)
}

/// The limit holds the flush of an fsync that writes nothing.
fn empty_flush() -> Truth {
    let ground = Ground::new();
    let disk = ground.device(ground.home(), 64);
    let file = disk.path.display().to_string();
    let script = format!("open {file}\nrealtime\nGO\ntimes 8\nfsync {file}");
    slowed(&ground, &disk, ("write_iops", 4), &script)
}

/// A flush, the commit record and another flush, on a disk that has a cache but no durable writes.
fn commit_with_flushes() -> Truth {
    let ground = Ground::new();
    let base = ground.base(64);
    let disk = ground.device(&base.path, 64);
    let file = disk.path.display().to_string();
    let script = format!("open {file} direct sync\nmemory 4k\nrealtime\nGO\ntimes 4\nwrite {file} 0 4k");
    slowed(&ground, &base, ("write_iops", 4), &script)
}

/// Another task reads the pages.
fn second_reader() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (file, go) = (disk.file("victim"), ground.at(GO));
    let script = format!(
        "open {file}\nwrite {file} 0 4m\nfsync {file}\nwriteback {file}\nmemory 512k\nrealtime\nawait {go}\nread \
         {file} 0 512k"
    );
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&disk, "read_bps", 512 << 10);
    let reader = ground.neighbour(&format!("open {file}\nread {file} 0 512k"));
    ground.wait_until_in(reader, "filemap_");
    ground.go(&go);
    victim.suffered("io_throttle")
}

fn truncate() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let file = disk.file("victim");
    let script = format!(
        "open {file}\nwrite {file} 0 4m\nfsync {file}\nwriteback {file}\nrealtime\nGO\nwillneed {file}\nresize {file} \
         4k"
    );
    slowed(&ground, &disk, ("read_bps", 2 << 20), &script)
}

/// Blocks of directories and inodes. A limit on the disk itself would not hold for them.
fn cold_directory() -> Truth {
    let ground = Ground::new();
    let base = ground.base(64);
    let disk = ground.file_system_in(&base.path, 64, EXT4, "noatime");
    for number in 0..32 {
        disk.folder(&format!("folder-{number}"));
    }
    let (point, device) = (disk.path.display().to_string(), format!("/dev/{}", disk.name));
    tool("umount", &[&point]);
    tool("mount", &["-t", "ext4", "-o", "noatime,inode_readahead_blks=1", &device, &point]);
    let script = format!("realtime\nGO\nlist {point}");
    slowed(&ground, &base, ("read_iops", 8), &script)
}

/// The commit's requests are those of a limit. The journal is the cause, and the limit the root blocker.
fn below_journal() -> Truth {
    let truth = synced(EXT4, "fsync");
    Truth { waited_for: Some("jbd2/"), says: Some("throttle"), ..truth }.because("journal")
}

/// The loop device's worker writes through the page cache, and syncs its file for each flush: a journal below a
/// journal.
fn below_buffered_journal() -> Truth {
    let ground = Ground::new();
    let base = ground.base(320);
    let disk = ground.file_system_in(&base.path, 320, EXT4, "noatime");
    tool("losetup", &["--direct-io=off", &format!("/dev/{}", disk.name)]);
    let file = disk.file("victim");
    let script = format!("GO\ntimes 3\ncreate {file}-%i\nopen {file}-%i\nfsync {file}-%i");
    let truth = slowed(&ground, &base, ("write_iops", 10), &script);
    Truth { waited_for: Some("jbd2/"), says: Some("throttle"), ..truth }.because("journal")
}

fn below_xfs_log() -> Truth {
    const XFS: &str =
        "env TEST_DIR=x TEST_DEV=x QA_CHECK_FS=x mkfs.xfs -q -i nrext64=0 -m reflink=0,rmapbt=0 -l size=4m";
    Truth { says: Some("throttle"), ..synced(XFS, "fsync") }.because("fs_log")
}

/// The flusher writes the pages.
fn below_syncfs() -> Truth {
    let ground = Ground::new();
    let base = ground.base(64);
    let disk = ground.file_system_in(&base.path, 64, EXT4, "noatime");
    let file = disk.file("victim");
    let script =
        format!("open {file}\nwrite {file} 0 8m\nfsync {file}\nrealtime\nGO\nwrite {file} 0 8m\nsyncfs {file}");
    let truth = slowed(&ground, &base, ("write_bps", 8 << 20), &script);
    Truth { says: Some("throttled"), ..truth }
}

/// A new file, on a disk of few operations per second.
fn synced(mkfs: &str, how: &str) -> Truth {
    let ground = Ground::new();
    let base = ground.base(320);
    let disk = ground.file_system_in(&base.path, 320, mkfs, "noatime");
    let file = disk.file("victim");
    let script = format!("GO\ntimes 3\ncreate {file}-%i\nopen {file}-%i\n{how} {file}-%i");
    slowed(&ground, &base, ("write_iops", 10), &script)
}

fn loop_over_slow_disk() -> Truth {
    let ground = Ground::new();
    let base = ground.base(64);
    let disk = ground.file_system_in(&base.path, 64, EXT4, "noatime");
    let file = disk.file("victim");
    let script = format!("open {file} direct\nwrite {file} 0 1m\nrealtime\nGO\ntimes 3\nwrite {file} 0 1m");
    let truth = slowed(&ground, &base, ("write_bps", 2 << 20), &script);
    Truth { says: Some("throttled by its cgroup"), ..truth }
}

/// One write of several requests.
fn large_write() -> Truth {
    let ground = Ground::new();
    let base = ground.base(64);
    let disk = ground.device(&base.path, 64);
    let file = disk.path.display().to_string();
    let script = format!("open {file} direct\nmemory 16m\nrealtime\nGO\nwrite {file} 0 16m");
    slowed(&ground, &base, ("write_bps", 16 << 20), &script)
}

fn loop_twice() -> Truth {
    let ground = Ground::new();
    let base = ground.base(128);
    let middle = ground.file_system_in(&base.path, 128, EXT4, "noatime");
    let disk = ground.file_system_in(&middle.path, 64, EXT4, "noatime");
    let file = disk.file("victim");
    let script = format!("open {file} direct\nwrite {file} 0 1m\nrealtime\nGO\ntimes 3\nwrite {file} 0 1m");
    let truth = slowed(&ground, &base, ("write_bps", 2 << 20), &script);
    Truth { says: Some("throttled by its cgroup"), ..truth }
}

/// The loop's worker reads through the page cache.
fn buffered_loop() -> Truth {
    let ground = Ground::new();
    let base = ground.base(64);
    let disk = ground.device(&base.path, 64);
    let file = disk.path.display().to_string();
    tool("losetup", &["--direct-io=off", &file]);
    let image = std::fs::read_dir(&base.path).unwrap().map(|entry| entry.unwrap().path());
    let image = image.into_iter().find(|path| path.is_file()).expect("the image").display().to_string();
    let script =
        format!("open {image}\nwriteback {image}\nopen {file} direct\nmemory 512k\nrealtime\nGO\nread {file} 4m 512k");
    slowed(&ground, &base, ("read_bps", 1 << 20), &script)
}

/// The file system that holds the disk's image is frozen.
fn frozen_below(script: &str) -> Truth {
    let ground = Ground::new();
    let base = ground.base(64);
    let disk = ground.file_system_in(&base.path, 64, EXT4, "noatime");
    let (file, go) = (disk.file("victim"), ground.at(GO));
    let victim = Victim::start(&ground, &script.replace("FILE", &file).replace("GO", &format!("await {go}")));
    ground.wait_for(&format!("{go}.awaited"));
    let frozen = ground.freeze(&base);
    ground.go(&go);
    std::thread::sleep(Duration::from_millis(1500));
    drop(frozen);
    victim.suffered("frozen")
}

fn frozen_direct() -> Truth {
    frozen_below("open FILE direct\nwrite FILE 0 64k\nrealtime\nGO\nwrite FILE 0 64k")
}

fn frozen_fsync() -> Truth {
    frozen_below("open FILE\nwrite FILE 0 64k\nfsync FILE\nrealtime\nGO\nwrite FILE 0 64k\nfdatasync FILE")
}
