//! Locks, and who holds them.

use std::time::Duration;

use serde_json::Value;

use super::{GO, Test, alone, recorded, sharing};
use crate::actor::now_ns;
use crate::ground::{Disk, EXT4, Ground, tool};
use crate::victim::{Recording, Truth, Victim};

pub const TESTS: &[Test] = &[
    alone("lock_of_an_inode", &[inode]),
    alone("lock_of_an_inode_behind_a_limit", &[inode_with_limited_holder]),
    alone("lock_of_a_directory", &[directory]),
    alone("lock_of_a_shared_position", &[position]),
    alone("convoy_of_16", &[convoy]),
    sharing("mutex_with_a_sleeping_holder", &[sleeping_holder]),
    sharing("lock_of_a_file_with_a_sleeping_holder", &[sleeping_holder_of_flock]),
    sharing("monitor", &[monitor]),
    sharing("quiet_idle_workers", &[idle_workers]),
    recorded("flock_of_a_command", flock_of_command),
    recorded("flock_held_to_the_end", flock_to_the_end),
    recorded("posix_lock_held_to_the_end", posix_to_the_end),
    recorded("flock_awaited_before_the_begin", flock_before),
    recorded("posix_lock_awaited_before_the_begin", posix_before),
    recorded("lease_awaited_before_the_begin", lease_before),
];

/// A disk on which direct writes of 1 MiB take half a second.
fn slow_disk(ground: &Ground) -> Disk {
    let disk = ground.ext4(64);
    ground.slow(&disk, "write_bps", 2 << 20);
    disk
}

/// A write that makes a file longer holds its inode's lock for as long as the disk takes.
fn inode() -> Truth {
    let ground = Ground::new();
    let base = ground.base(64);
    let disk = ground.file_system_in(&base.path, 64, EXT4, "noatime");
    ground.slow(&base, "write_bps", 2 << 20);
    locked_inode(&ground, &disk)
}

/// The holder sleeps because a limit throttles its direct write.
fn inode_with_limited_holder() -> Truth {
    let ground = Ground::new();
    let disk = slow_disk(&ground);
    locked_inode(&ground, &disk)
}

fn locked_inode(ground: &Ground, disk: &Disk) -> Truth {
    let (file, go) = (disk.file("victim"), ground.at(GO));
    let victim = Victim::start(ground, &format!("open {file}\nrealtime\nawait {go}\nwrite {file} 0 4k"));
    ground.wait_for(&format!("{go}.awaited"));
    let holder = ground.neighbour(&format!("open {file} direct\nwrite {file} 0 3m"));
    ground.wait_until_in(holder, "ext4_file_write_iter");
    ground.go(&go);
    Truth { held_by: Some(holder), says: Some("inode lock of a file"), ..victim.suffered("lock") }
}

/// The first file made in a folder needs blocks of metadata, which a slow disk has to read.
fn directory() -> Truth {
    let ground = Ground::new();
    let base = ground.base(64);
    let disk = ground.file_system_in(&base.path, 64, EXT4, "noatime");
    let folder = disk.folder("folder").display().to_string();
    let (point, device, go) = (disk.path.display().to_string(), format!("/dev/{}", disk.name), ground.at(GO));
    tool("umount", &[&point]);
    tool("mount", &["-t", "ext4", "-o", "noatime,inode_readahead_blks=1", &device, &point]);
    let victim = Victim::start(&ground, &format!("realtime\nawait {go}\ncreate {folder}/second"));
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&base, "read_iops", 3);
    let holder = ground.neighbour(&format!("create {folder}/first"));
    ground.wait_until_in(holder, "ext4_create");
    ground.go(&go);
    Truth { held_by: Some(holder), says: Some("inode lock of a directory"), ..victim.suffered("lock") }
}

