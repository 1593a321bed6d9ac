//! Who used what the victim lacked.

use std::path::Path;

use serde_json::Value;

use super::limits::with_quota;
use super::storage::shrinker;
use super::{GO, Test, alone, recorded};
use crate::cgroups::Limit;
use crate::ground::{Disk, EXT4, Ground};
use crate::victim::{ANY, Recording, Truth, Victim};

pub const TESTS: &[Test] = &[
    alone("culprit_of_limit", &[culprit_of_limit]),
    alone("culprit_of_limit_page_cache", &[culprit_of_limit_page_cache]),
    alone("culprit_is_victim", &[culprit_is_victim]),
    alone("culprit_of_cpu", &[culprit_of_cpu]),
    alone("culprit_of_starved_holder", &[culprit_of_starved_holder]),
    alone("culprit_of_run_queue", &[culprit_of_run_queue]),
    alone("culprit_of_quota", &[culprit_of_quota]),
    alone("culprit_of_flusher", &[culprit_of_flusher]),
    alone("culprit_behind_sync", &[culprit_behind_sync]),
    alone("culprit_of_script", &[culprit_of_script]),
    alone("culprit_of_direct_read", &[culprit_of_direct_read]),
    recorded("culprit_before_the_recording", culprit_before_the_recording),
    recorded("culprit_that_syncs_since_before", culprit_that_syncs_since_before),
    alone("culprit_of_transaction", &[culprit_of_transaction]),
    alone("culprit_of_dirty_pages", &[culprit_of_dirty_pages]),
    alone("culprit_of_journal", &[culprit_of_journal]),
    alone("culprit_of_memory", &[culprit_of_memory]),
];

const CULPRIT: Option<&str> = Some("neighbour/");

/// Synced once on that disk, and reads much of another one.
fn outsider(ground: &Ground, disk: &Disk) {
    let other = ground.ext4(32);
    let (known, read, synced) = (disk.file("known"), other.file("read"), ground.at("synced"));
    ground.program(
        "outsider",
        &format!(
            "open {known}\nwrite {known} 0 4k\nfsync {known}\nopen {read} direct\nwrite {read} 0 8m\nawait \
             {synced}\nforever\nsleep 2\n\
             read {read} 0 4m"
        ),
    );
    ground.go(&synced);
}

/// Small reads beside a stream, on a limited device.
fn beside_stream(stream: &str) -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(128);
    let (file, streamed, go) = (disk.file("victim"), disk.file("streamed"), ground.at(GO));
    let begin = ground.at("begin");
    ground.neighbour(
        &format!(
            "open {streamed}\nwrite {streamed} 0 64m\nfsync {streamed}\nwriteback {streamed}\nclose {streamed}\n\
         {stream}"
        )
        .replace("%s", &streamed)
        .replace("%b", &begin),
    );
    let script = format!("open {file} direct\nwrite {file} 0 1m\nawait {go}\nduring 4000\nsleep 20\nread {file} 0 4k");
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.wait_for(&format!("{begin}.awaited"));
    outsider(&ground, &disk);
    ground.slow(&disk, "read_bps", 4 << 20);
    ground.go(&begin);
    std::thread::sleep(std::time::Duration::from_secs(1));
    ground.go(&go);
    Truth { culprit: CULPRIT, innocent: Some("outsider/"), ..victim.suffered("io_throttle") }
}

fn culprit_of_limit() -> Truth {
    beside_stream("open %s direct\nawait %b\nforever\nread %s 0 2m")
}

/// A worker dispatches its throttled reads.
fn culprit_of_limit_page_cache() -> Truth {
    beside_stream("open %s\nawait %b\nread %s 0 64m")
}

fn culprit_is_victim() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (file, go) = (disk.file("victim"), ground.at(GO));
    let victim = Victim::start(&ground, &format!("open {file} direct\nawait {go}\ntimes 3\nwrite {file} 0 2m"));
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&disk, "write_bps", 2 << 20);
    // Sums are those of half seconds: mkfs wrote just now.
    std::thread::sleep(std::time::Duration::from_secs(1));
    ground.go(&go);
    Truth { culprit: Some("victim/"), ..victim.suffered("io_throttle") }
}

