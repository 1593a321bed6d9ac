//! Limits of cgroups, and servers in user space: CPU quotas, memory, FUSE, fanotify.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::clients::{server, slow_disk};
use super::{GO, Test, recorded, sharing};
use crate::actor::now_ns;
use crate::cgroups::Limit;
use crate::ground::{Ground, tool};
use crate::victim::{Recording, Truth, Victim};

pub const TESTS: &[Test] = &[
    sharing("fuse_sleeps", &[fuse_sleeps]),
    sharing("fuse_read_on", &[fuse_read_on]),
    sharing("fuse_stopped", &[fuse_stopped]),
    sharing("fuse_behind_a_stopped_process", &[fuse_behind_a_stopped_process]),
    sharing("fuse_flush", &[fuse_flush]),
    sharing("fuse_reads_disk", &[fuse_reads_disk]),
    sharing("fuse_page_read", &[fuse_page_read]),
    sharing("fuse_page_fault", &[fuse_page_fault]),
    sharing("fuse_loop", &[fuse_loop]),
    sharing("fuse_direct_loop", &[fuse_direct_loop]),
    sharing("fanotify_listener", &[fanotify_listener]),
    sharing("out_of_memory", &[out_of_memory]),
    sharing("wbt", &[wbt]),
    sharing("cpu_quota", &[cpu_quota]),
    sharing("cpu_quota_of_server", &[cpu_quota_of_server]),
    recorded("throttled_to_the_end", throttled_to_the_end),
];

/// A file of a FUSE server, and the server's process.
pub(super) fn fuse(ground: &Ground, slowly: &str) -> (String, u32) {
    let point = ground.fuse_point();
    let server = ground.neighbour(&format!("serve {} {slowly}", point.display()));
    let is_mounted = || std::fs::read_to_string("/proc/self/mounts").unwrap().contains(point.to_str().unwrap());
    ground.wait_until("the FUSE server", is_mounted);
    (point.join("file").display().to_string(), server)
}

fn client(ground: &Ground, file: &str) -> Victim {
    let go = ground.at(GO);
    let victim = Victim::start(ground, &format!("open {file}\nread {file} 0 4k\nawait {go}\nread {file} 128k 4k"));
    ground.wait_for(&format!("{go}.awaited"));
    victim
}

fn fuse_sleeps() -> Truth {
    let ground = Ground::new();
    let (file, _) = fuse(&ground, "sleep 600");
    let victim = client(&ground, &file);
    ground.go(&ground.at(GO));
    let culprit = Some("neighbour/");
    Truth { waited_for: Some("neighbour"), says: Some("nanosleep"), culprit, ..victim.suffered("network_fs") }
}

/// read(2) is also how a message is received.
fn fuse_read_on() -> Truth {
    let ground = Ground::new();
    let (file, _) = fuse(&ground, "sleep 600");
    let go = ground.at(GO);
    let script = format!("open {file}\nread {file} 0 4k\nreadon {file} 64k\nawait {go}\nreadon {file} 4k");
    let victim = Victim::start(&ground, &script);
    ground.go(&go);
    Truth { waited_for: Some("neighbour"), says: Some("nanosleep"), ..victim.suffered("network_fs") }
}

fn fuse_stopped() -> Truth {
    let ground = Ground::new();
    let (file, server) = fuse(&ground, "sleep 0");
    let victim = client(&ground, &file);
    let signal = |name: &str| drop(tool("kill", &[name, &server.to_string()]));
    signal("-STOP");
    ground.go(&ground.at(GO));
    std::thread::sleep(Duration::from_millis(700));
    signal("-CONT");
    Truth { waited_for: Some("neighbour"), ..victim.suffered("network_fs") }
}

