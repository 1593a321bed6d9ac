//! System calls of every kind, waits that had not ended or had begun before the recording, stopped tasks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::limits::fuse;
use super::{GO, Test, alone, recorded, sharing, writer_of_frozen};
use crate::actor::now_ns;
use crate::ground::{Disk, EXT4, Frozen, Ground, tool};
use crate::victim::{ANY, Recording, Truth, Victim};

pub const TESTS: &[Test] = &[
    sharing("umount", &[unmounted]),
    sharing("close_of_a_device", &[closed]),
    sharing("mount_by_fsconfig", &[mounted]),
    sharing("spawn_of_a_cold_program", &[spawned]),
    sharing("unlink_in_a_folder", &[unlinked]),
    sharing("rename_in_a_folder", &[renamed]),
    sharing("stopped_in_a_write", &[stopped]),
    sharing("frozen_v2_cgroup_in_a_write", &[frozen_with_its_v2_cgroup]),
    sharing("frozen_cgroup_in_a_write", &[frozen_with_its_cgroup]),
    alone("behind_a_realtime_task", &[behind]),
    recorded("still_blocked_at_the_end", still_blocked),
    recorded("blocked_before_the_begin", blocked_before),
    recorded("blocked_throughout", blocked_throughout),
    recorded("stopped_command", stopped_command),
    recorded("sleeps_of_the_command", sleeps),
    recorded("quiet_sleeps_of_the_command", idle),
    recorded("short_waits_of_the_command", short_waits),
    sharing("quiet_shell", &[quiet_shell]),
    sharing("quiet_polls", &[quiet_polls]),
    sharing("quiet_timers", &[quiet_timers]),
    sharing("quiet_stopped", &[quiet_stopped]),
];

/// The writing of dirty pages comes after sys_exit, on the way back to user space.
fn unmounted() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (file, go) = (disk.file("victim"), ground.at(GO));
    let script =
        format!("open {file}\nwrite {file} 0 3m\nclose {file}\nrealtime\nawait {go}\nunmount {}", disk.path.display());
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&disk, "write_bps", 2 << 20);
    ground.go(&go);
    Truth { operation: Some("umount2"), path: disk.path.file_name().and_then(leaked), ..victim.suffered(ANY) }
}

/// The last close of a block device writes its dirty pages.
fn closed() -> Truth {
    let ground = Ground::new();
    let disk = ground.device(ground.home(), 64);
    let (file, go) = (disk.path.display().to_string(), ground.at(GO));
    ground.slow(&disk, "write_bps", 2 << 20);
    let script = format!("realtime\nopen {file}\nwrite {file} 0 3m\nawait {go}\nclose {file}");
    let victim = Victim::start(&ground, &script);
    ground.go(&go);
    Truth { operation: Some("close"), ..victim.suffered(ANY) }
}

/// As mount(8) does since util-linux 2.39; the disk is below, so that metadata is slow, too.
fn mounted() -> Truth {
    let ground = Ground::new();
    let base = ground.base(64);
    let disk = ground.file_system_in(&base.path, 64, EXT4, "noatime");
    let point = disk.path.display().to_string();
    let go = ground.at(GO);
    tool("umount", &[&point]);
    let device = format!("/dev/{}", disk.name);
    let script = format!("realtime\nawait {go}\nmount {device} {point} ext4");
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&base, "read_iops", 6);
    ground.go(&go);
    Truth { operation: Some("fsconfig"), path: leaked(disk.name.as_ref()), ..victim.suffered(ANY) }
}

/// The parent waits in vfork or clone for the child's execve, and that for its program.
fn spawned() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (program, go) = (disk.file("program"), ground.at(GO));
    fs::copy("/bin/true", &program).unwrap();
    let script = format!(
        "open {program}\nfsync {program}\nwriteback {program}\nclose {program}\nrealtime\nawait {go}\nspawn \
         {program}\nsleep 800"
    );
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.slow(&disk, "read_iops", 3);
    ground.go(&go);
    Truth { waited_for: Some("victim"), ..victim.suffered("io_throttle") }
}

