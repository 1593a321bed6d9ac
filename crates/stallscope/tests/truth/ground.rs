//! Fixtures of a scenario: temporary disks, limits, settings, neighbours. All are removed when dropped, also when the
//! scenario fails, and by the next run of the program when this one is killed.

use std::cell::RefCell;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rig::{Entry, Register, Resource, Setting, TemporaryFileSystem};
use rustix::fs::{OFlags, SeekFrom, seek};

use crate::cgroups::{Cgroups, Limit};

/// Without lazy initialization in the background.
pub const EXT4: &str = "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0";

/// Larger images stay sparse: those of several tests at a time would need much memory.
const FILLED_UP_TO_MB: u64 = 128;

/// Also in an emulator, where everything takes longer.
const DEADLINE: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

pub struct Ground {
    register: Register,
    cgroups: Cgroups,
    slowed: RefCell<Vec<String>>,
    entries: RefCell<Vec<Entry>>,
    rules: RefCell<Vec<Entry>>,
    neighbours: RefCell<Vec<Child>>,
    home: TemporaryFileSystem,
}

/// A loop device, and the file system on it where there is one.
pub struct Disk {
    /// `loop3`.
    pub name: String,
    /// `7:3`.
    pub number: String,
    /// Where it is mounted; the device itself where it is not.
    pub path: PathBuf,
}

impl Disk {
    pub fn file(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    /// A loop device keeps what its last user set: with 77 requests no queue forms in a scheduler.
    fn set_defaults(&self) {
        rig::set_default_queue(&self.name, &rig::Roots::default());
        fs::write(format!("/sys/block/{}/queue/write_cache", self.name), "write back").unwrap();
        let settings = Path::new("/sys/class/bdi").join(&self.number);
        // Linux has it since 6.2.
        if settings.join("strict_limit").exists() {
            fs::write(settings.join("strict_limit"), "0").unwrap();
        }
        fs::write(settings.join("max_ratio"), "100").unwrap();
    }

    /// Of a loop device.
    fn backing_file(&self) -> PathBuf {
        let path = fs::read_to_string(format!("/sys/block/{}/loop/backing_file", self.name)).unwrap();
        PathBuf::from(path.trim_end())
    }

    /// Reads in flight.
    pub fn reads_in_flight(&self) -> u64 {
        let counts = fs::read_to_string(format!("/sys/block/{}/inflight", self.name)).unwrap();
        counts.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// A new folder on it.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path.join(name);
        fs::create_dir(&path).unwrap();
        path
    }
}

impl Ground {
    pub fn new() -> Ground {
        let (register, _) = Register::open().unwrap();
        // In memory: other activity on the machine's disk must not change the measurement.
        let home = TemporaryFileSystem::directory(0, Path::new("/dev/shm"), &register).unwrap();
        let (cgroups, entries) = Cgroups::new(&register);
        Ground {
            register,
            cgroups,
            slowed: RefCell::default(),
            entries: RefCell::new(entries),
            rules: RefCell::default(),
            neighbours: RefCell::default(),
            home,
        }
    }

    /// A folder in memory.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A path in that folder.
    pub fn at(&self, name: &str) -> String {
        self.home().join(name).display().to_string()
    }

    /// A new loop device over a new file in `place`.
    pub fn device(&self, place: &Path, megabytes: u64) -> Disk {
        let image = place.join(format!("image-{}", self.entries.borrow().len()));
        let file = fs::File::create_new(&image).unwrap();
        if place == self.home() {
            file.set_len(megabytes << 20).unwrap();
        } else {
            // Reads of unwritten blocks would not reach the disk below.
            (0..megabytes).for_each(|_| (&file).write_all(&[0; 1 << 20]).unwrap());
            file.sync_all().unwrap();
        }
        // Before 6.6, files in memory take no direct I/O.
        let direct = fs::OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(&image);
        self.loop_device(&image, if direct.is_ok() { "--direct-io=on" } else { "--direct-io=off" })
    }

