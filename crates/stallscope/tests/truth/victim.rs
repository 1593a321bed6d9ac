//! The recording, and the victims in it.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::actor::Done;
use crate::ground::Ground;
use crate::program::{Running, run};

/// Shorter operations are no stalls. An explanation lists the longest individually: those of other programs must not
/// displace a victim's.
const SLOW: &str = "40ms";
const SLOW_NS: u64 = 40_000_000;
/// For which a server that does not end is left to run.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(3);
/// Recorded more finely.
const RECORDED: &str = "20ms";

/// Where the recording was kept: a key of its explanation.
pub const KEPT: &str = "kept";

/// The machine, recorded while victims suffer.
pub struct Recording {
    program: Running,
    directory: PathBuf,
    stop: String,
    home: tempfile::TempDir,
}

impl Recording {
    /// What is true of the command too, which may be any.
    pub fn of(command: &[&str]) -> Value {
        let home = tempfile::tempdir_in("/dev/shm").unwrap();
        let directory = home.path().join("run").display().to_string();
        let words = ["record", "--slower-than", RECORDED, "--json", "--quiet", "--out", &directory, "--"];
        Running::start_with(&[&words[..], command].concat()).wait().expect_code(0);
        explain(Path::new(&directory))
    }

    pub fn start() -> Recording {
        Recording::start_with(&[])
    }

    /// Every wait of that process, too.
    pub fn following(pid: u32) -> Recording {
        Recording::start_with(&["--follow", &pid.to_string()])
    }

    /// The same of a victim that waits for that file, and goes on with the recording.
    pub fn following_from(victim: &Victim, ground: &Ground, go: &str) -> Recording {
        ground.wait_for(&format!("{go}.awaited"));
        let recording = Recording::following(victim.pid());
        ground.go(go);
        recording
    }

    fn start_with(more: &[&str]) -> Recording {
        let home = tempfile::tempdir_in("/dev/shm").unwrap();
        let at = |name: &str| home.path().join(name).display().to_string();
        let (directory, stop, report) = (home.path().join("run"), at("stop"), at("report"));
        let own = std::env::current_exe().unwrap();
        let script = format!("await {stop}");
        let words = ["record", "--slower-than", RECORDED, "--json", "--quiet", "--out", &at("run")];
        let command = ["--", own.to_str().unwrap(), "actor", "bystander", &report, &script];
        let began = Instant::now();
        let mut program = Running::start_with(&[&words[..], more, &command[..]].concat());
        let awaited = format!("{stop}.awaited");
        program.wait_until("the recording has begun", |_| Path::new(&awaited).exists());
        took("begin to record", began);
        Recording { program, directory, stop, home }
    }

    /// The explanation.
    pub fn explained(self) -> Value {
        let began = Instant::now();
        std::fs::write(&self.stop, "").unwrap();
        self.program.wait().expect_code(0);
        took("end the recording", began);
        let began = Instant::now();
        let mut explained = explain(&self.directory);
        took("explain it", began);
        if let Some(place) = std::env::var_os("STALLSCOPE_TRUTH") {
            explained[KEPT] = keep(&self.directory, Path::new(&place)).into();
        }
        drop(self.home);
        explained
    }
}

/// In an emulator most of a test's time may be the program's own.
fn took(what: &str, began: Instant) {
    let seconds = began.elapsed().as_secs_f64();
    if seconds > 2.0 {
        println!("        {seconds:.1} s to {what}");
    }
}

/// With all stalls: a flood of others may be longer than a victim's.
fn explain(directory: &Path) -> Value {
    let words = format!("explain {} --slower-than {SLOW} --worst 100000 --json", directory.display());
    run(&words).expect_code(0).document()
}

fn keep(run: &Path, place: &Path) -> String {
    let kept = place.join(format!("{}-{}", std::process::id(), crate::actor::now_ns())).display().to_string();
    std::fs::create_dir_all(place).unwrap();
    crate::ground::tool("cp", &["-r", run.to_str().unwrap(), &kept]);
    kept
}

/// A program that is about to stall.
pub struct Victim {
    child: Child,
    report: String,
}

/// The true cause of a stall of which only the finding is judged: any wait will do.
pub const ANY: &str = "any";