fn unlinked() -> Truth {
    in_a_frozen_folder("unlink %F gone", "unlinkat", "folder/gone")
}

fn renamed() -> Truth {
    in_a_frozen_folder("rename %F gone there", "renameat", "folder/gone")
}

/// The victim passes a name that is relative to an open folder.
fn in_a_frozen_folder(step: &str, operation: &'static str, path: &'static str) -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let folder = disk.folder("folder").display().to_string();
    let go = ground.at(GO);
    let script = format!("open {folder}\ncreate {folder}/gone\nawait {go}\n{}", step.replace("%F", &folder));
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    let frozen = ground.freeze(&disk);
    ground.go(&go);
    std::thread::sleep(Duration::from_millis(800));
    drop(frozen);
    Truth { operation: Some(operation), path: Some(path), ..victim.suffered("frozen") }
}

/// The signal stops the task only when the write is done, but before it returns.
fn stopped() -> Truth {
    let ground = Ground::new();
    let kill = |victim: &Victim, signal| drop(tool("kill", &[signal, &victim.pid().to_string()]));
    stopped_in_a_write(&ground, "", "kill", |victim| kill(victim, "-STOP"), |victim| kill(victim, "-CONT"))
}

/// The same with the freezer of cgroup v2, which a machine with v1 may have, too.
fn frozen_with_its_v2_cgroup() -> Truth {
    let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
    let Some(v2) = mounts.into_iter().find(|mount| mount.join("cgroup.controllers").exists()) else { return stopped() };
    let ground = Ground::new();
    let path = v2.join(format!("stallscope-{}-truth", std::process::id()));
    ground.cgroup(&path);
    let group = path.display();
    let freeze = |_: &Victim| drop(tool("sh", &["-c", &format!("echo 1 > {group}/cgroup.freeze")]));
    let thaw = |_: &Victim| fs::write(path.join("cgroup.freeze"), "0").unwrap();
    stopped_in_a_write(&ground, &format!("put {group}/cgroup.procs 0\n"), "sh/", freeze, thaw)
}

/// A victim that runs these steps first, and is stopped while it waits for the thaw of its file system.
fn stopped_in_a_write(
    ground: &Ground,
    first: &str,
    stopped_by: &'static str,
    stop: impl FnOnce(&Victim),
    resume: impl FnOnce(&Victim),
) -> Truth {
    let disk = ground.ext4(64);
    let (victim, frozen, go) = writer_of_frozen(ground, &disk, first);
    ground.go(&go);
    ground.wait_until_in(victim.pid(), "vfs_write");
    stop(&victim);
    std::thread::sleep(Duration::from_millis(600));
    let thaw_ns = now_ns();
    drop(frozen);
    std::thread::sleep(Duration::from_millis(1500));
    resume(&victim);
    Truth { stopped_by: Some(stopped_by), ..victim.suffered_until("frozen", thaw_ns, "stopped") }
}

/// A freezer of cgroup v1. Its tasks cannot be killed until it thaws.
struct Freezer(PathBuf);

impl Freezer {
    fn new(ground: &Ground) -> Freezer {
        let path = Path::new("/sys/fs/cgroup/freezer").join(format!("stallscope-{}-truth", std::process::id()));
        ground.cgroup(&path);
        Freezer(path)
    }

    fn set(&self, state: &str) {
        fs::write(self.0.join("freezer.state"), state).unwrap();
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("freezer.state"), "THAWED");
    }
}