    /// A new loop device over a file.
    pub fn loop_device(&self, image: &Path, direct: &str) -> Disk {
        self.enter(Resource::LoopDevice { backing: image.to_owned() });
        let path = PathBuf::from(tool("losetup", &["--find", "--show", direct, text(image)]).trim());
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let number = fs::read_to_string(format!("/sys/block/{name}/dev")).unwrap().trim().to_owned();
        let disk = Disk { name, number, path };
        disk.set_defaults();
        disk
    }

    /// A file system on a new loop device, made by that command and mounted with those options.
    pub fn file_system(&self, megabytes: u64, mkfs: &str, options: &str) -> Disk {
        self.file_system_in(self.home(), megabytes, mkfs, options)
    }

    pub fn file_system_in(&self, place: &Path, megabytes: u64, mkfs: &str, options: &str) -> Disk {
        let mut disk = self.device(place, megabytes);
        let mut words: Vec<&str> = mkfs.split_whitespace().collect();
        words.push(text(&disk.path));
        tool(words[0], &words[1..]);
        if place == self.home() && megabytes <= FILLED_UP_TO_MB {
            fill_holes(&disk.backing_file());
        }
        let fs_type = words.iter().find_map(|word| word.strip_prefix("mkfs.")).expect("a mkfs").to_owned();
        let point = self.home().join(format!("on-{}", disk.name));
        fs::create_dir(&point).unwrap();
        self.enter(Resource::Mount {
            point: point.clone(),
            source: disk.path.display().to_string(),
            fs_type: fs_type.clone(),
        });
        tool("mount", &["-t", &fs_type, "-o", options, text(&disk.path), text(&point)]);
        disk.path = point;
        disk
    }

    pub fn ext4(&self, megabytes: u64) -> Disk {
        self.file_system(megabytes, EXT4, "noatime")
    }

    /// A disk for the images of others, which become as slow as [`Ground::slow`] makes this one. A limit on the upper
    /// device would not do: the kernel exempts metadata from throttling.
    pub fn base(&self, megabytes: u64) -> Disk {
        self.ext4(megabytes + megabytes / 4 + 64)
    }

    /// Slows a device: `what` is `read_bps`, `write_bps`, `read_iops` or `write_iops`.
    pub fn slow(&self, disk: &Disk, what: &str, value: u64) {
        self.slowed.borrow_mut().push(disk.number.clone());
        self.rules.borrow_mut().extend(self.cgroups.slow(&disk.number, what, value, &self.register));
    }

    /// An empty memory cgroup of that size.
    pub fn memory_cgroup(&self, megabytes: u64) -> PathBuf {
        let path = self.another_cgroup("memory");
        self.limit(&path, Limit::Memory(megabytes << 20));
        path
    }

    /// An empty cgroup of that controller.
    pub fn another_cgroup(&self, controller: &str) -> PathBuf {
        let path = self.cgroups.another(controller);
        self.cgroup(&path);
        path
    }

    /// The same for which the limits of [`Ground::slow`] do not hold (version 2).
    pub fn outside(&self) -> PathBuf {
        let path = self.cgroups.outside();
        self.cgroup(&path);
        path
    }

    pub fn limit(&self, cgroup: &Path, limit: Limit<'_>) {
        self.cgroups.limit(cgroup, limit);
    }

    /// An empty cgroup there.
    pub fn cgroup(&self, path: &Path) {
        self.enter(Resource::Cgroup { path: path.to_owned() });
        fs::create_dir(path).unwrap();
    }

    /// Where a FUSE server will be mounted.
    pub fn fuse_point(&self) -> PathBuf {
        let point = self.home().join("fuse");
        fs::create_dir(&point).unwrap();
        let source = "stallscope-truth".to_owned();
        self.enter(Resource::Mount { point: point.clone(), source, fs_type: "fuse".to_owned() });
        point
    }

    /// Changes a setting of the kernel for as long as this lives.
    pub fn set(&self, file: &str, value: &str) {
        let changed = Setting::named(file, value).and_then(|setting| setting.change(&self.register));
        self.entries.borrow_mut().extend(changed.unwrap_or_else(|error| panic!("{error}")));
    }