/// In cgroups whose weights leave nothing to other work of the machine.
fn culprit_of_cpu() -> Truth {
    let ground = Ground::new();
    let (file, go) = (ground.at("victim"), ground.at(GO));
    let (own, theirs) = (ground.another_cgroup("cpu"), ground.another_cgroup("cpu"));
    ground.limit(&theirs, Limit::Weight(163840));
    ground.limit(&own, Limit::Weight(4096));
    let procs = |cgroup: &Path| cgroup.join("cgroup.procs").display().to_string();
    let script =
        format!("put {} 0\nopen {file}\nwrite {file} 0 32m\nawait {go}\npin\ntimes 3\nread {file} 0 32m", procs(&own));
    let victim = Victim::start(&ground, &script);
    for _ in 0..4 {
        ground.neighbour(&format!("put {} 0\npin\nforever\nspin", procs(&theirs)));
    }
    // Sums are those of half seconds.
    std::thread::sleep(std::time::Duration::from_millis(600));
    ground.go(&go);
    Truth { culprit: CULPRIT, ..victim.suffered("cpu_wait") }
}

/// The holder of a lock is in no system call, and hardly runs: others take its CPU.
fn culprit_of_starved_holder() -> Truth {
    let ground = Ground::new();
    let (lock, held, go) = (ground.at("lock"), ground.at("held"), ground.at(GO));
    std::fs::write(&lock, "").unwrap();
    let (own, theirs) = (ground.another_cgroup("cpu"), ground.another_cgroup("cpu"));
    ground.limit(&theirs, Limit::Weight(163840));
    ground.limit(&own, Limit::Weight(4096));
    let procs = |cgroup: &Path| cgroup.join("cgroup.procs").display().to_string();
    let victim = Victim::start(&ground, &format!("open {lock}\nawait {go}\nlock flock {lock}"));
    ground.wait_for(&format!("{go}.awaited"));
    for _ in 0..4 {
        ground.neighbour(&format!("put {} 0\npin\nforever\nspin", procs(&theirs)));
    }
    // Sums are those of half seconds.
    std::thread::sleep(std::time::Duration::from_millis(600));
    let script = format!(
        "put {} 0\nopen {lock}\nlock flock {lock}\nsignal {held}\npin\nthink 2000\nunlock flock {lock}",
        procs(&own)
    );
    ground.program("holder", &script);
    ground.wait_for(&held);
    ground.go(&go);
    // The holder's own share is what it ran.
    Truth { culprit: CULPRIT, ..victim.suffered("lock") }
}

/// Bursts of a real-time task, which nothing else preempts, on a CPU that a task of the lowest weight has while the
/// victim sleeps: in each half second it runs for as long as the culprit, but not while the victim waits.
fn culprit_of_run_queue() -> Truth {
    let ground = Ground::new();
    let (file, go) = (ground.at("victim"), ground.at(GO));
    let (own, idle) = (ground.another_cgroup("cpu"), ground.another_cgroup("cpu"));
    ground.limit(&own, Limit::Weight(163840));
    ground.limit(&idle, Limit::Weight(2));
    let procs = |cgroup: &Path| cgroup.join("cgroup.procs").display().to_string();
    let script = format!(
        "put {} 0\nopen {file}\nwrite {file} 0 64m\npin\nawait {go}\nduring 6000\nsleep 10\nread {file} 0 64m",
        procs(&own)
    );
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.program("outsider", &format!("put {} 0\npin\nforever\nspin", procs(&idle)));
    ground.neighbour("pin\nrealtime\nforever\nthink 200\nsleep 250");
    ground.go(&go);
    Truth { culprit: CULPRIT, innocent: Some("outsider/"), ..victim.suffered("cpu_wait") }
}

/// Many others of its cgroup use up the quota, and the victim as much as one of them.
fn culprit_of_quota() -> Truth {
    let ground = Ground::new();
    let (file, go, procs) = (ground.at("victim"), ground.at(GO), with_quota(&ground));
    let put = format!("put {} 0", procs.display());
    let script = format!("open {file}\nwrite {file} 0 4m\nawait {go}\n{put}\nduring 5000\nread {file} 0 4m");
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    for _ in 0..16 {
        ground.neighbour(&format!("{put}\nforever\nspin"));
    }
    // Sums are those of half seconds.
    std::thread::sleep(std::time::Duration::from_secs(1));
    ground.go(&go);
    Truth { culprit: CULPRIT, says: Some("5.00 ms of 100 ms"), ..victim.suffered("cpu_throttle") }
}