/// Two processes with one open file: a write at its position waits for the other one's.
fn position() -> Truth {
    let ground = Ground::new();
    let (file, lent, go) = (slow_disk(&ground).file("data"), ground.at("lent"), ground.at(GO));
    let held = ground.at("held");
    let holder = ground.neighbour(&format!(
        "open {file} direct\nmemory 3m\nlend {file} {lent}\nawait {held}\nappend {file} 3m\nsleep 3000"
    ));
    ground.wait_for(&lent);
    let victim = Victim::start(&ground, &format!("borrow {file} {lent}\nmemory 4k\nawait {go}\nappend {file} 4k"));
    ground.wait_for(&format!("{go}.awaited"));
    ground.go(&held);
    ground.wait_until_in(holder, "ext4_file_write_iter");
    ground.go(&go);
    Truth { held_by: Some(holder), says: Some("file position lock"), ..victim.suffered("lock") }
}

/// All of them wait for one task's write. The first is judged, and the finding that holds all of them.
fn convoy() -> Truth {
    let ground = Ground::new();
    let (file, go) = (slow_disk(&ground).file("victim"), ground.at(GO));
    let script = |go: &str| format!("open {file}\nawait {go}\nwrite {file} 0 4k");
    let victim = Victim::start(&ground, &script(&go));
    let others: Vec<String> = (0..15).map(|number| ground.at(&format!("{GO}-{number}"))).collect();
    others.iter().for_each(|go| _ = ground.neighbour(&script(go)));
    others.iter().chain([&go]).for_each(|go| ground.wait_for(&format!("{go}.awaited")));
    let holder = ground.neighbour(&format!("open {file} direct\nwrite {file} 0 4m"));
    ground.wait_until_in(holder, "ext4_file_write_iter");
    others.iter().chain([&go]).for_each(|go| ground.go(go));
    Truth { held_by: Some(holder), convoy: Some(14), ..victim.suffered("lock") }
}

/// A mutex in shared memory: the holder is idle, but it holds the lock.
fn sleeping_holder() -> Truth {
    held_asleep("futex")
}

fn sleeping_holder_of_flock() -> Truth {
    held_asleep("flock")
}

fn held_asleep(how: &str) -> Truth {
    let ground = Ground::new();
    let (lock, held, go) = (ground.at("lock"), ground.at("held"), ground.at(GO));
    std::fs::write(&lock, [0; 4096]).unwrap();
    let victim = Victim::start(&ground, &format!("open {lock}\nawait {go}\nlock {how} {lock}"));
    ground.wait_for(&format!("{go}.awaited"));
    let holder = ground.neighbour(&format!(
        "open {lock}\nlock {how} {lock}\nsignal {held}\nsleep 1200\nunlock {how} {lock}\nsleep 3000"
    ));
    ground.wait_for(&held);
    ground.go(&go);
    Truth { held_by: Some(holder), says: Some("asleep in"), ..victim.suffered("lock") }
}

/// Threads that write a log in turns, each of which waits for the others as for work.
fn monitor() -> Truth {
    let ground = Ground::new();
    let (file, go) = (slow_disk(&ground).file("data"), ground.at(GO));
    let script = format!("open {file} direct\nthreads 3\nawait {go}\ntimes 4\nin_turn write {file} 0 512k\nsleep 30");
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.go(&go);
    victim.suffered("io_throttle")
}

/// A thread that waits for work, while another one waits for the disk before it hands out some.
fn idle_workers() -> Truth {
    let ground = Ground::new();
    let (file, worker) = (slow_disk(&ground).file("data"), ground.at("worker"));
    ground.neighbour(&format!("open {file} direct\nhand_out {worker} 4 write {file} 0 1m"));
    ground.wait_for_neighbours();
    let tid = std::fs::read_to_string(&worker).unwrap().parse().unwrap();
    Truth { tid, spans: vec![(0, u64::MAX / 2)], quiet: true, ..Truth::default() }
}

