//! What must hold after an attack: the archive answers, and the next start removes what was left.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sys;
use crate::victim::{Scene, program};

/// No command takes longer, whatever it reads.
const LIMIT: Duration = Duration::from_secs(60);

/// The answer of a command that reads.
pub struct Answer {
    /// `None`: it was stopped at the limit.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Answer {
    /// Why it is wrong whatever was read: a hang, a panic, an abort, a signal.
    pub fn broken(&self) -> Option<String> {
        match self.code {
            None => Some(format!("hung for {LIMIT:?}")),
            Some(code) if !(0..=3).contains(&code) => Some(format!("ended with {code}: {}", last_line(&self.stderr))),
            Some(_) if self.stderr.contains("panicked") => Some(format!("panicked: {}", self.stderr)),
            Some(_) => None,
        }
    }

    pub fn document(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_default()
    }

    /// The right answer of `explain` for a run without a trace.
    fn is_refusal(&self) -> bool {
        self.stderr.contains("recorded without kernel tracing")
    }

    /// When the end begins that a run that was cut off lacks.
    pub fn end_ns(&self) -> Option<u64> {
        let document = self.document();
        let lost = document["lost"].as_array()?;
        lost.iter().find(|lost| lost["what"] == "the end of the run")?["at_ns"].as_u64()
    }

    /// Its first damage, if it names any.
    fn damage(&self) -> String {
        let document = self.document();
        document["damage"].get(0).map(|damage| damage.to_string()).unwrap_or_default()
    }

    pub fn has_damage(&self) -> bool {
        self.document()["damage"].as_array().is_some_and(|damage| !damage.is_empty())
    }

    /// Whether it says what the recorder itself lost, such as events that came too fast.
    fn names_losses(&self) -> bool {
        self.document()["lost"].as_array().is_some_and(|lost| !lost.is_empty()) && !self.has_damage()
    }

    fn lacks_only_its_end(&self) -> bool {
        self.end_ns().is_some() && !self.has_damage()
    }
}

pub fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().chars().take(300).collect()
}

/// Runs a command of the program within the limit.
pub fn ask(words: &[&str], run: &Path) -> Answer {
    let output = tempfile::tempdir().expect("a folder can be made");
    let file = |name: &str| fs::File::create(output.path().join(name)).expect("a file can be made");
    let mut command = Command::new(program());
    command.arg(words[0]).arg(run).args(&words[1..]);
    command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
    let mut child = command.spawn().expect("the program starts");
    let began = Instant::now();
    let status = loop {
        match child.try_wait().expect("a child can be waited for") {
            Some(status) => break Some(status),
            None if began.elapsed() > LIMIT => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let read = |name: &str| fs::read(output.path().join(name)).unwrap_or_default();
    use std::os::unix::process::ExitStatusExt;
    let code = status.and_then(|status| status.code().or_else(|| status.signal().map(|signal| 128 + signal)));
    let stderr = String::from_utf8_lossy(&read("stderr")).into_owned();
    let mut answer = Answer { code, stdout: read("stdout"), stderr };
    if answer.is_refusal() {
        answer.code = Some(0);
    }
    answer
}

/// No command takes longer on a run of less than a mebibyte, or more memory: a build without optimization, beside other
/// work.
const QUICK: Duration = Duration::from_secs(20);
const MOST_KIB: i64 = 512 << 10;

/// Runs a command of the program on a small run; what is wrong with its end, if anything is.
pub fn ask_bounded(words: &[String], run: &Path) -> Option<String> {
    let output = tempfile::tempdir().expect("a folder can be made");
    let stderr = output.path().join("stderr");
    let mut command = Command::new(program());
    command.arg(&words[0]).arg(run).args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null());
    command.env("RUST_BACKTRACE", "1").stderr(fs::File::create(&stderr).expect("a file can be made"));
    let end = sys::run_bounded(&mut command, QUICK).expect("the program starts");
    let stderr = String::from_utf8_lossy(&fs::read(stderr).unwrap_or_default()).into_owned();
    let panic = panic_of(&stderr);
    let answer = Answer { code: end.code, stdout: Vec::new(), stderr };
    let large = (end.peak_kib > MOST_KIB).then(|| format!("took {} MiB", end.peak_kib >> 10));
    panic.or_else(|| answer.broken()).or(large)
}

/// Where a command panicked: the place, and the first functions that are not of the standard library.
fn panic_of(stderr: &str) -> Option<String> {
    let place = stderr.lines().find_map(|line| line.split_once(" panicked at "))?.1;
    let frames = stderr.lines().filter_map(|line| line.trim().split_once(": ")).map(|(_, name)| name);
    let is_ours = |name: &&str| {
        !["std::", "core::", "alloc::", "<core::", "<alloc::", "__", "rust_"].iter().any(|of| name.starts_with(of))
    };
    let frames: Vec<&str> = frames.filter(|name| name.contains("::")).filter(is_ours).take(3).collect();
    Some(format!("panicked at {place} {}", frames.join(" < ")))
}

/// Whether `check` calls what a killed writer left intact, and `show` and `explain` answer without damage, and say of a
/// run that was cut off that it lacks its end. A directory without a description is no run yet, and one clear error.
/// Returns whether it was cut off, too.
pub fn problems_of_answers(scene: &Scene) -> (Vec<String>, bool) {
    scene.run().map(|run| problems_of_run(&run)).unwrap_or_default()
}

/// The same of a run in another place.
pub fn problems_of_run(run: &Path) -> (Vec<String>, bool) {
    let is_run = run.join("run.json").exists();
    let mut problems = Vec::new();
    let mut is_cut_off = false;
    for words in [["check", "--json"], ["show", "--json"], ["explain", "--json"]] {
        let answer = ask(&words, run);
        is_cut_off |= words[0] == "check" && answer.document()["state"] == "cut_off";
        let lacks_its_end = is_cut_off && !answer.is_refusal();
        let expected = if is_run { i32::from(lacks_its_end) } else { 2 };
        let of_recorder = expected == 0 && answer.code == Some(1) && answer.names_losses();
        let wrong = (answer.code != Some(expected) && !of_recorder
            || lacks_its_end && words[0] != "check" && !answer.lacks_only_its_end())
        .then(|| {
            format!("exit code {:?}, not {expected}: {}{}", answer.code, last_line(&answer.stderr), answer.damage())
        });
        problems.extend(answer.broken().or(wrong).map(|problem| format!("{}: {problem}", words[0])));
    }
    (problems, is_cut_off)
}

/// Whether `check`, `show` and `explain` do not break, and agree about whether the run is whole. Returns what it lacks,
/// too.
pub fn problems_of_any_answers(scene: &Scene) -> (Vec<String>, Option<String>) {
    let Some(run) = scene.run() else { return (Vec::new(), None) };
    let mut problems = Vec::new();
    let mut lacks = None;
    for words in [["check", "--json"], ["show", "--json"], ["explain", "--json"]] {
        let answer = ask(&words, &run);
        problems.extend(answer.broken().map(|problem| format!("{}: {problem}", words[0])));
        if answer.code != Some(0) && lacks.is_none() {
            let said = [last_line(&answer.stderr), answer.damage()].concat();
            lacks = Some(format!("{} says {:?}: {said}", words[0], answer.code));
        }
        if answer.code == Some(1) && words[0] != "check" && answer.document()["complete"] != false {
            problems.push(format!("{}: exit code 1 without \"complete\": false", words[0]));
        }
    }
    (problems, lacks)
}

/// When the last flush ended, ns of the monotonic clock, by the times in the journal and the recent files.
pub fn last_flush_ns(run: &Path) -> Option<u64> {
    let files = fs::read_dir(run).ok()?.flatten().map(|entry| entry.path());
    let dated = files.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name == "journal" || name.starts_with("recent-")
    });
    dated.filter_map(|path| fs::read(path).ok()).filter_map(|bytes| times(&bytes).max()).max()
}

