//! Stalls of file systems, memory and disks: one known stall each, and mixes of several at once whose times are well
//! apart.

use std::time::Duration;

use super::{GO, Test, alone, sharing, writer_of_frozen};
use crate::actor::now_ns;
use crate::cgroups::memory_limit;
use crate::ground::{EXT4, Ground};
use crate::victim::{Truth, Victim};

pub const TESTS: &[Test] = &[
    sharing("frozen", &[frozen]),
    sharing("io_throttle", &[io_throttle]),
    sharing("lock", &[lock]),
    alone("cpu_wait", &[cpu_wait]),
    sharing("page_fault", &[page_fault]),
    sharing("dirty_throttle", &[dirty_throttle]),
    sharing("journal", &[journal]),
    sharing("direct_reclaim", &[direct_reclaim]),
    alone("shrinker", &[shrinker]),
    alone("fs_log", &[fs_log]),
    alone("fs_transaction", &[fs_transaction]),
    sharing("scheduler_queue_mq_deadline", &[mq_deadline]),
    sharing("scheduler_queue_bfq", &[bfq]),
    sharing("mix_in_one_call", &[frozen_and_throttled]),
    alone("mix_faults_frozen_cpu", &[page_fault, frozen, cpu_wait]),
    alone("mix_dirty_journal_shrinker", &[dirty_throttle, journal, shrinker]),
    alone("mix_log_reclaim_queue", &[fs_log, direct_reclaim, mq_deadline]),
    alone("mix_lock_transaction", &[lock, fs_transaction]),
];

fn frozen() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (victim, frozen, go) = writer_of_frozen(&ground, &disk, "");
    ground.go(&go);
    std::thread::sleep(Duration::from_millis(1500));
    drop(frozen);
    Truth { stopped_by: Some("fsfreeze"), ..victim.suffered("frozen") }
}

/// One call that waits for the thaw, and then is throttled by its cgroup.
fn frozen_and_throttled() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (file, go) = (disk.file("victim"), ground.at(GO));
    ground.slow(&disk, "write_bps", 2 << 20);
    let victim = Victim::start(&ground, &format!("open {file} direct\nmemory 2m\nawait {go}\nwrite {file} 0 2m"));
    ground.wait_for(&format!("{go}.awaited"));
    let frozen = ground.freeze(&disk);
    ground.go(&go);
    std::thread::sleep(Duration::from_millis(2000));
    let thaw_ns = now_ns();
    drop(frozen);
    victim.suffered_until("frozen", thaw_ns, "io_throttle")
}

fn io_throttle() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let file = disk.file("victim");
    ground.slow(&disk, "write_bps", 2 << 20);
    let victim = Victim::start(&ground, &format!("open {file} direct\nrealtime\ntimes 3\nwrite {file} 0 1m"));
    victim.suffered("io_throttle")
}

/// The large write holds the inode's lock; the device makes it slow, but the victim waits for the lock.
fn lock() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (file, go) = (disk.file("victim"), ground.at(GO));
    ground.slow(&disk, "write_bps", 8 << 20);
    let victim = Victim::start(&ground, &format!("open {file}\nrealtime\nawait {go}\nwrite {file} 0 4k"));
    ground.wait_for(&format!("{go}.awaited"));
    let holder = ground.neighbour(&format!("open {file} direct\nwrite {file} 0 16m"));
    ground.wait_until_in(holder, "ext4_file_write_iter");
    ground.go(&go);
    Truth { waited_for: Some("neighbour"), ..victim.suffered("lock") }
}

fn cpu_wait() -> Truth {
    let ground = Ground::new();
    let (file, go) = (ground.at("victim"), ground.at(GO));
    let script = format!("open {file}\nwrite {file} 0 64m\nawait {go}\npin\ntimes 3\nread {file} 0 64m");
    let victim = Victim::start(&ground, &script);
    for _ in 0..8 {
        ground.neighbour("pin\nnice -5\nforever\nspin");
    }
    ground.go(&go);
    victim.suffered("cpu_wait")
}