/// The flusher writes for a sync of all, and waits for pages that another task makes dirty while the limit holds their
/// last writes.
fn culprit_of_flusher() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(128);
    let (file, written, go) = (disk.file("victim"), disk.file("written"), ground.at(GO));
    let victim = Victim::start(
        &ground,
        &format!("open {file}\nwrite {file} 0 64k\nfsync {file}\nawait {go}\nwrite {file} 0 64k\nsyncfs {file}"),
    );
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&disk, "write_bps", 8 << 20);
    let begun = ground.at("begun");
    ground.neighbour(&format!(
        "open {written}\nwrite {written} 0 24m\nwriteout {written}\nwrite {written} 0 24m\nawait {begun}\nsleep 60000"
    ));
    ground.go(&begun);
    ground.go(&go);
    Truth { culprit: CULPRIT, ..victim.suffered("io_throttle") }
}

/// A disk with a limit on writes, and a victim that writes there durably once it may.
fn behind_queued_pages(ground: &Ground) -> (Disk, String, Victim) {
    let disk = ground.ext4(128);
    let (file, go) = (disk.file("victim"), ground.at(GO));
    let script = format!("open {file}\nwrite {file} 0 64k\nfsync {file}\nawait {go}\nwrite {file} 0 64k\nfsync {file}");
    let victim = Victim::start(ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&disk, "write_bps", 4 << 20);
    // Sums are those of half seconds: mkfs wrote just now.
    std::thread::sleep(std::time::Duration::from_secs(1));
    (disk, go, victim)
}

/// Makes pages dirty, and goes on with something else.
fn dirty_pages(ground: &Ground, file: &str) {
    let written = ground.at("written");
    ground.neighbour(&format!("open {file}\nwrite {file} 0 12m\nawait {written}\nsleep 60000"));
    ground.go(&written);
}

/// The same behind pages that the neighbour made dirty, and that an outsider syncs: all of them are queued, and thus
/// written when the victim's are. Of pages that come later a commit for the victim would wait, too.
fn behind_a_sync(ground: &Ground) -> (String, Victim) {
    let (disk, go, victim) = behind_queued_pages(ground);
    let file = disk.file("written");
    dirty_pages(ground, &file);
    let syncs = ground.program("outsider", &format!("open {file}\nfsync {file}"));
    ground.wait_until_in(syncs, "folio_wait_writeback");
    (go, victim)
}

/// Another program only syncs what the neighbour made dirty.
fn culprit_behind_sync() -> Truth {
    let ground = Ground::new();
    let (go, victim) = behind_a_sync(&ground);
    ground.go(&go);
    Truth { culprit: CULPRIT, innocent: Some("outsider/"), ..victim.suffered("io_throttle") }
}

/// A helper of a script, which is looked for by the script's name.
fn culprit_of_script() -> Truth {
    let ground = Ground::new();
    let (disk, go, victim) = behind_queued_pages(&ground);
    let (script, syncs, written) = (ground.at("rotate"), ground.at("syncs"), disk.file("written"));
    let lines = format!(
        "dd if=/dev/zero of={written} bs=1M count=12 2> /dev/null\nsh -c 'echo $$ > {syncs}; exec sync {written}'\n:\n"
    );
    std::fs::write(&script, lines).unwrap();
    ground.neighbour(&format!("become /bin/sh {script}"));
    let pid = || std::fs::read_to_string(&syncs).ok()?.strip_suffix('\n')?.parse().ok();
    ground.wait_until("the script syncs", || pid().is_some());
    ground.wait_until_in(pid().expect("it was read"), "file_write_and_wait_range");
    ground.go(&go);
    Truth { culprit: Some("dd/"), culprit_started_by: Some("rotate/"), ..victim.suffered("io_throttle") }
}

/// The victim's direct read writes the pages that the neighbour made dirty.
fn culprit_of_direct_read() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (file, go) = (disk.file("shared"), ground.at(GO));
    // Pages count for the task that first made the file dirty.
    ground.neighbour(&format!("open {file}\nwrite {file} 0 12m"));
    ground.wait_for_neighbours();
    let victim = Victim::start(&ground, &format!("open {file} direct\nawait {go}\nread {file} 0 12m"));
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&disk, "write_bps", 4 << 20);
    dirty_pages(&ground, &file);
    ground.go(&go);
    Truth { culprit: CULPRIT, ..victim.suffered(ANY) }
}