/// As by SIGSTOP. Direct writes are not freezable.
fn frozen_with_its_cgroup() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let freezer = Freezer::new(&ground);
    let (file, go) = (disk.file("victim"), ground.at(GO));
    ground.slow(&disk, "write_bps", 2 << 20);
    let script = format!(
        "memory 2m\nput {}/cgroup.procs 0\nopen {file} direct\nrealtime\nawait {go}\nwrite {file} 0 2m\nsleep 1000",
        freezer.0.display()
    );
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    let written_ns = now_ns() + 1_000_000_000;
    ground.go(&go);
    std::thread::sleep(Duration::from_millis(300));
    freezer.set("FROZEN");
    std::thread::sleep(Duration::from_millis(2500));
    freezer.set("THAWED");
    Truth { says: Some("freezer cgroup"), ..victim.suffered_until("io_throttle", written_ns, "stopped") }
}

/// The real-time task leaves 50 ms of each second to others, in which the victim may read more than once.
fn behind() -> Truth {
    let ground = Ground::new();
    let (file, go) = (ground.at("victim"), ground.at(GO));
    let script = format!("open {file}\nwrite {file} 0 64m\npin\nawait {go}\nduring 2500\nread {file} 0 64m");
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    let hog = ground.at("hog");
    ground.neighbour(&format!("pin\nrealtime\nsignal {hog}\nduring 4000\nspin"));
    ground.wait_for(&hog);
    ground.go(&go);
    Truth { says: Some("behind neighbour"), ..victim.suffered("cpu_wait") }
}

/// A victim that waits for the thaw of its file system.
struct Thaw {
    _frozen: Frozen,
    victim: Victim,
    disk: Disk,
    go: String,
    ground: Ground,
}

impl Thaw {
    fn new() -> Thaw {
        let ground = Ground::new();
        let disk = ground.ext4(64);
        let (victim, frozen, go) = writer_of_frozen(&ground, &disk, "");
        Thaw { _frozen: frozen, victim, disk, go, ground }
    }

    fn begin(&self) {
        self.ground.go(&self.go);
        self.ground.wait_until_in(self.victim.pid(), "vfs_write");
    }

    /// Records a shell's script, and explains the victim's wait, which lasts that long within the recording. Whether it
    /// began before, and had ended.
    fn recorded(&self, script: &str, within_ms: u64, (cut, finished): (bool, bool)) -> (Value, Truth) {
        let begin_ns = now_ns();
        let explained = Recording::of(&["sh", "-c", script]);
        let suffered = self.victim.suffers("frozen", (begin_ns, now_ns()), within_ms * 1_000_000);
        let (operation, path) = (Some("pwrite64"), Some("victim"));
        (explained, Truth { operation, path, cut: Some(cut), finished: Some(finished), ..suffered })
    }

    fn command(&self) -> String {
        format!("fsfreeze -u {}", self.disk.path.display())
    }
}

fn still_blocked() -> (Value, Truth) {
    let thaw = Thaw::new();
    thaw.recorded(&format!("touch {}; sleep 1.5", thaw.go), 1500, (false, false))
}

fn blocked_before() -> (Value, Truth) {
    let thaw = Thaw::new();
    thaw.begin();
    thaw.recorded(&format!("sleep 1; {}; sleep 0.3", thaw.command()), 1000, (true, true))
}

fn blocked_throughout() -> (Value, Truth) {
    let thaw = Thaw::new();
    thaw.begin();
    thaw.recorded("sleep 1.2", 1200, (true, false))
}

/// It sleeps, and is stopped meanwhile.
fn stopped_command() -> (Value, Truth) {
    let ground = Ground::new();
    let victim = Victim::start(&ground, "sleep 60000");
    let recording = Recording::following(victim.pid());
    let signal = |name: &str| drop(tool("kill", &[name, &victim.pid().to_string()]));
    let from_ns = now_ns();
    signal("-STOP");
    std::thread::sleep(Duration::from_millis(700));
    signal("-CONT");
    let stopped_ns = now_ns() - from_ns;
    std::thread::sleep(Duration::from_millis(300));
    // On a busy machine it goes on late.
    let suffered = victim.suffers("stopped", (from_ns, now_ns() + 10_000_000_000), stopped_ns);
    (recording.explained(), Truth { operation: Some("stopped"), stopped_by: Some("kill"), ..suffered })
}

