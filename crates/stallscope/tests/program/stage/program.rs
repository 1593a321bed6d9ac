//! The program as a process.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// No program of a test takes longer, also on a busy machine.
const DEADLINE: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The program, running. Dropping it kills it.
pub struct Running {
    child: Child,
    began: Instant,
    output: tempfile::TempDir,
}

/// How the program ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

/// Runs the program to its end. Words are separated by blanks; no path in these tests contains one.
pub fn run(words: &str) -> Ended {
    Running::start(words).wait()
}

impl Running {
    pub fn start(words: &str) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
        command.args(words.split_whitespace());
        Running::spawn(command)
    }

    /// With arguments that contain blanks.
    pub fn start_with(arguments: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
        command.args(arguments);
        Running::spawn(command)
    }

    pub fn spawn(mut command: Command) -> Running {
        let output = tempfile::tempdir().unwrap();
        let file = |name: &str| File::create(output.path().join(name)).unwrap();
        command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
        let child = command.spawn().unwrap();
        Running { child, began: Instant::now(), output }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn stdout(&self) -> String {
        fs::read_to_string(self.output.path().join("stdout")).unwrap()
    }

    pub fn stderr(&self) -> String {
        fs::read_to_string(self.output.path().join("stderr")).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until something holds. The program must not end before.
    pub fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&Running) -> bool) {
        while !holds(self) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "ended ({ended:?}) before: {what}\n{}\n{}", self.stdout(), self.stderr());
            assert!(self.began.elapsed() < DEADLINE, "timed out: {what}\n{}\n{}", self.stdout(), self.stderr());
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Repeats an action until the program ends.
    pub fn keep_doing(&mut self, mut something: impl FnMut(&Running)) {
        while self.child.try_wait().unwrap().is_none() && self.began.elapsed() < DEADLINE {
            something(self);
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until simoop's measured run has begun.
    pub fn wait_for_the_run(&mut self) {
        self.wait_until("the warm-up is over", |program| {
            program.stdout().contains("Warmup complete") || program.stderr().contains("Warmup complete")
        });
    }

    /// Waits until the description of its run exists.
    pub fn wait_for_the_archive(&mut self, run_directory: &Path) {
        let description: PathBuf = run_directory.join("run.json");
        self.wait_until("the archive is open", |_| description.exists());
    }

    /// Waits for the end. A panic of the program is an error of its own.
    pub fn wait(mut self) -> Ended {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(self.began.elapsed() < DEADLINE, "it does not end\n{}\n{}", self.stdout(), self.stderr());
            std::thread::sleep(POLL_INTERVAL);
        };
        let ended =
            Ended { code: status.code(), stdout: self.stdout(), stderr: self.stderr(), took: self.began.elapsed() };
        assert!(!ended.stderr.contains("panicked at"), "{}", ended.stderr);
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its register entry is locked until its last thread ends, and is not swept before.
        let _ = self.child.kill();
        let began = Instant::now();
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) && began.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Ended {
    /// A busy machine may lose events of any recording: where nothing else is wrong, reading it counts as success.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Ended {
        let found = if self.lacks_only_what_was_lost() { Some(0) } else { self.code };
        assert!(
            self.code == Some(code) || found == Some(code),
            "exit code {:?} instead of {code}; stdout:\n{}\nstderr:\n{}",
            self.code,
            self.stdout,
            self.stderr
        );
        self
    }

    fn lacks_only_what_was_lost(&self) -> bool {
        let document = || serde_json::from_str::<Value>(&self.stdout).unwrap_or_default();
        let has = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
        let lost = || {
            let document = document();
            has(&document["lost"]) && !has(&document["damage"])
        };
        let says = self.stdout.starts_with("INCOMPLETE: the recording of ");
        let exported = self.stderr.contains(": incomplete: the recording lost data");
        // Beside a command, and with -q.
        let aside = self.stderr.contains("INCOMPLETE: the recording of ") || self.stderr.contains(": incomplete: ");
        self.code == Some(1) && (says || exported || aside || lost())
    }

    /// Standard output as the one JSON document that it must be.
    #[track_caller]
    pub fn document(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in:\n{}\nstderr:\n{}", self.stdout, self.stderr))
    }

    /// The one error, the last line of standard error.
    #[track_caller]
    pub fn error(&self) -> &str {
        let lines: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("stallscope: ")).collect();
        assert_eq!(lines.len(), 1, "one error is expected:\n{}", self.stderr);
        lines[0]
    }
}
