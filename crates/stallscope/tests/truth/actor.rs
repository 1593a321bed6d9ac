//! A small program that does what its script says: the victim whose stalls are explained, and its neighbours.
//!
//! A script is lines of words. Sizes take k and m, times are in ms; `%t` is the thread's number, `%i` the
//! round's, `%f` 32 times that.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::sys::{self, Aio, Ring};
use crate::{attempts, datagrams, locks, talk};

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
    maps: HashMap<String, memmap2::MmapMut>,
    /// How they were opened, for threads that open them, too.
    opened: Vec<(String, Vec<String>)>,
    client: talk::Client,
    memory: Vec<u8>,
    ring: Option<Ring>,
    aio: Option<Aio>,
    done: Vec<Done>,
}

impl Actor {
    fn new(thread: u32) -> Actor {
        Actor {
            thread,
            files: HashMap::new(),
            maps: HashMap::new(),
            opened: Vec::new(),
            client: talk::Client::default(),
            memory: Vec::new(),
            ring: None,
            aio: None,
            done: Vec::new(),
        }
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
            ["join", procs] => {
                fs::write(procs, "0").unwrap();
                return false;
            }
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
            ["ring", ref how @ ..] => {
                self.ring = Some(Ring::new(how));
                return false;
            }
            ["ring-memory", bytes] => {
                let range = self.memory(size(bytes) as usize);
                let memory = &mut self.memory[range];
                self.ring.get_or_insert_with(|| Ring::new(&[])).register(memory);
                return false;
            }
            ["serve", point, "sleep", ms] => {
                let pause = Duration::from_millis(ms.parse().unwrap());
                crate::fuse::serve(Path::new(point), || std::thread::sleep(pause));
            }
            ["serve", point, "read", path] => {
                self.open(path, &["direct"]);
                self.write(path, 0, 1 << 20);
                crate::fuse::serve(Path::new(point), || self.read(path, 0, 1 << 20));
            }
            ["serve", point, "relay", child, report, ref work @ ..] => {
                crate::fuse::serve(Path::new(point), talk::relay(child, report, &work.join(" ")));
            }
            ["listen", path, ms, ready] => {
                sys::listen(path, Duration::from_millis(ms.parse().unwrap()), || fs::write(ready, "").unwrap());
            }
            // Writes where the file's open description is.
            ["append", path, bytes] => self.append(path, size(bytes)),
            // Other processes may use the open file.
            ["lend", path, to] => {
                let words = format!("{} {}", std::process::id(), self.files[path].as_raw_fd());
                fs::write(format!("{to}.new"), words).unwrap();
                fs::rename(format!("{to}.new"), to).unwrap();
                return false;
            }
            ["borrow", path, from] => {
                self.files.insert(path.to_owned(), borrowed(from));
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
            // By read(2), as a server reads a message.
            ["readon", path, bytes] => {
                let range = self.memory(size(bytes) as usize);
                (&self.files[path]).read_exact(&mut self.memory[range]).unwrap();
            }
            ["fsync", path] => self.files[path].sync_all().unwrap(),
            ["fdatasync", path] => self.files[path].sync_data().unwrap(),
            ["syncfs", path] => rustix::fs::syncfs(&self.files[path]).unwrap(),
            ["writeback", path] => {
                rustix::fs::fadvise(&self.files[path], 0, None, rustix::fs::Advice::DontNeed).unwrap();
            }
            ["uring", what, path, offset, bytes] => self.uring(what, path, size(offset), size(bytes)),
            ["uring-timer", ms] => self.ring().timer(ms.parse().unwrap()),
            ["aio", what, path, offset, bytes] => self.aio(what, path, size(offset), size(bytes)),
            ["aio-idle", ms] => self.aio.get_or_insert_with(Aio::new).idle(ms.parse().unwrap()),
            ["fault", path, pages] => self.fault(path, pages.parse().unwrap()),
            ["close", path] => drop(self.files.remove(path)),
            ["unmount", point] => rustix::mount::unmount(point, rustix::mount::UnmountFlags::empty()).unwrap(),
            // As mount(8) does since util-linux 2.39.
            ["mount", device, point, kind] => {
                mount(device, point, kind);
                return true;
            }
            // By a name in an open folder.
            ["unlink", folder, name] => {
                rustix::fs::unlinkat(&self.files[folder], name, rustix::fs::AtFlags::empty()).unwrap()
            }
            ["rename", folder, from, to] => {
                rustix::fs::renameat(&self.files[folder], from, &self.files[folder], to).unwrap()
            }
            ["flock", path] => rustix::fs::flock(&self.files[path], rustix::fs::FlockOperation::LockExclusive).unwrap(),
            ["reopen", path] => drop(File::open(path).unwrap()),
            ["grow", bytes] => drop(vec![1u8; size(bytes) as usize]),
            ["writeout", path] => sys::write_out(&self.files[path]),
            // Makes the pages of a mapping dirty.
            ["dirty", path] => {
                let map = self.maps.entry(path.to_owned()).or_insert_with(|| sys::map_shared(&self.files[path]));
                map.iter_mut().step_by(4096).for_each(|byte| *byte += 1);
                return false;
            }
            ["msync", path] => self.maps[path].flush().unwrap(),
            ["syncrange", path] => sys::sync_file_range(&self.files[path]).unwrap(),
            // Starts read-ahead, and does not wait for it.
            ["willneed", path] => {
                rustix::fs::fadvise(&self.files[path], 0, None, rustix::fs::Advice::WillNeed).unwrap();
                return false;
            }
            ["list", path] => {
                let _ = fs::read_dir(path).unwrap().filter(|entry| entry.as_ref().unwrap().metadata().is_ok()).count();
            }
            ["create", path] => drop(File::create_new(path).unwrap()),
            ["resize", path, bytes] => OpenOptions::new().write(true).open(path).unwrap().set_len(size(bytes)).unwrap(),
            // The other program replaces this process.
            ["become", program, ref arguments @ ..] => {
                let error = Command::new(program).args(arguments).stdout(Stdio::null()).exec();
                panic!("{program}: {error}");
            }
            ["put", path, text] => put(path, text),
            _ => return self.talk(words),
        }
        true
    }

