//! A small program that does what its script says: the victim whose stalls are explained, and its neighbours.
//!
//! A script is lines of words. Sizes take k and m, times are in ms; `%t` is the thread's number, `%i` the
//! round's, `%f` 32 times that.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::sys;

/// Direct I/O needs aligned memory.
const ALIGNMENT: usize = 4096;
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// What an actor did, by its own clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub step: String,
    pub start_ns: u64,
    pub duration_ns: u64,
}

impl Done {
    /// The lines of an actor's report.
    pub fn all_of(report: &str) -> Vec<Done> {
        let line = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let mut number = || words.next()?.parse().ok();
            let (start_ns, duration_ns) = (number()?, number()?);
            Some(Done { step: words.next()?.to_owned(), start_ns, duration_ns })
        };
        report.lines().map(|text| line(text).unwrap_or_else(|| panic!("a line of a report: {text}"))).collect()
    }
}

/// `NAME REPORT SCRIPT`: the name that the kernel knows the actor by, where its report goes, and what it does.
pub fn run(arguments: &[String]) {
    let [name, report, script] = arguments else { panic!("an actor has a name, a report and a script: {arguments:?}") };
    // Some scripts run forever.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
    rustix::thread::set_name(&std::ffi::CString::new(name.as_str()).unwrap()).unwrap();
    let lines: Vec<&str> = script.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let threads = lines.iter().find_map(|line| line.strip_prefix("threads ")).map_or(1, |text| text.parse().unwrap());
    std::thread::scope(|scope| {
        for thread in 1..threads {
            let (lines, report) = (&lines, format!("{report}.{thread}"));
            scope.spawn(move || Actor::new(thread).run(lines, Path::new(&report)));
        }
        Actor::new(0).run(&lines, Path::new(report));
    });
}

struct Actor {
    thread: u32,
    files: HashMap<String, File>,
    memory: Vec<u8>,
    done: Vec<Done>,
}

impl Actor {
    fn new(thread: u32) -> Actor {
        Actor { thread, files: HashMap::new(), memory: Vec::new(), done: Vec::new() }
    }

    fn run(mut self, lines: &[&str], report: &Path) {
        let mut lines = lines.iter();
        while let Some(line) = lines.next() {
            let (times, ms) = match line.split_once(' ') {
                Some(("times", times)) => (times.parse().unwrap(), u64::MAX),
                Some(("during", ms)) => (u64::MAX, ms.parse().unwrap()),
                _ if *line == "forever" => (u64::MAX, u64::MAX),
                _ => {
                    self.line(line, 0);
                    continue;
                }
            };
            // Up to the line that ends the loop, or the script.
            let body: Vec<&&str> = lines.by_ref().take_while(|line| **line != "then").collect();
            let (began, enough) = (Instant::now(), Duration::from_millis(ms));
            (0..times)
                .take_while(|_| began.elapsed() < enough)
                .for_each(|round| body.iter().for_each(|line| self.line(line, round)));
        }
        let line = |done: &Done| format!("{} {} {}\n", done.start_ns, done.duration_ns, done.step);
        fs::write(report, self.done.iter().map(line).collect::<String>()).unwrap();
    }

    fn line(&mut self, line: &str, round: u64) {
        let line = line
            .replace("%t", &self.thread.to_string())
            .replace("%i", &round.to_string())
            .replace("%f", &(round * 32).to_string());
        let words: Vec<&str> = line.split(' ').collect();
        let (start_ns, began) = (now_ns(), Instant::now());
        let is_operation = self.step(&words);
        if is_operation {
            let duration_ns = began.elapsed().as_nanos() as u64;
            self.done.push(Done { step: line, start_ns, duration_ns });
            // Nobody reads the report of a neighbour that runs forever.
            self.done.truncate(10_000);
        }
    }

