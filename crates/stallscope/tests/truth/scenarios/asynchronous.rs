//! Asynchronous I/O, submitted and reaped in different calls.

use std::time::Duration;

use super::storage::slow_commits;
use super::{GO, Test, sharing};
use crate::ground::Ground;
use crate::victim::{Truth, Victim};

pub const TESTS: &[Test] = &[
    sharing("uring_read", &[uring_read]),
    sharing("uring_write", &[uring_write]),
    sharing("uring_fixed", &[uring_fixed]),
    sharing("uring_sqpoll", &[uring_sqpoll]),
    sharing("uring_buffered_read", &[uring_buffered_read]),
    sharing("uring_block_device", &[uring_block_device]),
    sharing("uring_worker", &[uring_worker]),
    sharing("uring_create", &[uring_create]),
    sharing("uring_fsync", &[uring_fsync]),
    sharing("uring_eventfd", &[uring_eventfd]),
    sharing("uring_linked", &[uring_linked]),
    sharing("aio_fsync", &[aio_fsync]),
    sharing("aio_read", &[aio_read]),
    sharing("aio_overwrite", &[aio_overwrite]),
    sharing("uring_idle", &[uring_idle]),
    sharing("aio_idle", &[aio_idle]),
];

/// On a throttled disk, whose file of 4 MiB exists: `script` with `FILE` in it.
fn throttled(what: &str, how: &str, script: &str) -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (file, go) = (disk.file("victim"), ground.at(GO));
    let prepare = format!("open {file}\nwrite {file} 0 4m\nfsync {file}\nwriteback {file}\nopen {file} {how}");
    let script = script.replace("FILE", &file);
    let victim = Victim::start(&ground, &format!("{prepare}\nmemory 1m\nawait {go}\n{script}"));
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&disk, what, 2 << 20);
    ground.go(&go);
    victim.suffered("io_throttle")
}

fn uring_read() -> Truth {
    let truth = throttled("read_bps", "direct", "times 3\nuring read FILE 0 1m");
    Truth { says: Some("throttled"), ..truth }
}

fn uring_write() -> Truth {
    throttled("write_bps", "direct", "times 3\nuring write FILE 0 1m")
}

fn uring_fixed() -> Truth {
    throttled("read_bps", "direct", "ring-memory 1m\ntimes 3\nuring read FILE 0 1m")
}

/// A thread of the kernel submits for the victim.
fn uring_sqpoll() -> Truth {
    throttled("read_bps", "direct", "ring sqpoll\ntimes 3\nuring read FILE 0 1m")
}

/// It completes when the page is read.
fn uring_buffered_read() -> Truth {
    throttled("read_bps", "", "uring read FILE 0 1m")
}

/// It waits in a read of the eventfd.
fn uring_eventfd() -> Truth {
    throttled("write_bps", "direct", "ring eventfd\ntimes 3\nuring write FILE 0 1m")
}

fn uring_linked() -> Truth {
    throttled("write_bps", "direct", "times 3\nuring writes FILE 0 1m")
}

/// A work queue of the kernel executes it.
fn aio_fsync() -> Truth {
    throttled("write_bps", "", "times 3\nwrite FILE 0 1m\naio fsync FILE 0 4k")
}

fn uring_block_device() -> Truth {
    let ground = Ground::new();
    let disk = ground.device(ground.home(), 64);
    let (file, go) = (disk.path.display().to_string(), ground.at(GO));
    let script = format!("open {file} direct\nmemory 1m\nawait {go}\ntimes 3\nuring write {file} 0 1m");
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&disk, "write_bps", 2 << 20);
    ground.go(&go);
    victim.suffered("io_throttle")
}

/// A worker of the kernel executes it, and waits for the thaw.
fn uring_worker() -> Truth {
    frozen("uring write FILE 0 4k")
}

fn uring_create() -> Truth {
    frozen("uring create FILE-new 0 4k")
}

fn frozen(step: &str) -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (file, go) = (disk.file("victim"), ground.at(GO));
    let step = step.replace("FILE", &file);
    let victim = Victim::start(&ground, &format!("open {file}\nwrite {file} 0 4k\nmemory 4k\nawait {go}\n{step}"));
    ground.wait_for(&format!("{go}.awaited"));
    let frozen = ground.freeze(&disk);
    ground.go(&go);
    std::thread::sleep(Duration::from_millis(700));
    drop(frozen);
    Truth { waited_for: Some("iou-wrk"), ..victim.suffered("frozen") }
}

/// A worker of the kernel waits for the journal's commit.
fn uring_fsync() -> Truth {
    slow_commits("", "uring fsync FILE 0 4k")
}

fn aio_read() -> Truth {
    throttled("read_bps", "direct", "times 3\naio read FILE 0 1m")
}

/// It completes in a work queue.
fn aio_overwrite() -> Truth {
    throttled("write_bps", "direct", "times 3\naio write FILE 0 1m")
}

fn uring_idle() -> Truth {
    idle("uring-timer 300")
}

fn aio_idle() -> Truth {
    idle("aio-idle 300")
}

/// It waits for nothing that is on a disk.
fn idle(step: &str) -> Truth {
    let ground = Ground::new();
    let go = ground.at(GO);
    let victim = Victim::start(&ground, &format!("await {go}\ntimes 2\n{step}"));
    ground.go(&go);
    Truth { quiet: true, parts: Vec::new(), ..victim.suffered("") }
}