    /// The steps with other actors.
    fn talk(&mut self, words: &[&str]) -> bool {
        match *words {
            ["shell", ref command @ ..] => {
                // It is the shell that waits, under this process's id.
                let error = Command::new("sh").args(["-c", &command.join(" ")]).exec();
                panic!("sh: {error}");
            }
            ["connect", address] => {
                self.client.connect(address);
                return false;
            }
            ["connect_by_thread", address] => {
                self.client.connect_by_thread(address);
                return false;
            }
            ["disconnect", address] => {
                self.client.disconnect(address);
                return false;
            }
            ["reconnect", address] => self.client.connect(address),
            ["reach", address] => attempts::reach(address),
            ["accept_one", address] => {
                attempts::accept_one(address);
                return false;
            }
            ["meet", address, how] => self.client.meet(address, how),
            ["ask", address, how] => self.client.ask(address, how),
            ["report", address] => self.client.report(address),
            ["ask_by_thread", address] => self.client.ask_by_thread(address),
            ["ask_for_parts", parts, address] => self.client.ask_for_parts(address, parts.parse().unwrap()),
            ["ask_for_two", address, how] => self.client.ask_for_two(address, how),
            // The lines of its script end with a semicolon.
            ["child", report, ref work @ ..] => {
                let opened: String =
                    self.opened.iter().map(|(path, how)| format!("open {path} {}\n", how.join(" "))).collect();
                self.client.start_child(report, &format!("{opened}{}", work.join(" ").replace(';', "\n")));
                return false;
            }
            ["await_child"] => self.client.await_child(),
            ["fill_child", times] => self.client.fill_child(times.parse().unwrap()),
            ["spawn", path] => {
                // posix_spawn: the parent waits until the child executes the program.
                drop(Command::new(path).spawn().unwrap());
            }
            ["ask_child"] => self.client.ask_child(),
            ["enqueue", queue] => sys::Queue::send(queue.parse().unwrap()),
            ["dequeue", queue, ref work @ ..] => {
                _ = self.step(work);
                sys::Queue::receive(queue.parse().unwrap());
            }
            ["answer", address, ref work @ ..] => talk::serve(address, 1, || _ = self.step(work)),
            ["answer_datagrams", address, ref work @ ..] => datagrams::serve(address, || _ = self.step(work)),
            ["swallow_datagrams", times, address] => datagrams::swallow(address, times.parse().unwrap()),
            ["answer_rows", address, patience_ms] => {
                talk::serve_rows(address, Duration::from_millis(patience_ms.parse().unwrap()));
            }
            ["forward", address, server] => talk::forward(address, server),
            ["answer_in_turn", address, ref work @ ..] => {
                let work: Vec<String> = work.iter().map(|word| (*word).to_owned()).collect();
                talk::serve_in_turn(address, || {
                    let (mut actor, work) = (Actor::new(1), work.clone());
                    move || _ = actor.step(&work.iter().map(String::as_str).collect::<Vec<_>>())
                });
            }
            ["greet", address, ref work @ ..] => talk::greet(address, || _ = self.step(work)),
            ["admit", address, ref work @ ..] => talk::admit_slowly(address, || _ = self.step(work)),
            ["answer_in_two", address, ref work @ ..] => talk::serve(address, 2, || _ = self.step(work)),
            ["answer_in_parts", parts, address, ref work @ ..] => {
                talk::serve_slowly(address, parts.parse().unwrap(), || _ = self.step(work));
            }
            ["answer_with_pool", address, ref work @ ..] => {
                let opened = &self.opened;
                talk::serve_with_pool(address, |number| {
                    let mut actor = Actor::new(number);
                    opened.iter().for_each(|(path, how)| {
                        actor.open(path, &how.iter().map(String::as_str).collect::<Vec<_>>());
                    });
                    move || _ = actor.step(work)
                });
            }
            ["answer_by_thread", address, ref work @ ..] => {
                let mut actor = Actor::new(1);
                self.opened.iter().for_each(|(path, how)| {
                    actor.open(path, &how.iter().map(String::as_str).collect::<Vec<_>>());
                });
                talk::serve_by_thread(address, move || _ = actor.step(work));
            }
            ["by_thread", ref work @ ..] => {
                let mut actor = Actor::new(1);
                self.opened.iter().for_each(|(path, how)| {
                    actor.open(path, &how.iter().map(String::as_str).collect::<Vec<_>>());
                });
                talk::by_thread(|| _ = actor.step(work));
            }
            // In a thread, for whose end it waits.
            ["join", ref work @ ..] => std::thread::scope(|scope| {
                let mut actor = Actor::new(1);
                self.opened.iter().for_each(|(path, how)| {
                    actor.open(path, &how.iter().map(String::as_str).collect::<Vec<_>>());
                });
                scope.spawn(move || _ = actor.step(work)).join().unwrap();
            }),
            ["drain_parent", ref work @ ..] => talk::drain_parent(|| _ = self.step(work)),
            // One thread of the actor at a time.
            ["in_turn", ref work @ ..] => talk::in_turn(|| _ = self.step(work)),
            ["hand_out", worker, times, ref work @ ..] => {
                talk::hand_out(worker, times.parse().unwrap(), || _ = self.step(work));
            }
            ["answer_parent", ref work @ ..] => talk::serve_parent(|| _ = self.step(work)),
            ["think", ms] => {
                let (began, enough) = (Instant::now(), Duration::from_millis(ms.parse().unwrap()));
                while began.elapsed() < enough {
                    std::hint::spin_loop();
                }
            }
            ["lock", how, path] => locks::take(how, &self.files[path]),
            ["take_name", path] => attempts::until(|| File::create_new(path)),
            ["take_folder", path] => attempts::until(|| fs::create_dir(path)),
            ["drop_name", path] => fs::remove_file(path).unwrap(),
            ["ensure", path] => attempts::ensure_folder(path),
            ["try", path] => _ = locks::is_taken(&self.files[path]),
            ["unlock", how, path] => {
                locks::release(how, &self.files[path]);
                return false;
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
            "" => OFlags::empty(),
            word => panic!("no such way to open a file: {word}"),
        };
        let flags: OFlags = how.iter().map(flag).collect();
        let is_directory = Path::new(path).is_dir();
        let mut options = OpenOptions::new();
        options.read(true).write(!is_directory).create(!is_directory).custom_flags(flags.bits() as i32);
        self.opened.push((path.to_owned(), how.iter().map(|word| (*word).to_owned()).collect()));
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

    fn ring(&mut self) -> &mut Ring {
        self.ring.get_or_insert_with(|| Ring::new(&[]))
    }

    /// Submits with one system call, and takes the completion with another.
    fn uring(&mut self, what: &str, path: &str, offset: u64, bytes: u64) {
        let range = self.memory(bytes as usize);
        let ring = self.ring.get_or_insert_with(|| Ring::new(&[]));
        let memory = &mut self.memory[range];
        match what {
            "read" => assert_eq!(ring.read(&self.files[path], memory, offset), bytes as i32),
            "write" => assert_eq!(ring.write(&self.files[path], memory, offset), bytes as i32),
            "fsync" => assert_eq!(ring.fsync(&self.files[path]), 0),
            "writes" => ring.write_linked(&self.files[path], memory, offset),
            "create" => assert!(ring.create(path) >= 0),
            _ => panic!("no such operation: {what}"),
        }
    }

    fn aio(&mut self, what: &str, path: &str, offset: u64, bytes: u64) {
        let range = self.memory(bytes as usize);
        let aio = self.aio.get_or_insert_with(Aio::new);
        let expected = if what == "fsync" { 0 } else { bytes as i64 };
        assert_eq!(aio.run(what, &self.files[path], &mut self.memory[range], offset), expected, "{path}");
    }

    fn append(&mut self, path: &str, bytes: u64) {
        let range = self.memory(bytes as usize);
        (&self.files[path]).write_all(&self.memory[range]).unwrap();
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

fn mount(device: &str, point: &str, kind: &str) {
    use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags};
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).unwrap();
    rustix::mount::fsconfig_set_string(context.as_fd(), "source", device).unwrap();
    rustix::mount::fsconfig_create(context.as_fd()).unwrap();
    let flags = (FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty());
    let mounted = rustix::mount::fsmount(context.as_fd(), flags.0, flags.1).unwrap();
    let move_flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    rustix::mount::move_mount(mounted.as_fd(), "", rustix::fs::CWD, point, move_flags).unwrap();
}

/// The open file of another process that `lend` made known.
fn borrowed(from: &str) -> File {
    let text = fs::read_to_string(from).unwrap();
    let (pid, fd) = text.split_once(' ').expect("a process and a descriptor");
    let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).expect("a process");
    let process = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
    let flags = rustix::process::PidfdGetfdFlags::empty();
    rustix::process::pidfd_getfd(process, fd.parse().unwrap(), flags).unwrap().into()
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

/// Writes to a file of the kernel's. The limit of a memory cgroup is refused when so many attempts to reclaim found
/// nothing to free.
fn put(path: &str, text: &str) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    while let Err(error) = file.write_all(text.as_bytes()) {
        assert_eq!(error.kind(), std::io::ErrorKind::ResourceBusy, "{path}: {error}");
    }
}
