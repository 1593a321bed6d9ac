//! Known stalls, with the limits of cgroup v2: each is explained by its cause.

use std::path::{Path, PathBuf};

use crate::scenes::{Scene, is_since, play};
use crate::stage::Disk;

/// A cgroup of version 2; removed when dropped.
pub struct Group(PathBuf);

impl Group {
    pub fn new(name: &str, settings: &[(&str, &str)]) -> Group {
        let group = Group(Path::new("/sys/fs/cgroup").join(format!("stall-{name}")));
        std::fs::create_dir(&group.0).unwrap();
        for (file, value) in settings {
            std::fs::write(group.0.join(file), value).unwrap_or_else(|error| panic!("{file}: {error}"));
        }
        group
    }

    /// The command, executed within it.
    pub fn run(&self, command: &str) -> String {
        format!("sh -c 'echo $$ > {}/cgroup.procs; exec {command}'", self.0.display())
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A stall by its name, cause and least time, and by the operation and the end of the path that it names.
fn scene(
    (name, cause, at_least_ms): (&'static str, &'static str, u64),
    script: String,
    (operation, path): (&'static str, &str),
) -> Scene {
    Scene {
        name,
        script,
        operation,
        path: path.to_owned(),
        cause,
        at_least_ms,
        device: None,
        waited_for: None,
        failure: None,
        held_in: None,
    }
}

fn frozen(disk: &Path) -> Scene {
    let disk = disk.display();
    let script = format!(
        "fsfreeze --freeze {disk}; (sleep 3; fsfreeze --unfreeze {disk}) & dd if=/dev/zero of={disk}/frozen bs=4k \
         count=1; wait"
    );
    scene(("a frozen file system", "frozen", 900), script, ("openat", "/frozen"))
}

fn throttled(disk: &Path, group: &Group) -> Scene {
    let write = format!("dd if=/dev/zero of={}/throttled bs=256k count=4 oflag=direct", disk.display());
    scene(("`io.max`", "io_throttle", 1000), group.run(&write), ("write", "/throttled"))
}

/// A new file in the page cache, of that size, which has another name from now on.
fn cached(file: &Path, mebibytes: u64) -> String {
    let file = file.display();
    format!("dd if=/dev/zero of={file}-made bs=1M count={mebibytes}; mv {file}-made {file}")
}

fn quota(disk: &Path, group: &Group) -> Scene {
    let file = disk.join("quota");
    let read = group.run(&format!("dd if={} of=/dev/null bs=8M", file.display()));
    let script = format!("{}; {read}", cached(&file, 16));
    scene(("`cpu.max`", "cpu_throttle", 300), script, ("read", "/quota"))
}

/// The process that holds the lock of a file is frozen with its cgroup.
fn locked(disk: &Path, group: &Group) -> Scene {
    let (file, freeze) = (disk.join("locked").display().to_string(), group.file("cgroup.freeze"));
    let hold = group.run(&format!("flock {file} sh -c \"touch {file}-held; sleep 0.5\""));
    let script = format!(
        "rm -f {file}-held; {hold} & until [ -e {file}-held ]; do sleep 0.1; done; echo 1 > {freeze}; \
         (sleep 3; echo 0 > {freeze}) & flock {file} true; wait"
    );
    let locked = scene(("a lock, its holder in `cgroup.freeze`", "lock", 900), script, ("flock", "/locked"));
    Scene { waited_for: Some("flock"), ..locked }
}

/// The buffer of the read is the group's memory, and cannot be reclaimed: there is no swap. It is small, since to fill
/// it takes the emulator's CPU time beside the throttling. Three programs read, since the kernel may throttle one
/// earlier, while it starts.
fn above_high(disk: &Path, group: &Group) -> Scene {
    let file = disk.join("high");
    let read = group.run(&format!("dd if={} of=/dev/null bs=1M count=1", file.display()));
    let script = format!("{}; {read}; {read}; {read}", cached(&file, 1));
    scene(("`memory.high`", "reclaim_throttle", 500), script, ("read", "/high"))
}

#[test]
fn stalls_of_locks_and_of_limits_of_cgroup_v2_have_their_causes() {
    let disk = Disk::ext4(256 << 20);
    let at = disk.path();
    let slow = format!("{} wbps=524288", disk.number());
    let io = Group::new("io", &[("io.max", &slow)]);
    let cpu = Group::new("cpu", &[("cpu.max", "10000 100000")]);
    let lock = Group::new("lock", &[]);
    let memory = Group::new("memory", &[("memory.high", "1048576")]);
    let mut scenes = vec![frozen(at), throttled(at, &io), quota(at, &cpu)];
    // An earlier tracer has no sources for these.
    if is_since(5, 17) {
        scenes.extend([locked(at, &lock), above_high(at, &memory)]);
    }
    play(&scenes);
}