fn page_fault() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(96);
    let (file, go) = (disk.file("victim"), ground.at(GO));
    let script = format!(
        "open {file}\nwrite {file} 0 32m\nfsync {file}\nwriteback {file}\nrealtime\nawait {go}\nfault {file} 60"
    );
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&disk, "read_iops", 25);
    ground.go(&go);
    victim.suffered("io_throttle")
}

fn dirty_throttle() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(320);
    let (file, go) = (disk.file("victim"), ground.at(GO));
    let bdi = format!("/sys/class/bdi/{}", disk.number);
    ground.set(&format!("{bdi}/strict_limit"), "1");
    ground.set(&format!("{bdi}/max_ratio"), "1");
    // Slow enough that copying is negligible, also on a slow CPU.
    ground.slow(&disk, "write_bps", 8 << 20);
    let victim = Victim::start(&ground, &format!("memory 80m\nrealtime\nopen {file}\nawait {go}\nwrite {file} 0 80m"));
    ground.go(&go);
    victim.suffered("dirty_throttle")
}

fn journal() -> Truth {
    slow_commits("realtime\n", "fsync FILE")
}

/// Few operations per second, like a hard disk: each commit takes several. The victim syncs new files beside a storm of
/// fsyncs.
pub(super) fn slow_commits(before: &str, sync: &str) -> Truth {
    let ground = Ground::new();
    let base = ground.base(64);
    let disk = ground.file_system_in(&base.path, 64, EXT4, "noatime");
    let go = ground.at(GO);
    // Otherwise an fsync whose commit is complete would wait for a flush.
    ground.set(&format!("/sys/block/{}/queue/write_cache", disk.name), "write through");
    ground.slow(&base, "write_iops", 60);
    let own = format!("{}-%i", disk.folder("own").join("victim").display());
    let sync = sync.replace("FILE", &own);
    let script = format!("{before}await {go}\nsleep 300\ntimes 6\nsleep 20\ncreate {own}\nopen {own}\n{sync}");
    let victim = Victim::start(&ground, &script);
    let theirs = disk.folder("theirs").join("storm").display().to_string();
    ground.neighbour(&format!("threads 2\nopen {theirs}-%t\nforever\nwrite {theirs}-%t 0 4k\nfsync {theirs}-%t"));
    ground.go(&go);
    Truth { waited_for: Some("jbd2/"), ..victim.suffered("journal") }
}

/// In cgroup v1, reclaim itself waits for writeback of the pages that it scans.
fn direct_reclaim() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (full, more, go) = (disk.file("full"), ground.at("more"), ground.at(GO));
    let small = ground.memory_cgroup(32);
    let procs = small.join("cgroup.procs").display().to_string();
    let script = format!(
        "memory 24m\nput {procs} 0\nopen {more}\nopen {full}\nawait {go}-1\n\
         write {full} 0 24m\nwriteback {full}\nrealtime\nawait {go}\nwrite {more} 0 20m"
    );
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}-1.awaited"));
    ground.slow(&disk, "write_bps", 8 << 20);
    ground.go(&format!("{go}-1"));
    ground.go(&go);
    victim.suffered("direct_reclaim")
}

pub fn shrinker() -> Truth {
    let ground = Ground::new();
    let disk =
        ground.file_system(640, "mkfs.ext4 -q -F -N 400000 -E lazy_itable_init=0,lazy_journal_init=0", "noatime");
    let go = ground.at(GO);
    let small = ground.memory_cgroup(2048);
    let (own, procs) = (disk.file("victim"), small.join("cgroup.procs"));
    let script = format!(
        "put {} 0\nrealtime\nopen {own}\nawait {go}\nput {} 128m",
        procs.display(),
        memory_limit(&small).display()
    );
    let victim = Victim::start(&ground, &script);
    ground.neighbour(&format!("put {} 0\ntimes 200000\ncreate {own}-%i", procs.display()));
    ground.wait_for_neighbours();
    ground.go(&go);
    victim.suffered("shrinker")
}

