//! The recording, and the victims in it.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::actor::Done;
use crate::ground::{Ground, actor};
use crate::program::{Running, run};

/// Shorter operations are no stalls. An explanation lists the longest individually: those of other programs must not displace
/// a victim's.
const SLOW: &str = "40ms";
const SLOW_NS: u64 = 40_000_000;
/// Recorded more finely.
const RECORDED: &str = "20ms";

/// The machine, recorded while victims suffer.
pub struct Recording {
    program: Running,
    directory: PathBuf,
    stop: String,
    home: tempfile::TempDir,
}

impl Recording {
    pub fn start() -> Recording {
        let home = tempfile::tempdir_in("/dev/shm").unwrap();
        let at = |name: &str| home.path().join(name).display().to_string();
        let (directory, stop, report) = (home.path().join("run"), at("stop"), at("report"));
        let own = std::env::current_exe().unwrap();
        let script = format!("await {stop}");
        let words = ["record", "--slower-than", RECORDED, "--json", "--quiet", "--out", &at("run"), "--"];
        let command = [own.to_str().unwrap(), "actor", "bystander", &report, &script];
        let mut program = Running::start_with(&[&words[..], &command[..]].concat());
        let awaited = format!("{stop}.awaited");
        program.wait_until("the recording has begun", |_| Path::new(&awaited).exists());
        Recording { program, directory, stop, home }
    }

    /// The explanation.
    pub fn explained(self) -> Value {
        std::fs::write(&self.stop, "").unwrap();
        self.program.wait().expect_code(0);
        let explained =
            run(&format!("explain {} --slower-than {SLOW} --json", self.directory.display())).expect_code(0).document();
        if let Some(place) = std::env::var_os("STALLSCOPE_TRUTH") {
            keep(&self.directory, Path::new(&place));
        }
        drop(self.home);
        explained
    }
}

fn keep(run: &Path, place: &Path) {
    let name = format!("{}-{}", std::process::id(), crate::actor::now_ns());
    std::fs::create_dir_all(place).unwrap();
    crate::ground::tool("cp", &["-r", run.to_str().unwrap(), place.join(name).to_str().unwrap()]);
}

/// A program that is about to stall.
pub struct Victim {
    child: Child,
    report: String,
}

/// What is known to be true of a victim's slow operations.
#[derive(Debug)]
pub struct Truth {
    pub tid: u32,
    /// Their begin and end, on the monotonic clock.
    pub spans: Vec<(u64, u64)>,
    /// Causes, and the time that each took.
    pub parts: Vec<(&'static str, u64)>,
    /// Kind of the requests that overtook the victim's.
    pub overtaken_by: Option<&'static str>,
    /// Prefix of the name of a task that the victim waited for.
    pub waited_for: Option<&'static str>,
}

impl Victim {
    pub fn start(ground: &Ground, script: &str) -> Victim {
        let report = ground.at("victim-report");
        let child = actor("victim", &report, script).stdin(Stdio::null()).spawn().unwrap();
        Victim { child, report }
    }

    /// All its slow operations since it last waited for a signal have that cause.
    pub fn suffered(self, cause: &'static str) -> Truth {
        let (tid, slow) = self.slow();
        let all_ns = slow.iter().map(|done| done.duration_ns).sum();
        Truth { tid, spans: spans(&slow), parts: vec![(cause, all_ns)], overtaken_by: None, waited_for: None }
    }

    /// One slow operation, due to the first cause until `until_ns` and to the second after.
    pub fn suffered_until(self, first: &'static str, until_ns: u64, second: &'static str) -> Truth {
        let (tid, slow) = self.slow();
        let [done] = &slow[..] else { panic!("one slow operation is expected: {slow:?}") };
        let before_ns = until_ns.checked_sub(done.start_ns).expect("it was slow before");
        let parts = vec![(first, before_ns), (second, done.duration_ns - before_ns)];
        Truth { tid, spans: spans(&slow), parts, overtaken_by: None, waited_for: None }
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