    /// Whether this was a single call of the kernel that may stall.
    fn step(&mut self, words: &[&str]) -> bool {
        match *words {
            ["threads", _] => return false,
            ["open", path, ref how @ ..] => {
                self.open(path, how);
                return false;
            }
            ["await", path] => {
                fs::write(format!("{path}.awaited"), "").unwrap();
                let path = Path::new(path);
                while !path.exists() {
                    // The test has ended.
                    assert!(path.parent().is_some_and(Path::exists), "{} is gone", path.display());
                    std::thread::sleep(POLL_INTERVAL);
                }
                // Steps before this one were preparation.
                self.done.clear();
                return false;
            }
            ["signal", path] => {
                fs::write(path, "").unwrap();
                return false;
            }
            ["sleep", ms] => {
                std::thread::sleep(Duration::from_millis(ms.parse().unwrap()));
                return false;
            }
            ["memory", bytes] => {
                self.memory(size(bytes) as usize);
                return false;
            }
            ["spin"] => {
                std::hint::spin_loop();
                return false;
            }
            ["pin"] => {
                pin();
                return false;
            }
            ["realtime"] => {
                // Other tasks must not preempt it.
                crate::ground::tool("chrt", &["--fifo", "--pid", "1", &std::process::id().to_string()]);
                return false;
            }
            ["unimportant"] => {
                // The lowest weight of BFQ above the idle class.
                crate::ground::tool("ionice", &["-c", "2", "-n", "7", "-p", &std::process::id().to_string()]);
                return false;
            }
            ["nice", level] => {
                rustix::process::setpriority_process(None, level.parse().unwrap()).unwrap();
                return false;
            }
            ["write", path, offset, bytes] => self.write(path, size(offset), size(bytes)),
            ["read", path, offset, bytes] => self.read(path, size(offset), size(bytes)),
            ["fsync", path] => self.files[path].sync_all().unwrap(),
            ["fdatasync", path] => self.files[path].sync_data().unwrap(),
            ["syncfs", path] => rustix::fs::syncfs(&self.files[path]).unwrap(),
            ["writeback", path] => {
                rustix::fs::fadvise(&self.files[path], 0, None, rustix::fs::Advice::DontNeed).unwrap();
            }
            ["fault", path, pages] => self.fault(path, pages.parse().unwrap()),
            ["create", path] => drop(File::create_new(path).unwrap()),
            ["resize", path, bytes] => OpenOptions::new().write(true).open(path).unwrap().set_len(size(bytes)).unwrap(),
            // The other program replaces this process.
            ["become", program, ref arguments @ ..] => {
                let error = Command::new(program).args(arguments).stdout(Stdio::null()).exec();
                panic!("{program}: {error}");
            }
            ["put", path, text] => {
                OpenOptions::new().write(true).open(path).unwrap().write_all(text.as_bytes()).unwrap()
            }
            _ => panic!("no such step: {words:?}"),
        }
        true
    }

    fn open(&mut self, path: &str, how: &[&str]) {
        let flag = |word: &&str| match *word {
            "direct" => OFlags::DIRECT,
            "sync" => OFlags::DSYNC,
            "fresh" => OFlags::TRUNC,
            word => panic!("no such way to open a file: {word}"),
        };
        let flags: OFlags = how.iter().map(flag).collect();
        let is_directory = Path::new(path).is_dir();
        let mut options = OpenOptions::new();
        options.read(true).write(!is_directory).create(!is_directory).custom_flags(flags.bits() as i32);
        self.files.insert(path.to_owned(), options.open(path).unwrap_or_else(|error| panic!("{path}: {error}")));
    }

    /// Aligned memory of `bytes`, all of it touched.
    fn memory(&mut self, bytes: usize) -> std::ops::Range<usize> {
        if self.memory.len() < bytes + ALIGNMENT {
            self.memory = vec![1; bytes + ALIGNMENT];
        }
        let skip = self.memory.as_ptr().align_offset(ALIGNMENT);
        skip..skip + bytes
    }

    fn write(&mut self, path: &str, offset: u64, bytes: u64) {
        let range = self.memory(bytes as usize);
        let written = self.files[path].write_at(&self.memory[range], offset).unwrap();
        assert_eq!(written as u64, bytes, "{path}");
    }

    fn read(&mut self, path: &str, offset: u64, bytes: u64) {
        let range = self.memory(bytes as usize);
        let read = self.files[path].read_at(&mut self.memory[range], offset).unwrap();
        assert_eq!(read as u64, bytes, "{path}");
    }

    /// Touches pages far apart, in an order that defeats readahead.
    fn fault(&mut self, path: &str, pages: u64) {
        let map = sys::map(&self.files[path]);
        let stride = map.len() as u64 / pages / 4096;
        for index in 0..pages {
            let page = index * 7 % pages * stride;
            std::hint::black_box(map[page as usize * 4096]);
        }
    }
}

/// All pinned tasks share the last CPU.
fn pin() {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let last = (0..rustix::thread::CpuSet::MAX_CPU).rfind(|&cpu| allowed.is_set(cpu)).expect("a CPU");
    let mut last_alone = rustix::thread::CpuSet::new();
    last_alone.set(last);
    rustix::thread::sched_setaffinity(None, &last_alone).unwrap();
}

/// `64k`, `2m`, `512`.
fn size(text: &str) -> u64 {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'm') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<u64>().unwrap_or_else(|_| panic!("no size: {text}")) * unit
}

/// The monotonic clock.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