    /// Runs a command whose effect the other one undoes when this is dropped.
    pub fn change_by(&self, command: &str, revert: &str) {
        let entry = self.register.change_by(command, revert).unwrap_or_else(|error| panic!("{error}"));
        self.entries.borrow_mut().push(entry);
    }

    /// Freezes a file system until the result is dropped. What is mounted on it cannot be unmounted before that.
    pub fn freeze(&self, disk: &Disk) -> Frozen {
        let point = disk.path.display();
        // Fails where it is not frozen, or no longer.
        let thaw = format!("fsfreeze --unfreeze {point} 2>/dev/null || true");
        let entry = self.register.change_by(&format!("fsfreeze --freeze {point}"), &thaw).unwrap();
        Frozen { register: self.register.clone(), entry: Some(entry) }
    }

    /// Starts another program that does what the script says.
    pub fn neighbour(&self, script: &str) -> u32 {
        self.program("neighbour", script)
    }

    /// The same by another name.
    pub fn program(&self, name: &str, script: &str) -> u32 {
        let number = self.neighbours.borrow().len();
        let report = self.at(&format!("neighbour-{number}"));
        let child = self.actor(name, &report, script).stdin(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        self.neighbours.borrow_mut().push(child);
        pid
    }

    /// The command that runs an actor in the scenario's cgroup.
    pub fn actor(&self, name: &str, report: &str, script: &str) -> Command {
        actor(name, report, &format!("{}{script}", self.cgroups.join()))
    }

    /// Waits until all neighbours have ended.
    pub fn wait_for_neighbours(&self) {
        for mut child in self.neighbours.borrow_mut().drain(..) {
            assert!(child.wait().unwrap().success(), "a neighbour failed");
        }
    }

    /// Waits until an actor made that file.
    pub fn wait_for(&self, path: &str) {
        self.wait_until(path, || Path::new(path).exists());
    }

    pub fn wait_until(&self, what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < DEADLINE, "timed out: {what}");
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until a process is in that function of the kernel.
    pub fn wait_until_in(&self, pid: u32, function: &str) {
        let stack = || fs::read_to_string(format!("/proc/{pid}/stack")).unwrap_or_default();
        self.wait_until(function, || stack().contains(function));
    }

    /// Makes the file that an actor waits for, once it does.
    pub fn go(&self, path: &str) {
        self.wait_for(&format!("{path}.awaited"));
        fs::write(path, "").unwrap();
    }

    fn enter(&self, thing: Resource) {
        let entry = self.register.enter(thing).unwrap();
        self.entries.borrow_mut().push(entry);
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        for child in self.neighbours.get_mut() {
            let _ = child.kill();
        }
        // A slow disk would be slow to unmount, too.
        self.register.undo_all(std::mem::take(self.rules.get_mut()));
        self.slowed.get_mut().iter().for_each(|device| self.cgroups.lift(device));
        for child in self.neighbours.get_mut() {
            let _ = child.wait();
        }
        for removed in self.register.undo_all(std::mem::take(self.entries.get_mut())) {
            if !removed.complete {
                println!("{}", removed.sentence);
            }
        }
    }
}

/// The command that runs an actor: this program.
pub fn actor(name: &str, report: &str, script: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["actor", name, report, script]);
    command
}

pub fn tool(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Gives an image all of its memory: a virtual machine gets each page from its host at the first use, which can take
/// longer than the writes whose time at the disk is compared with earlier runs. Nothing may write meanwhile.
fn fill_holes(image: &Path) {
    let file = fs::OpenOptions::new().write(true).open(image).unwrap();
    let end = file.metadata().unwrap().len();
    let mut at = 0;
    while let Ok(hole) = seek(&file, SeekFrom::Hole(at)) {
        // Without a hole it is the end.
        if hole >= end {
            break;
        }
        at = seek(&file, SeekFrom::Data(hole)).unwrap_or(end);
        file.write_all_at(&vec![0; (at - hole) as usize], hole).unwrap();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A frozen file system, which is thawed also when the scenario fails.
pub struct Frozen {
    register: Register,
    entry: Option<Entry>,
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.entry.take().map(|entry| self.register.undo(entry));
    }
}
