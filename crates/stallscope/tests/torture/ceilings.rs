//! More of everything than a machine usually has: threads, cgroups, disks, slow operations, requests. The recorder's
//! memory is bounded, it ends in time, and what it lost is said.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::aftermath::{ask, last_line};
use crate::disk::output;
use crate::report::Report;
use crate::sys;
use crate::victim::program;

const THREADS: usize = 10_000;
const CGROUPS: usize = 2_000;
const DISKS: usize = 200;
const LIMIT: Duration = Duration::from_secs(120);
/// No recording takes more.
const MOST_KIB: i64 = 256 << 10;
/// And more for each slow operation, where it explains them at the end.
const EXPLAINED_BYTES: i64 = 512;

/// What is on the machine while it is recorded, removed when it is dropped; the options of `record`; and what was done
/// so far.
struct Ceiling {
    name: &'static str,
    seconds: u64,
    options: &'static str,
    make: fn(&Path) -> Box<dyn Load>,
}

/// A load that ends when it is dropped.
trait Load {
    /// What it did, in words.
    fn done(&self) -> String;
}

const CEILINGS: [Ceiling; 5] = [
    Ceiling {
        name: "threads",
        seconds: 12,
        options: "--slower-than 100ms --follow OURSELVES",
        make: |_| Box::new(Threads::new()),
    },
    Ceiling {
        name: "cgroups",
        seconds: 12,
        options: "--slower-than 100ms",
        make: |_| Box::new(Cgroups::new(&format!("torture-{}", std::process::id()), CGROUPS)),
    },
    Ceiling { name: "disks", seconds: 12, options: "--slower-than 100ms", make: |folder| Box::new(Disks::new(folder)) },
    Ceiling {
        name: "slow operations",
        seconds: 40,
        options: "--slower-than 1us",
        make: |folder| Box::new(Reads::of_a_file(folder)),
    },
    Ceiling {
        name: "requests",
        seconds: 12,
        options: "--slower-than 1ms --requests all",
        make: |folder| Box::new(Reads::of_a_disk(folder)),
    },
];

/// Records under each.
pub fn campaign() -> Report {
    let mut report = Report::default();
    for ceiling in &CEILINGS {
        println!("{}", ceiling.name);
        report.tried("ceilings");
        let home = crate::remains::folder_in("/dev/shm".as_ref());
        let load = (ceiling.make)(home.path());
        let problems = recorded(ceiling, home.path(), load.as_ref(), &mut report);
        problems.into_iter().for_each(|problem| report.finding(format!("{}: {problem}", ceiling.name)));
    }
    report
}

fn recorded(ceiling: &Ceiling, home: &Path, load: &dyn Load, report: &mut Report) -> Vec<String> {
    let (run, stderr) = (home.join("run"), home.join("stderr"));
    let options = ceiling.options.replace("OURSELVES", &std::process::id().to_string());
    let mut command = Command::new(program());
    command.args(["record", "-q", "--runtime", &format!("{}s", ceiling.seconds), "--out"]).arg(&run);
    command.args(options.split(' '));
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(File::create(&stderr).expect("a file can be made"));
    let (mut recording, planned) = (Recording::new(), Duration::from_secs(ceiling.seconds));
    let watch = |pid| recording.watch(pid, planned);
    let end = sys::run_watched(&mut command, LIMIT, watch).expect("the program starts");
    let said = fs::read_to_string(stderr).unwrap_or_default();
    let mut problems = Vec::new();
    // A recording that lost something says so, and ends with 1.
    let is_expected = end.code == Some(0) || end.code == Some(1) && said.contains("incomplete: ");
    problems.extend((!is_expected).then(|| format!("exit code {:?}: {}", end.code, last_line(&said))));
    problems.extend(said.contains("panicked").then(|| said.clone()));
    let (while_recording, peak) = (recording.peak_kib, end.peak_kib);
    problems.extend((while_recording > MOST_KIB).then(|| format!("{} MiB while it recorded", while_recording >> 10)));
    let mut explained = 0;
    let (mut lost, mut rows) = (String::from("nothing lost"), String::new());
    for words in [["check", "--json"], ["show", "--json"], ["explain", "--json"]] {
        let answer = ask(&words, &run);
        problems.extend(answer.broken().map(|problem| format!("{}: {problem}", words[0])));
        let document = answer.document();
        if let Some(losses) = document["lost"].as_array().filter(|losses| words[0] == "show" && !losses.is_empty()) {
            let kinds: Vec<String> = losses.iter().map(|loss| format!("{} {}", loss["what"], loss["count"])).collect();
            lost = format!("lost: {}", kinds.join(", "));
        }
        if words[0] == "explain" {
            explained = document["slow_operations"].as_i64().unwrap_or(0);
            rows = format!("{explained} slow operations");
        }
        if words[0] == "check" {
            problems.extend((document["whole"] != true).then(|| format!("check: {}", last_line(&answer.stderr))));
        }
    }
    let (name, done) = (ceiling.name, load.done());
    let archive: u64 =
        fs::read_dir(&run).into_iter().flatten().flatten().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    let most = MOST_KIB + explained * EXPLAINED_BYTES / 1024;
    problems.extend((peak > most).then(|| format!("{} MiB to explain {explained} operations", peak >> 10)));
    let (while_recording, peak) = (while_recording >> 10, peak >> 10);
    let sizes = format!("{while_recording} MiB while recording, {peak} to explain it, archive {} MiB", archive >> 20);
    report.note(format!("{name}: {done} in at least {} s; {rows} explained; {sizes}, {lost}", ceiling.seconds));
    problems
}