/// As sshfs behind a stopped sftp-server: one thread of the FUSE server asks, and another one receives the answer.
fn fuse_behind_a_stopped_process() -> Truth {
    let ground = Ground::new();
    let (child, report) = (ground.at("child"), ground.at("child-report"));
    let (file, _) = fuse(&ground, &format!("relay {child} {report} answer_parent sleep 0"));
    let victim = client(&ground, &file);
    ground.wait_for(&child);
    let child = std::fs::read_to_string(&child).unwrap();
    let signal = |name: &str| drop(tool("kill", &[name, &child]));
    signal("-STOP");
    ground.go(&ground.at(GO));
    std::thread::sleep(Duration::from_millis(700));
    signal("-CONT");
    Truth { waited_for: Some("child"), stopped_by: Some("kill"), ..victim.suffered("network_fs") }
}

/// The close of a file waits for the server, too.
fn fuse_flush() -> Truth {
    let ground = Ground::new();
    let (file, server) = fuse(&ground, "sleep 0");
    let go = ground.at(GO);
    let victim = Victim::start(&ground, &format!("open {file}\nread {file} 0 4k\nawait {go}\nclose {file}"));
    ground.wait_for(&format!("{go}.awaited"));
    let signal = |name: &str| drop(tool("kill", &[name, &server.to_string()]));
    signal("-STOP");
    ground.go(&go);
    std::thread::sleep(Duration::from_millis(700));
    signal("-CONT");
    Truth {
        waited_for: Some("neighbour"),
        operation: Some("close"),
        path: Some("file"),
        ..victim.suffered("network_fs")
    }
}

/// The server's disk is slow.
fn fuse_reads_disk() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let data = disk.file("data");
    let (file, _) = fuse(&ground, &format!("read {data}"));
    let victim = client(&ground, &file);
    ground.slow(&disk, "read_bps", 1 << 20);
    ground.go(&ground.at(GO));
    Truth { waited_for: Some("neighbour"), says: Some("throttled"), ..victim.suffered("network_fs") }
}

/// The server's file that is cached: the kernel reads ahead, and the reader waits for its page.
fn pages(ground: &Ground, slowly: &str) -> String {
    fuse(ground, slowly).0.replace("/file", "/pages")
}

fn fuse_page_read() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let file = pages(&ground, &format!("read {}", disk.file("data")));
    let victim = client(&ground, &file);
    ground.slow(&disk, "read_bps", 1 << 20);
    ground.go(&ground.at(GO));
    Truth { waited_for: Some("neighbour"), says: Some("throttled"), ..victim.suffered("network_fs") }
}

fn fuse_page_fault() -> Truth {
    let ground = Ground::new();
    let file = pages(&ground, "sleep 600");
    let go = ground.at(GO);
    let victim = Victim::start(&ground, &format!("open {file}\nawait {go}\nfault {file} 2"));
    ground.go(&go);
    Truth { waited_for: Some("neighbour"), says: Some("nanosleep"), ..victim.suffered("network_fs") }
}

/// A loop device whose file a FUSE server serves: its worker waits for the server.
fn loop_over_fuse(direct: &str) -> Truth {
    let ground = Ground::new();
    let image = pages(&ground, "sleep 600");
    let disk = ground.loop_device(Path::new(&image), direct);
    let (file, go) = (disk.path.display().to_string(), ground.at(GO));
    let victim = Victim::start(&ground, &format!("open {file} direct\nawait {go}\nread {file} 1m 4k"));
    ground.wait_for(&format!("{go}.awaited"));
    ground.go(&go);
    Truth { waited_for: Some("neighbour"), says: Some("nanosleep"), ..victim.suffered("network_fs") }
}

fn fuse_loop() -> Truth {
    loop_over_fuse("--direct-io=off")
}

fn fuse_direct_loop() -> Truth {
    loop_over_fuse("--direct-io=on")
}

fn fanotify_listener() -> Truth {
    let ground = Ground::new();
    let (file, ready, go) = (ground.at("watched"), ground.at("ready"), ground.at(GO));
    std::fs::write(&file, "").unwrap();
    let victim = Victim::start(&ground, &format!("await {go}\nreopen {file}"));
    ground.neighbour(&format!("listen {file} 600 {ready}"));
    ground.wait_for(&ready);
    ground.go(&go);
    Truth { waited_for: Some("neighbour"), ..victim.suffered("fanotify") }
}