/// The times in a journal or a recent file.
pub fn times(bytes: &[u8]) -> impl Iterator<Item = u64> {
    const TIME: &[u8] = b"\"at\":{\"monotonic_ns\":";
    let found = bytes.windows(TIME.len()).enumerate().filter(|(_, window)| *window == TIME);
    found.filter_map(|(at, _)| number(&bytes[at + TIME.len()..]))
}

fn number(bytes: &[u8]) -> Option<u64> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&bytes[..digits]).ok()?.parse().ok()
}

/// What is left of the program's process after the next start: register, cgroups, mounts, loop devices, images.
pub fn leftovers(pid: i32, scene: &Scene) -> Vec<String> {
    let began = Instant::now();
    loop {
        let failed = rig::Register::open().err().map(|error| format!("the next start fails: {error}"));
        let mut left = left_of(pid, scene);
        // The kernel frees a dead process's mounts and loop devices some time after its end.
        if left.is_empty() && failed.is_none() || began.elapsed() > Duration::from_secs(5) {
            left.extend(failed);
            return left;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn left_of(pid: i32, scene: &Scene) -> Vec<String> {
    let mut left = Vec::new();
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().display().to_string()).collect()
    };
    let ours = |path: &String| path.contains(&format!("stallscope-{pid}-")) || path.contains(&format!("/{pid}-"));
    let hierarchies = rig::Hierarchies::detect(&rig::Roots::default()).ok();
    let parents = hierarchies.into_iter().flat_map(|all| [all.memory, all.blkio, all.unified]).flatten();
    let folders = parents.flat_map(|hierarchy| [hierarchy.own, hierarchy.mount]).chain(["/run/stallscope".into()]);
    left.extend(folders.flat_map(|folder| names(&folder)).filter(ours));
    left.extend(names(&scene.folder().join("place")));
    let folder = scene.folder().display().to_string();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    left.extend(mounts.lines().filter(|line| line.contains(&folder)).map(str::to_owned));
    for device in names("/sys/block".as_ref()).iter().filter(|path| path.contains("/loop")) {
        let backing = fs::read_to_string(format!("{device}/loop/backing_file")).unwrap_or_default();
        left.extend(backing.contains(&folder).then(|| format!("{device} of {}", backing.trim())));
    }
    left.sort();
    left.dedup();
    left
}