/// The memory of a recorder until it explains what it recorded.
struct Recording {
    began: Instant,
    looked: Instant,
    peak_kib: i64,
}

impl Recording {
    fn new() -> Recording {
        Recording { began: Instant::now(), looked: Instant::now(), peak_kib: 0 }
    }

    /// Looks, ten times a second. Its start takes a part of the time, so that it still records at the end of it.
    fn watch(&mut self, pid: u32, planned: Duration) {
        if self.began.elapsed() > planned || self.looked.elapsed() < Duration::from_millis(100) {
            return;
        }
        self.looked = Instant::now();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
        self.peak_kib = self.peak_kib.max(peak.unwrap_or(0));
    }
}

/// Threads that each wake ten times a second.
struct Threads {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    fn new() -> Threads {
        let ended = Arc::new(AtomicBool::new(false));
        let start = |_| {
            let ended = Arc::clone(&ended);
            let body = move || {
                while !ended.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_secs(1));
                }
            };
            Builder::new().stack_size(64 << 10).spawn(body).ok()
        };
        let threads = (0..THREADS).map_while(start).collect();
        Threads { ended, threads }
    }
}

impl Load for Threads {
    fn done(&self) -> String {
        format!("{} threads, each waking once a second", self.threads.len())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Cgroups without processes, in each hierarchy that has a memory or blkio controller.
pub struct Cgroups(Vec<PathBuf>);

impl Cgroups {
    pub fn new(name: &str, count: usize) -> Cgroups {
        let found = rig::Hierarchies::detect(&rig::Roots::default()).ok();
        let parents = found.into_iter().flat_map(|all| [all.memory, all.blkio, all.unified]).flatten();
        let mut made = Vec::new();
        for parent in parents.map(|hierarchy| hierarchy.own) {
            let names = (0..count).map(|number| parent.join(format!("{name}-{number}")));
            made.extend(names.filter(|path| fs::create_dir(path).is_ok()));
        }
        Cgroups(made)
    }
}

impl Load for Cgroups {
    fn done(&self) -> String {
        format!("{} cgroups", self.0.len())
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = fs::remove_dir(path);
        }
    }
}

/// Loop devices, each read once.
struct Disks(Vec<String>);

impl Disks {
    fn new(folder: &Path) -> Disks {
        let image = folder.join("image");
        File::create(&image).and_then(|file| file.set_len(1 << 20)).expect("a file can be made");
        let attach = |_| output("losetup", &["--find", "--show", &image.display().to_string()]).ok();
        Disks((0..DISKS).map_while(attach).collect())
    }
}

impl Load for Disks {
    fn done(&self) -> String {
        format!("{} loop devices", self.0.len())
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        for device in &self.0 {
            let _ = output("losetup", &["--detach", device]);
        }
        sys::remove_loop_devices(&self.0);
    }
}

/// Threads that read without a pause.
struct Reads {
    ended: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
    device: Option<String>,
    what: &'static str,
}

const IMAGE_BYTES: u64 = 64 << 20;

impl Reads {
    fn of_a_file(folder: &Path) -> Reads {
        let image = image(folder);
        Reads::start(&image, 0, 64 << 10, 2, "reads of 64 KiB from the page cache")
    }

    fn of_a_disk(folder: &Path) -> Reads {
        let image = image(folder);
        let device = output("losetup", &["--direct-io=on", "--find", "--show", &image.display().to_string()])
            .or_else(|_| output("losetup", &["--find", "--show", &image.display().to_string()]))
            .expect("a loop device can be made");
        let mut reads = Reads::start(Path::new(&device), libc::O_DIRECT, 4096, 8, "direct reads of 4 KiB");
        reads.device = Some(device);
        reads
    }

    fn start(path: &Path, flags: i32, bytes: usize, threads: u32, what: &'static str) -> Reads {
        let (ended, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let start = |number: u32| {
            let (ended, count) = (Arc::clone(&ended), Arc::clone(&count));
            let file = File::options().read(true).custom_flags(flags).open(path).expect("it can be opened");
            std::thread::spawn(move || {
                // Aligned for direct reads.
                let mut memory = vec![0; bytes + 4096];
                let from = memory.as_ptr().align_offset(4096);
                let mut place = u64::from(number) * bytes as u64;
                while !ended.load(Ordering::Relaxed) && file.read_at(&mut memory[from..from + bytes], place).is_ok() {
                    place = (place + 7 * bytes as u64) % (IMAGE_BYTES - bytes as u64) / 4096 * 4096;
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let threads = (0..threads).map(start).collect();
        Reads { ended, count, threads, device: None, what }
    }
}

fn image(folder: &Path) -> PathBuf {
    let image = folder.join("image");
    let chunk = vec![7; 1 << 20];
    let mut file = File::create(&image).expect("a file can be made");
    (0..IMAGE_BYTES >> 20).for_each(|_| file.write_all(&chunk).expect("a file can be written"));
    image
}

impl Load for Reads {
    fn done(&self) -> String {
        format!("{} {}", self.count.load(Ordering::Relaxed), self.what)
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
        if let Some(device) = &self.device {
            let _ = output("losetup", &["--detach", device]);
        }
    }
}