fn fs_log() -> Truth {
    let ground = Ground::new();
    let base = ground.base(320);
    let disk = ground.file_system_in(
        &base.path,
        320,
        "env TEST_DIR=x TEST_DEV=x QA_CHECK_FS=x mkfs.xfs -q -i nrext64=0 -m reflink=0,rmapbt=0 -l size=4m",
        "noatime",
    );
    let go = ground.at(GO);
    let root = disk.path.display().to_string();
    let own = disk.folder("own").join("victim").display().to_string();
    // An inode of an unmodified cluster: otherwise its buffer may be locked for writing.
    let script = format!(
        "open {root}\ntimes 3200\ncreate {own}-%i\nthen\nsyncfs {root}\nrealtime\nawait {go}\nsleep 1500\n\
         during 2500\nsleep 25\nresize {own}-%f 4k"
    );
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&base, "write_iops", 100);
    for number in 0..3 {
        let theirs = disk.folder(&format!("theirs-{number}")).join("load").display().to_string();
        ground.neighbour(&format!("forever\ncreate {theirs}-%i"));
    }
    ground.go(&go);
    victim.suffered("fs_log")
}

fn fs_transaction() -> Truth {
    let ground = Ground::new();
    let base = ground.base(256);
    let disk =
        ground.file_system_in(&base.path, 256, "mkfs.btrfs -q -m single -d single", "noatime,commit=300,notreelog");
    let go = ground.at(GO);
    let own = disk.path.display().to_string();
    let file = disk.file("victim");
    let victim = Victim::start(&ground, &format!("open {file}\nrealtime\nawait {go}\nfsync {file}"));
    ground.wait_for(&format!("{go}.awaited"));
    let theirs = disk.file("load");
    ground.neighbour(&format!("open {own}\ntimes 20000\ncreate {theirs}-%i"));
    ground.wait_for_neighbours();
    ground.slow(&base, "write_bps", 5 << 20);
    let other = ground.neighbour(&format!("become btrfs filesystem sync {own}"));
    ground.wait_until_in(other, "btrfs_commit_transaction");
    ground.go(&go);
    Truth { waited_for: Some("btrfs"), ..victim.suffered("fs_transaction") }
}

/// As with the default settings, but for longer: a write must also be overtaken by reads that arrive after it.
fn mq_deadline() -> Truth {
    scheduler("mq-deadline", &[("writes_starved", "28")])
}

fn bfq() -> Truth {
    scheduler("bfq", &[("timeout_sync", "1200"), ("max_budget", "32768")])
}

/// Asynchronous, so that the flood does not wait in system calls.
const FLOOD: &str = "fio --name=flood --thread --ioengine=libaio --iodepth=240 --rw=randread --bs=4k --direct=1 \
    --size=16m --time_based --runtime=4";

/// A queue forms in the scheduler only when the device is saturated: loop devices take 128 requests at a time.
fn scheduler(scheduler: &str, settings: &[(&str, &str)]) -> Truth {
    let ground = Ground::new();
    let under = ground.ext4(256);
    let disk = ground.device(&under.path, 128);
    let (file, go) = (disk.path.display().to_string(), ground.at(GO));
    ground.set(&format!("/sys/block/{}/queue/scheduler", disk.name), scheduler);
    ground.set(&format!("/sys/block/{}/queue/write_cache", disk.name), "write through");
    // A limit dispatches requests ten times per second: there must be more reads than one dispatch takes, and space for
    // writes.
    ground.set(&format!("/sys/block/{}/queue/nr_requests", disk.name), "1024");
    for (name, value) in settings {
        ground.set(&format!("/sys/block/{}/queue/iosched/{name}", disk.name), value);
    }
    let script = format!(
        "open {file}\nwrite {file} 0 32m\nfsync {file}\nrealtime\nunimportant\nawait {go}\nduring 1500\nsleep \
         300\nwrite {file} 0 4k\nwriteback {file}\nfdatasync {file}"
    );
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&under, "read_iops", 400);
    ground.neighbour(&format!("realtime\nbecome {FLOOD} --filename={file}"));
    ground.wait_until("the flood has started", || disk.reads_in_flight() > 100);
    ground.go(&go);
    Truth { overtaken_by: Some("R"), ..victim.suffered("scheduler_queue") }
}
