//! The programs that are attacked, each with a folder of its own, and a process's course under stops.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::calls::Known;
use crate::remains;
use crate::sys::{self, Call, Stop};

/// A command line of the program. `RUN` is the run's directory, `FOLDER` a folder that exists.
#[derive(Debug, Clone, Copy)]
pub struct Victim {
    pub name: &'static str,
    pub words: &'static str,
}

/// Together they reach each place of the program that writes outside of its memory.
pub const VICTIMS: [Victim; 4] = [
    Victim { name: "record", words: "record --no-trace --memory 64m --interval 100ms --runtime 1300ms --out RUN" },
    Victim { name: "traced", words: "record --interval 100ms --slower-than 20ms --runtime 1200ms --out RUN" },
    Victim {
        name: "run",
        words: "run randrw --no-trace --file-size 256k --threads 2 --fsync 8 --runtime 1200ms --out RUN FOLDER",
    },
    Victim { name: "sweep", words: "sweep FOLDER/sweep.toml --out FOLDER/sweep" },
];

const SWEEP: &str = r#"name = "torture"
workload = "randrw"
repetitions = 1
noise_floor = false
settle = "0s"

[options]
no-trace = true
disk-bps = "64m"

[variables]
file_size = "256k"
runtime = "600ms"

[file_system]
kind = "ext4"
size = "24m"
place = "PLACE"

[[axis]]
name = "threads"
vary = "variable"
values = [1]
"#;

/// A victim and what belongs to it, removed with it.
pub struct Scene {
    folder: tempfile::TempDir,
    victim: Victim,
}

/// What is to be done at a call.
pub enum Verdict {
    Pass,
    Fail(i32),
    Shorten(u64),
    KillBefore(i32),
    KillAfter(i32),
}

/// How a victim ended.
pub struct Course {
    pub pid: i32,
    pub code: i32,
    pub stderr: String,
    /// When it was killed, on the monotonic clock.
    pub killed_ns: Option<u64>,
    /// Where its threads were at the limit, if some did not end within.
    pub hung: Option<String>,
}

impl Scene {
    pub fn new(victim: Victim) -> Scene {
        let folder = remains::folder();
        fs::create_dir(folder.path().join("place")).expect("a folder can be made");
        let place = folder.path().join("place").display().to_string();
        fs::write(folder.path().join("sweep.toml"), SWEEP.replace("PLACE", &place)).expect("a file can be written");
        Scene { folder, victim }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The run's directory, once it exists.
    pub fn run(&self) -> Option<PathBuf> {
        let own = self.folder.path().join("run");
        let of_sweep = || {
            let runs = ["sweep/runs", "sweep/cut-off"].map(|name| self.folder.path().join(name));
            runs.iter().flat_map(fs::read_dir).flatten().flatten().map(|entry| entry.path()).find(|path| path.is_dir())
        };
        if own.is_dir() { Some(own) } else { of_sweep() }
    }

    fn command(&self) -> Command {
        let folder = self.folder.path().display().to_string();
        let words = self.victim.words.replace("RUN", &format!("{folder}/run")).replace("FOLDER", &folder);
        let mut command = Command::new(program());
        command.args(words.split(' ')).arg("-q").current_dir(self.folder.path());
        let output = |name: &str| File::create(self.folder.path().join(name)).expect("a file can be made");
        command.stdin(Stdio::null()).stdout(output("stdout")).stderr(output("stderr"));
        command
    }

    /// Runs the victim; `judge` decides at each of the calls, with the thread and the process of the program. Other
    /// calls run at full speed.
    pub fn attack<'a>(
        &self,
        limit: Duration,
        calls: impl IntoIterator<Item = &'a Known>,
        judge: impl FnMut(i32, &Call, i32) -> Verdict,
    ) -> io::Result<Course> {
        let numbers: Vec<i64> = calls.into_iter().map(|known| known.number).collect();
        let child = sys::spawn_stopping(self.command(), &numbers)?;
        let pid = child.id() as i32;
        let watch = Watch::new(pid, limit);
        let mut course = Course { pid, code: -1, stderr: String::new(), killed_ns: None, hung: None };
        course.follow(&watch, judge);
        course.hung = watch.stop();
        course.stderr = fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default();
        Ok(course)
    }
}