/// Who made pages dirty that were queued before the recording is unknown: not those who wait behind them.
fn culprit_before_the_recording() -> (Value, Truth) {
    let ground = Ground::new();
    let (go, victim) = behind_a_sync(&ground);
    let recording = Recording::start();
    ground.go(&go);
    let truth = victim.suffered("io_throttle");
    (recording.explained(), Truth { innocent: Some("victim/"), ..truth })
}

/// What is synced since before the recording was queued for the one that syncs it.
fn culprit_that_syncs_since_before() -> (Value, Truth) {
    let ground = Ground::new();
    let (disk, go, victim) = behind_queued_pages(&ground);
    let file = disk.file("written");
    let neighbour = ground.neighbour(&format!("open {file}\nwrite {file} 0 12m\nfsync {file}\nsleep 60000"));
    ground.wait_until_in(neighbour, "file_write_and_wait_range");
    let recording = Recording::start();
    ground.go(&go);
    let truth = victim.suffered("io_throttle");
    (recording.explained(), Truth { culprit: CULPRIT, innocent: Some("victim/"), ..truth })
}

/// Small files are synced beside a large one: the log of btrfs waits in the same limit.
fn culprit_of_transaction() -> Truth {
    let ground = Ground::new();
    let disk = ground.file_system(256, "mkfs.btrfs -q -f -m single -d single", "noatime");
    let (file, written, go) = (disk.file("victim"), disk.file("written"), ground.at(GO));
    let begun = ground.at("begun");
    ground.neighbour(&format!(
        "open {written}\nwrite {written} 0 512k\nfsync {written}\nawait {begun}\nforever\nwrite {written} %im \
         512k\nfsync {written}"
    ));
    let script = format!("open {file}\nawait {go}\ntimes 8\nsleep 100\nwrite {file} 0 4k\nfsync {file}");
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&disk, "write_bps", 2 << 20);
    ground.go(&begun);
    ground.go(&go);
    Truth { culprit: CULPRIT, ..victim.suffered(ANY) }
}

/// Writes where another task's pages fill what its device may have dirty: each of so many clean pages that the kernel
/// looks at the limit. Without the update of the file's times, which the journal would delay.
fn culprit_of_dirty_pages() -> Truth {
    let ground = Ground::new();
    let disk = ground.file_system(320, EXT4, "noatime,lazytime");
    let (file, filled, go) = (disk.file("victim"), disk.file("filled"), ground.at(GO));
    let bdi = format!("/sys/class/bdi/{}", disk.number);
    ground.set(&format!("{bdi}/strict_limit"), "1");
    ground.set(&format!("{bdi}/max_ratio"), "1");
    let script =
        format!("open {file}\nwrite {file} 0 10m\nfsync {file}\nawait {go}\ntimes 10\nsleep 50\nwrite {file} %im 512k");
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&disk, "write_bps", 8 << 20);
    let neighbour = ground.neighbour(&format!("open {filled}\nforever\nwrite {filled} 0 120m"));
    ground.wait_until_in(neighbour, "balance_dirty_pages");
    ground.go(&go);
    Truth { culprit: CULPRIT, ..victim.suffered("dirty_throttle") }
}

/// Folders fill a small journal on a slow disk: to make a file, a task has to wait until there is room. The task that
/// writes the oldest blocks to make room holds a lock meanwhile, and is not to blame.
fn culprit_of_journal() -> Truth {
    let ground = Ground::new();
    let base = ground.base(256);
    let disk = ground.file_system_in(&base.path, 256, &format!("{EXT4} -b 4096 -N 60000 -J size=4"), "noatime");
    let (own, theirs, go) = (disk.folder("own").join("new"), disk.folder("theirs"), ground.at(GO));
    ground.slow(&base, "write_iops", 200);
    let script = format!("await {go}\nduring 6000\nsleep 50\ncreate {}-%i", own.display());
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    let fill = format!("shell cd {} && exec mkdir $(seq 40000)", theirs.display());
    ground.neighbour(&fill);
    ground.wait_until("a full journal", || theirs.join("3000").exists());
    ground.go(&go);
    Truth { culprit: Some("mkdir"), ..victim.suffered(ANY) }
}

/// Inodes that another task made fill the memory cgroup of the task that frees them.
fn culprit_of_memory() -> Truth {
    Truth { culprit: CULPRIT, ..shrinker() }
}
