//! `top`: a terminal's screen of a run, live or ended.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::stage::program::{Running, run};
use crate::stage::{Disk, Frozen, folder, is_root};

/// Escape sequences that leave the alternate screen and show the cursor.
const GIVEN_BACK: [&str; 2] = ["\x1b[?1049l", "\x1b[?25h"];

/// `top` on a terminal that `script` makes for it; dropping it kills it.
struct OnTerminal {
    script: Child,
    output: tempfile::TempDir,
}

impl OnTerminal {
    fn start(words: &str) -> OnTerminal {
        let output = tempfile::tempdir().unwrap();
        let words = format!("stty rows 40 cols 160; exec {} {words}", env!("CARGO_BIN_EXE_stallscope"));
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-f", "-c", &words, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR");
        let file = std::fs::File::create(output.path().join("screen")).unwrap();
        let script = command.stdin(Stdio::piped()).stdout(file).spawn().unwrap();
        OnTerminal { script, output }
    }

    fn press(&mut self, keys: &str) {
        let keyboard = self.script.stdin.as_mut().unwrap();
        keyboard.write_all(keys.as_bytes()).unwrap();
        keyboard.flush().unwrap();
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.output.path().join("screen")).unwrap()).into_owned()
    }

    /// One word: the cursor skips cells that stay blank, so words are not adjacent in the output.
    #[track_caller]
    fn wait_for(&self, words: &str) {
        let began = Instant::now();
        while !self.screen().contains(words) {
            assert!(began.elapsed() < Duration::from_secs(180), "timed out: {words}\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The program: the shell executed it in the same process.
    fn pid(&self) -> Pid {
        let script = self.script.id();
        let children = std::fs::read_to_string(format!("/proc/{script}/task/{script}/children")).unwrap();
        Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
    }

    #[track_caller]
    fn expect_end(mut self, code: i32) -> String {
        let began = Instant::now();
        loop {
            if let Some(status) = self.script.try_wait().unwrap() {
                assert_eq!(status.code(), Some(code), "{}", self.screen());
                let screen = self.screen();
                assert!(GIVEN_BACK.iter().all(|sequence| screen.contains(sequence)), "{screen:?}");
                return screen;
            }
            assert!(began.elapsed() < Duration::from_secs(180), "it does not end\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

/// A small run of this machine.
fn record(folder: &Path) -> String {
    let directory = folder.join("run").display().to_string();
    let ended = run(&format!("record --no-trace --interval 100ms --runtime 1s --quiet --out {directory}"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    directory
}

#[test]
fn the_terminal_is_restored_however_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let directory = record(folder.path());
    let mut by_key = OnTerminal::start(&format!("top {directory}"));
    by_key.wait_for("STUCK");
    by_key.press("?");
    by_key.wait_for("return");
    by_key.press("xq");
    by_key.expect_end(0);

    let mut interrupted = OnTerminal::start(&format!("top {directory}"));
    interrupted.wait_for("STUCK");
    interrupted.press("\x03");
    interrupted.expect_end(130);

    let terminated = OnTerminal::start(&format!("top {directory}"));
    terminated.wait_for("STUCK");
    kill_process(terminated.pid(), Signal::TERM).unwrap();
    terminated.expect_end(130);
}

/// A closed window. A reader that misses it would read nothing forever, using a whole CPU.
#[test]
fn it_ends_when_its_terminal_closes() {
    let folder = tempfile::tempdir().unwrap();
    let orphan = OnTerminal::start(&format!("top {}", record(folder.path())));
    orphan.wait_for("STUCK");
    let process = rustix::process::pidfd_open(orphan.pid(), rustix::process::PidfdFlags::empty()).unwrap();
    drop(orphan);
    let mut ended = [rustix::event::PollFd::new(&process, rustix::event::PollFlags::IN)];
    let patience = rustix::event::Timespec { tv_sec: 120, tv_nsec: 0 };
    let gone = rustix::event::poll(&mut ended, Some(&patience)).unwrap();
    if gone == 0 {
        let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
    }
    assert_eq!(gone, 1, "it still runs");
}

#[test]
fn without_a_terminal_it_names_alternatives_and_once_needs_none() {
    let folder = tempfile::tempdir().unwrap();
    let directory = record(folder.path());
    let ended = run(&format!("top {directory}")).expect_code(2);
    assert!(["--once", "show", "explain"].iter().all(|word| ended.stderr.contains(word)), "{}", ended.stderr);
    let document = run(&format!("top --once --json {directory}")).expect_code(0).document();
    assert!(document["memory"]["total_bytes"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{document}");
    assert_eq!((&document["traced"], document["stuck"].as_array().map(Vec::len)), (&false.into(), Some(0)));
    let text = run(&format!("top --once --at start --window 500ms {directory}")).expect_code(0).stdout;
    assert!(text.contains("STUCK NOW") && text.contains("the kernel is not traced"), "{text}");
    run("top --once /nowhere").expect_code(2);
}

/// The stuck task is a foreign program, so only the kernel reports it.
#[test]
fn a_task_stuck_on_a_frozen_file_system_is_shown() {
    if !is_root("freezing a file system, and tracing") {
        return;
    }
    let (folder, disk) = (folder(), Disk::xfs());
    let directory = folder.path().join("run");
    let mut recorder = Running::start(&format!("record --slower-than 200ms --quiet --out {}", directory.display()));
    recorder.wait_until("it records", |_| directory.join("journal").exists());
    let frozen = Frozen::new(disk.path());
    let mut stuck = Command::new("touch").arg(disk.path().join("x")).spawn().unwrap();
    let name = format!("touch/{}", stuck.id());
    let mut screen = OnTerminal::start(&format!("top {}", directory.display()));
    screen.wait_for(&name);
    screen.wait_for("frozen");
    // The full row, with the stack.
    screen.press("\t\t\r");
    screen.wait_for("mnt_want_write");
    let document = run(&format!("top --once --json {}", directory.display())).expect_code(0).document();
    let is_it = |task: &serde_json::Value| task["tid"] == stuck.id();
    assert!(document["stuck"].as_array().unwrap().iter().any(is_it), "{document:#}");
    // Other tasks of this machine may have waited longer, for something else.
    let causes = document["causes"].as_array().unwrap();
    assert!(causes.iter().any(|cause| cause["cause"] == "frozen"), "{document:#}");
    drop(frozen);
    stuck.wait().unwrap();
    screen.press("q");
    screen.press("q");
    screen.expect_end(0);
    recorder.signal(Signal::INT);
    recorder.wait().expect_code(0);
}

/// A live sample does not go through a disk, so it shows stuck tasks in any case.
#[test]
fn a_live_sample_shows_stuck_tasks() {
    if !is_root("freezing a file system, and tracing") {
        return;
    }
    let disk = Disk::xfs();
    let frozen = Frozen::new(disk.path());
    let mut stuck = Command::new("touch").arg(disk.path().join("x")).spawn().unwrap();
    let document = run("top --once --json --window 4s").expect_code(0).document();
    drop(frozen);
    stuck.wait().unwrap();
    let is_it = |task: &serde_json::Value| task["task"] == format!("touch/{}", stuck.id());
    let seen = document["stuck"].as_array().unwrap().iter().find(|task| is_it(task));
    let frames = seen.unwrap_or_else(|| panic!("{document:#}"))["frames"].to_string();
    assert!(frames.contains("mnt_want_write"), "{frames}");
}

/// A wait before the window names its request, which was read for the window alone: each moment of a whole run seemed
/// incomplete.
#[test]
fn no_moment_of_a_whole_run_is_incomplete() {
    if !is_root("tracing") {
        return;
    }
    let (folder, disk) = (folder(), Disk::ext4(64 << 20));
    let out = folder.path().join("run").display().to_string();
    let file = disk.path().join("file").display().to_string();
    let script =
        format!("for n in 1 2 3 4 5 6; do dd if=/dev/zero of={file} bs=1M count=8 conv=fsync; sleep 0.7; done");
    let words = ["record", "-q", "--slower-than", "1ms", "--out", &out, "--", "sh", "-c", &script];
    Running::start_with(&words).wait().expect_code(0);
    for at in ["2s", "3s", "4s"] {
        let shown = run(&format!("top {out} --once --window 1s --at {at}")).expect_code(0).stdout;
        assert!(!shown.contains("incomplete"), "{at}: {shown}");
    }
}