impl Course {
    /// Until the last of the victim's threads has ended.
    fn follow(&mut self, watch: &Watch, mut judge: impl FnMut(i32, &Call, i32) -> Verdict) {
        let mut after: Option<i32> = None;
        while let Some((tid, stop)) = sys::next_stop() {
            match stop {
                Stop::Ended(code) => {
                    watch.ended(tid);
                    self.code = if tid == self.pid { code } else { self.code };
                }
                Stop::Signal(signal) => sys::resume(tid, signal),
                Stop::Event => {
                    watch.lives(tid);
                    sys::resume(tid, 0);
                }
                Stop::CallDone => {
                    after.take().into_iter().for_each(|victim| self.kill(victim));
                    sys::resume(tid, 0);
                }
                Stop::Call => {
                    let Some(call) = sys::call_of(tid) else { continue };
                    match judge(tid, &call, self.pid) {
                        Verdict::KillAfter(victim) => {
                            after = Some(victim);
                            sys::finish_call(tid);
                            continue;
                        }
                        Verdict::KillBefore(victim) => self.kill(victim),
                        Verdict::Fail(errno) => sys::fail_call(tid, errno),
                        Verdict::Shorten(length) => sys::shorten_call(tid, length),
                        Verdict::Pass => {}
                    }
                    sys::resume(tid, 0);
                }
            }
        }
    }
    fn kill(&mut self, victim: i32) {
        self.killed_ns = Some(monotonic_ns());
        sys::kill(victim);
    }
}

/// Kills all of a victim's processes at its limit.
struct Watch {
    threads: Arc<Mutex<BTreeSet<i32>>>,
    done: Sender<()>,
    watcher: std::thread::JoinHandle<Option<String>>,
}

impl Watch {
    fn new(pid: i32, limit: Duration) -> Watch {
        let threads = Arc::new(Mutex::new(BTreeSet::from([pid])));
        let ((done, is_done), known) = (channel(), Arc::clone(&threads));
        let watcher = std::thread::spawn(move || {
            let mut left = limit;
            let mut hung = None;
            // Again, since a process may start another meanwhile.
            while is_done.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                left = Duration::from_secs(1);
                let threads = known.lock().unwrap_or_else(PoisonError::into_inner);
                hung.get_or_insert_with(|| threads.iter().map(|tid| place_of(*tid)).collect::<Vec<_>>().join("; "));
                threads.iter().copied().for_each(sys::kill);
            }
            hung
        });
        Watch { threads, done, watcher }
    }

    fn lives(&self, tid: i32) {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).insert(tid);
    }

    fn ended(&self, tid: i32) {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).remove(&tid);
    }

    /// Where the threads were at the limit, if it was reached.
    fn stop(self) -> Option<String> {
        drop(self.done);
        self.watcher.join().unwrap_or_else(|_| Some("the watch panicked".to_owned()))
    }
}

/// A thread's name, and the innermost functions of the kernel that it is in.
fn place_of(tid: i32) -> String {
    let read = |file: &str| fs::read_to_string(format!("/proc/{tid}/{file}")).unwrap_or_default();
    let stack = read("stack");
    let functions = stack.lines().filter_map(|line| line.split_once("] ")?.1.split('+').next());
    format!("{tid} {}: {}", read("comm").trim_end(), functions.take(5).collect::<Vec<_>>().join(" < "))
}

fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The program that is attacked: the one built with the test, or another build.
pub fn program() -> PathBuf {
    let built = || env!("CARGO_BIN_EXE_stallscope").into();
    let named = std::env::var_os("PROGRAM").map_or_else(built, PathBuf::from);
    // As the kernel names it: the victims run in folders of their own.
    fs::canonicalize(&named).unwrap_or(named)
}

/// Whether a thread belongs to the program, rather than to a tool that it started.
pub fn is_ours(tid: i32) -> bool {
    let program = program();
    fs::read_link(format!("/proc/{tid}/exe")).is_ok_and(|exe| exe == program)
}

/// The process of a thread.
pub fn process_of(tid: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(tid)
}