/// What is known to be true of a victim's slow operations.
#[derive(Debug, Default)]
pub struct Truth {
    pub tid: u32,
    /// The name that it gave itself, if it is a neighbour.
    pub name: Option<&'static str>,
    /// Their begin and end, on the monotonic clock.
    pub spans: Vec<(u64, u64)>,
    /// Causes, and the time that each took.
    pub parts: Vec<(&'static str, u64)>,
    /// Kind of the requests that overtook the victim's.
    pub overtaken_by: Option<&'static str>,
    /// Prefix of the name of a task that the victim waited for.
    pub waited_for: Option<&'static str>,
    /// The process that held the lock which the victim waited for in its longest stall.
    pub held_by: Option<u32>,
    /// Prefix of the name of the program that stopped it, or froze its file system, in its longest stall.
    pub stopped_by: Option<&'static str>,
    /// Least number of tasks that waited for the same holder: one finding.
    pub convoy: Option<u64>,
    /// Prefix of the name of the process that used what the victim lacked.
    pub culprit: Option<&'static str>,
    /// Prefix of the name of the script that started it.
    pub culprit_started_by: Option<&'static str>,
    /// Prefix of the name of a process that used nothing of it.
    pub innocent: Option<&'static str>,
    /// Words in the details of the longest stall or of its chain.
    pub says: Option<&'static str>,
    /// Class of the longest stall, and the end of its path.
    pub operation: Option<&'static str>,
    pub path: Option<&'static str>,
    /// Whether it had ended.
    pub finished: Option<bool>,
    /// Whether it had begun before the recording.
    pub cut: Option<bool>,
    /// It had no stall: nothing may be reported of it.
    pub quiet: bool,
}

impl Truth {
    /// With that cause alone.
    pub fn because(self, cause: &'static str) -> Truth {
        let all_ns = self.parts.iter().map(|&(_, ns)| ns).sum();
        Truth { parts: vec![(cause, all_ns)], ..self }
    }
}

impl Victim {
    pub fn start(ground: &Ground, script: &str) -> Victim {
        let report = ground.at("victim-report");
        let child = ground.actor("victim", &report, script).stdin(Stdio::null()).spawn().unwrap();
        Victim { child, report }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All its slow operations since it last waited for a signal have that cause.
    pub fn suffered(self, cause: &'static str) -> Truth {
        let (tid, slow) = self.slow();
        let all_ns = slow.iter().map(|done| done.duration_ns).sum();
        Truth { tid, spans: spans(&slow), parts: vec![(cause, all_ns)], ..Truth::default() }
    }

    /// One slow operation, due to the first cause until `until_ns` and to the second after.
    pub fn suffered_until(self, first: &'static str, until_ns: u64, second: &'static str) -> Truth {
        let (tid, slow) = self.slow();
        let [done] = &slow[..] else { panic!("one slow operation is expected: {slow:?}") };
        let before_ns = until_ns.checked_sub(done.start_ns).expect("it was slow before");
        let parts = vec![(first, before_ns), (second, done.duration_ns - before_ns)];
        Truth { tid, spans: spans(&slow), parts, ..Truth::default() }
    }

    /// It was in one call from the begin of these times to their end, and may still be: that call's cause, and how long
    /// it lasted within the recording.
    pub fn suffers(&self, cause: &'static str, (from_ns, to_ns): (u64, u64), within_ns: u64) -> Truth {
        Truth { tid: self.pid(), spans: vec![(from_ns, to_ns)], parts: vec![(cause, within_ns)], ..Truth::default() }
    }

    /// It waited for nothing that it had asked for, or for nobody who was stalled: nothing may be reported of it. A
    /// server that still runs is killed.
    pub fn idled(mut self) -> Truth {
        let began = Instant::now();
        while self.child.try_wait().unwrap().is_none() && began.elapsed() < PATIENCE {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Truth { tid: self.child.id(), spans: vec![(0, u64::MAX / 2)], quiet: true, ..Truth::default() }
    }

    fn slow(mut self) -> (u32, Vec<Done>) {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "the victim failed: {status}");
        let done = Done::all_of(&std::fs::read_to_string(&self.report).unwrap());
        let slow: Vec<Done> = done.into_iter().filter(|done| done.duration_ns >= SLOW_NS).collect();
        assert!(!slow.is_empty(), "nothing was slow");
        (self.child.id(), slow)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spans(slow: &[Done]) -> Vec<(u64, u64)> {
    slow.iter().map(|done| (done.start_ns, done.start_ns + done.duration_ns)).collect()
}
