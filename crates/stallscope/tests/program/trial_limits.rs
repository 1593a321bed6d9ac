//! `trial` on a load under a limit: guards that trip, and a remedy that is tried to the end.

use std::fs;
use std::path::PathBuf;

use rig::{Entry, Register, Resource};
use serde_json::Value;

use crate::stage::{self, Disk, Ended, Running, disk::text, number};

/// A load on a disk with a write limit, and the trial of a lower or a higher one.
struct Limited {
    disk: Disk,
    folder: tempfile::TempDir,
    rules: PathBuf,
    register: Register,
    /// The limit: the next start removes that of a test that was killed.
    entries: Vec<Entry>,
}

impl Limited {
    /// `None` where there is no such limit.
    fn new(bytes_per_s: u64) -> Option<Limited> {
        let rules = PathBuf::from("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device");
        if !stage::is_root("a throttle rule") || !rules.exists() {
            println!("skipped: no blkio controller of cgroup v1");
            return None;
        }
        let (disk, (register, _)) = (Disk::ext4(64 << 20), Register::open().unwrap());
        let rule = Resource::ThrottleRule { file: rules.clone(), device: disk.number().to_owned(), value: bytes_per_s };
        let entries = vec![register.enter(rule).unwrap()];
        let limited = Limited { disk, folder: stage::folder(), rules, register, entries };
        fs::write(&limited.rules, format!("{} {bytes_per_s}", limited.disk.number())).unwrap();
        Some(limited)
    }

    fn set(&self, bytes_per_s: u64) -> String {
        format!("--set={}={} {bytes_per_s}", self.rules.display(), self.disk.number())
    }

    fn rule(&self) -> String {
        let number = format!("{} ", self.disk.number());
        let rules = fs::read_to_string(&self.rules).unwrap();
        rules.lines().find_map(|line| line.strip_prefix(&number)).unwrap_or_default().to_owned()
    }

    /// Direct writes of 64 KiB, back to back.
    fn load(&self) -> String {
        let file = format!("{}/x", text(self.disk.path()));
        format!("while :; do dd if=/dev/zero of={file} bs=64k count=400 oflag=direct conv=notrunc 2>/dev/null; done")
    }

    fn run(&self, command: &str, words: &[&str]) -> Ended {
        let out = format!("--out={}", text(&self.folder.path().join(command)));
        let load = self.load();
        let first = [command, &out, "--interval=100ms", "--slower-than=5ms", "-q"];
        let all: Vec<&str> = first.iter().chain(words).copied().chain(["--", "sh", "-c", &load]).collect();
        Running::start_with(&all).wait()
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        // Also one that a trial left.
        let _ = fs::write(&self.rules, format!("{} 0", self.disk.number()));
        self.register.undo_all(std::mem::take(&mut self.entries));
    }
}

/// The kernel grants a limit in slices of 100 ms: with 8 MiB/s every 13th write waits for the next one, with 128 KiB/s
/// each write of 64 KiB takes 500 ms.
#[test]
fn a_guard_on_a_percentile_ends_a_change_for_the_worse() {
    let Some(limited) = Limited::new(8 << 20) else { return };
    let set = limited.set(128 << 10);
    let ended =
        limited.run("trial", &[&set, "--period=8s", "--wash-out=100ms", "--periods=40", "--guard=p50>3x", "--json"]);
    let document = ended.expect_code(1).document();
    let why = document["ended_early"].as_str().unwrap();
    assert!(why.starts_with("a guard: p50 of the slow operations was"), "{why}");
    assert_eq!((&document["restored"], limited.rule().as_str()), (&true.into(), "8388608"));
}

#[test]
fn a_guard_on_pressure_ends_the_trial() {
    let Some(limited) = Limited::new(1 << 20) else { return };
    let set = limited.set(512 << 10);
    // A task waits for the limit nearly all the time.
    let ended = limited
        .run("trial", &[&set, "--period=5s", "--wash-out=100ms", "--periods=40", "--guard=psi:io>20%", "--json"]);
    let document = ended.expect_code(1).document();
    let why = document["ended_early"].as_str().unwrap();
    assert!(why.starts_with("a guard: pressure on io (some) was"), "{why}");
    assert_eq!((&document["restored"], limited.rule().as_str()), (&true.into(), "1048576"));
}

/// What it brings is measured by `make whatif-bench`; here, that both columns are filled.
#[test]
fn a_remedy_of_a_run_is_tried_to_the_end() {
    let Some(limited) = Limited::new(2 << 20) else { return };
    limited.run("record", &["--runtime=4s"]);
    let from = format!("--from={}", text(&limited.folder.path().join("record")));
    let words = [&from, "--first=1", "--period=1500ms", "--wash-out=300ms", "--periods=4", "--json"];
    let document = limited.run("trial", &words).expect_code(0).document();
    let tried = &document["trials"][0];
    assert_eq!((&tried["trial"]["restored"], limited.rule().as_str()), (&true.into(), "2097152"));
    let figures = tried["remedy"]["figures"].as_array().unwrap();
    println!("{}: {figures:?}", tried["remedy"]["id"]);
    let stall_time = figures.iter().find(|figure| figure["figure"] == "stall_time").unwrap();
    assert!(stall_time["predicted"].is_number() && stall_time["measured"].is_number(), "{stall_time}");
}

/// The short form of `make whatif-bench`: the kernel serves a limit in slices, so that calls under four times the limit
/// wait for as long, one of four as often.
#[test]
fn what_a_higher_limit_brings_is_predicted() {
    let Some(limited) = Limited::new(2 << 20) else { return };
    let recorded = || {
        let out = text(&limited.folder.path().join("record"));
        let _ = fs::remove_dir_all(&out);
        limited.run("record", &["--runtime=4s"]);
        stage::run(&format!("explain --json {out}")).expect_code(0).document()
    };
    let before = recorded();
    fs::write(&limited.rules, format!("{} {}", limited.disk.number(), 8 << 20)).unwrap();
    let after = recorded();
    let choices = before["what_if"]["choices"].as_array().unwrap();
    let is_raised = |choice: &&Value| choice["change"]["edge"] == "io_limit" && choice["change"]["factor"] == 4.0;
    let predicted = &choices.iter().find(is_raised).unwrap_or_else(|| panic!("{choices:#?}"))["predicted"];
    for figure in ["total_ns", "p50_ns"] {
        let of = number(predicted, &format!("/in_same_time/{figure}/value"));
        let measured = number(&after, &format!("/what_if/recorded/{figure}"));
        println!("{figure}: {of} predicted, {measured} measured");
        assert!((of / measured - 1.0).abs() <= 0.35, "{figure}: {of} predicted, {measured} measured");
    }
    // Of the same calls a fourth of the time is left.
    let left = number(predicted, "/total_ns/value") / number(predicted, "/recorded/total_ns");
    assert!((0.15..0.4).contains(&left), "{left}");
}