/// As cron runs it: flock(1) has held the lock since before the recording, and waits for its command.
fn flock_of_command() -> (Value, Truth) {
    let ground = Ground::new();
    let (file, lock) = (slow_disk(&ground).file("data"), ground.at("lock"));
    let (held, begin, go) = (ground.at("held"), ground.at("begin"), ground.at(GO));
    std::fs::write(&lock, "").unwrap();
    let write = format!("dd if=/dev/zero of={file} bs=1M count=3 oflag=direct conv=notrunc 2>/dev/null");
    let command = format!("touch {held}; while [ ! -e {begin} ]; do sleep 0.02; done; {write}; exit 0");
    ground.neighbour(&format!("shell flock {lock} sh -c '{command}'"));
    ground.wait_for(&held);
    let victim = Victim::start(&ground, &format!("open {lock}\nawait {go}\nlock flock {lock}"));
    ground.wait_for(&format!("{go}.awaited"));
    let recording = Recording::following(victim.pid());
    std::fs::write(begin, "").unwrap();
    ground.go(&go);
    let truth = victim.suffered("lock");
    (recording.explained(), Truth { waited_for: Some("dd"), culprit: Some("dd"), operation: Some("flock"), ..truth })
}

fn flock_to_the_end() -> (Value, Truth) {
    held_to_the_end("flock", "flock")
}

fn posix_to_the_end() -> (Value, Truth) {
    held_to_the_end("posix", "fcntl")
}

fn held_to_the_end(how: &str, operation: &'static str) -> (Value, Truth) {
    let ground = Ground::new();
    let (lock, held, go) = (ground.at("lock"), ground.at("held"), ground.at(GO));
    std::fs::write(&lock, "").unwrap();
    let victim = Victim::start(&ground, &format!("open {lock}\nawait {go}\nlock {how} {lock}"));
    ground.wait_for(&format!("{go}.awaited"));
    let holder = ground.neighbour(&format!("open {lock}\nlock {how} {lock}\nsignal {held}\nsleep 60000"));
    ground.wait_for(&held);
    let begin_ns = now_ns();
    let explained = Recording::of(&["sh", "-c", &format!("touch {go}; sleep 1.5")]);
    let suffers = victim.suffers("lock", (begin_ns, now_ns()), Duration::from_millis(1500).as_nanos() as u64);
    (explained, Truth { held_by: Some(holder), operation: Some(operation), finished: Some(false), ..suffers })
}

fn flock_before() -> (Value, Truth) {
    awaited_before("flock", "lock flock", "locks_lock_inode_wait", "flock")
}

fn posix_before() -> (Value, Truth) {
    awaited_before("posix", "lock posix", "fcntl_setlk", "fcntl")
}

fn lease_before() -> (Value, Truth) {
    awaited_before("lease", "open", "__break_lease", "openat")
}

/// No tracepoint announced the wait: it began before the recording.
fn awaited_before(how: &str, wants: &str, function: &str, operation: &'static str) -> (Value, Truth) {
    let ground = Ground::new();
    let (lock, held) = (ground.at("lock"), ground.at("held"));
    std::fs::write(&lock, "").unwrap();
    let holder = ground.neighbour(&format!("open {lock}\nlock {how} {lock}\nsignal {held}\nsleep 60000"));
    ground.wait_for(&held);
    let open = if wants == "open" { String::new() } else { format!("open {lock}\n") };
    let victim = Victim::start(&ground, &format!("{open}{wants} {lock}"));
    ground.wait_until_in(victim.pid(), function);
    let begin_ns = now_ns();
    let explained = Recording::of(&["sleep", "1.2"]);
    let suffers = victim.suffers("lock", (begin_ns, now_ns()), Duration::from_millis(1200).as_nanos() as u64);
    let truth =
        Truth { held_by: Some(holder), operation: Some(operation), cut: Some(true), finished: Some(false), ..suffers };
    (explained, truth)
}