/// Without the OOM killer, a task waits until another one makes room.
fn out_of_memory() -> Truth {
    let ground = Ground::new();
    let small = ground.memory_cgroup(16);
    std::fs::write(small.join("memory.oom_control"), "1").unwrap();
    let go = ground.at(GO);
    let procs: PathBuf = small.join("cgroup.procs");
    let victim = Victim::start(&ground, &format!("put {} 0\nawait {go}\ngrow 32m", procs.display()));
    ground.go(&go);
    let is_full = || read(&small, "memory.oom_control").contains("under_oom 1");
    ground.wait_until("the memory cgroup is full", is_full);
    std::thread::sleep(Duration::from_millis(600));
    ground.limit(&small, Limit::Memory(64 << 20));
    victim.suffered("out_of_memory")
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Background writes exceed the depth that writeback throttling allows on a slow disk.
fn wbt() -> Truth {
    let ground = Ground::new();
    let under = ground.ext4(256);
    let disk = ground.device(&under.path, 128);
    let (file, go) = (disk.path.display().to_string(), ground.at(GO));
    let queue = format!("/sys/block/{}/queue", disk.name);
    ground.set(&format!("{queue}/scheduler"), "none");
    ground.set(&format!("{queue}/write_cache"), "write through");
    ground.set(&format!("{queue}/wbt_lat_usec"), "2000");
    // With sync_file_range the victim itself writes its dirty pages, scattered so that no two merge.
    let script = format!("open {file}\nawait {go}\ntimes 400\nwrite {file} %f000 4k\nthen\nwriteout {file}");
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&under, "write_iops", 200);
    ground.go(&go);
    Truth { says: Some("wbt"), ..victim.suffered("request_wait") }
}

/// 5 ms of CPU time in 100 ms, and more than others while it lasts.
pub(super) fn with_quota(ground: &Ground) -> PathBuf {
    let folder = ground.another_cgroup("cpu");
    ground.limit(&folder, Limit::Weight(65536));
    ground.limit(&folder, Limit::Quota(5000));
    folder.join("cgroup.procs")
}

/// The page cache has it all; the quota does not suffice.
fn cpu_quota() -> Truth {
    let ground = Ground::new();
    let (file, go, procs) = (ground.at("victim"), ground.at(GO), with_quota(&ground));
    let script =
        format!("open {file}\nwrite {file} 0 8m\nawait {go}\nput {} 0\nduring 3000\nread {file} 0 8m", procs.display());
    let victim = Victim::start(&ground, &script);
    ground.go(&go);
    Truth { says: Some("5.00 ms of 100 ms"), ..victim.suffered("cpu_throttle") }
}

/// The server works for its answer, and has no CPU time left.
fn cpu_quota_of_server() -> Truth {
    let ground = Ground::new();
    let (go, procs) = (ground.at(GO), with_quota(&ground));
    let address = server(&ground, "unix", &format!("put {} 0\nanswer ADDRESS think 400", procs.display()));
    let victim = Victim::start(&ground, &format!("connect {address}\nawait {go}\nask {address} recv"));
    ground.go(&go);
    Truth { waited_for: Some("neighbour"), ..victim.suffered("cpu_throttle") }
}

/// The recording ends while its second write waits.
fn throttled_to_the_end() -> (Value, Truth) {
    let ground = Ground::new();
    let (file, go) = (slow_disk(&ground).file("data"), ground.at(GO));
    let script = format!("open {file} direct\nawait {go}\nwrite {file} 0 1m\nsignal {go}.next\nwrite {file} 0 6m");
    let victim = Victim::start(&ground, &script);
    let recording = Recording::start();
    let (began_ns, begun) = (now_ns(), format!("{go}.next"));
    ground.go(&go);
    ground.wait_for(&begun);
    std::thread::sleep(Duration::from_millis(1200));
    let truth = victim.suffers("io_throttle", (began_ns, now_ns() + 3_000_000_000), now_ns() - began_ns);
    (recording.explained(), Truth { operation: Some("pwrite64"), finished: Some(false), ..truth })
}