/// Who posts a semaphore may have held it, or hand out work: the wait is no operation, and is listed with its waker.
fn sleeps() -> (Value, Truth) {
    let program = "
import multiprocessing, os, time
semaphore = multiprocessing.Semaphore(0)
if not os.fork():
    time.sleep(1.5)
    semaphore.release()
    os._exit(0)
semaphore.acquire()";
    let explained = Recording::of(&["python3", "-c", program]);
    let longest = &explained["sleeps"]["longest"][0];
    assert_eq!((&explained["sleeps"]["count"], &longest["call"]), (&1.into(), &"futex".into()), "{longest:#}");
    let slept_ns = longest["duration_ns"].as_u64().unwrap();
    assert!(slept_ns >= 1_000_000_000, "{longest:#}");
    assert!(longest["waker"].as_str().is_some_and(|waker| waker.starts_with("python3/")), "{longest:#}");
    (explained, Truth::default())
}

/// Each read is below the threshold, and takes 8 ms at least. One that a busy machine delays beyond it is an operation.
fn short_waits() -> (Value, Truth) {
    let ground = Ground::new();
    let (file, _) = fuse(&ground, "sleep 8");
    let (own, report) = (std::env::current_exe().unwrap(), ground.at("report"));
    let script = format!("open {file}\ntimes 60\nread {file} 1m 4k");
    let explained = Recording::of(&[own.to_str().unwrap(), "actor", "reader", &report, &script]);
    let waits = &explained["short_waits"];
    let of_server = waits["causes"].as_array().unwrap().iter().find(|cause| cause["cause"] == "network_fs");
    let short_ns = of_server.map_or(0, |cause| cause["time_ns"].as_u64().unwrap());
    let slow_ns = explained["command"]["wall_ns"].as_u64().unwrap_or(0);
    assert!(short_ns + slow_ns >= 60 * 8_000_000 / 5 * 4 && waits["matter"] == true, "{waits:#}");
    (explained, Truth::default())
}

fn idle() -> (Value, Truth) {
    let explained =
        Recording::of(&["sh", "-c", "sleep 0.4; (sleep 0.3; echo x) | while read -r line; do sleep 0.1; done"]);
    let sleeps = &explained["sleeps"];
    assert!(sleeps["count"] == 0 && sleeps["idle"]["count"].as_u64() > Some(2), "{sleeps:#}");
    (explained, Truth::default())
}

/// Waits for children, a pipe and a timer.
fn quiet_shell() -> Truth {
    quiet("sh", &["-c", "sleep 0.4; (sleep 0.3; echo x) | while read -r line; do sleep 0.1; done; wait"])
}

fn quiet_polls() -> Truth {
    quiet(
        "python3",
        &[
            "-c",
            "import select, os\nends = os.pipe()\nfor _ in range(5): select.poll().poll(150); select.select([ends[0]], \
             [], [], .1)",
        ],
    )
}

fn quiet_timers() -> Truth {
    quiet(
        "python3",
        &["-c", "import asyncio\nasync def tick():\n for _ in range(6): await asyncio.sleep(.15)\nasyncio.run(tick())"],
    )
}

/// A stop alone is no storage stall.
fn quiet_stopped() -> Truth {
    quiet("sh", &["-c", "(sleep 0.7; kill -CONT $$) & kill -STOP $$; sleep 0.1"])
}

/// A program that never waits for storage. It is run once before, so that its files are cached.
fn quiet(program: &str, arguments: &[&str]) -> Truth {
    let run = || Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    assert!(run().wait().unwrap().success(), "{program}");
    let start_ns = now_ns();
    let mut child = run();
    let tid = child.id();
    assert!(child.wait().unwrap().success(), "{program}");
    Truth { tid, spans: vec![(start_ns, now_ns())], quiet: true, ..Truth::default() }
}

/// A truth lasts as long as the tests.
fn leaked(name: &std::ffi::OsStr) -> Option<&'static str> {
    Some(Box::leak(name.to_str()?.to_owned().into_boxed_str()))
}
