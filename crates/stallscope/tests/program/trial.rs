//! `trial`: what it finds, refuses, and above all restores.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::stage::{self, Disk, Running, disk::text, run};

/// The watchdog has this long, and a busy machine some more.
const RESTORED_WITHIN: Duration = Duration::from_secs(2);

/// A disk with settings that a trial can change without harm to the machine.
struct Bench {
    disk: Disk,
    queue: PathBuf,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let disk = Disk::ext4(64 << 20);
        let link = fs::canonicalize(format!("/sys/dev/block/{}", disk.number())).unwrap();
        let queue = PathBuf::from("/sys/block").join(link.file_name().unwrap()).join("queue");
        Bench { disk, queue, folder: stage::folder() }
    }

    /// What a trial finds need not be the default.
    fn set_found(&self) {
        fs::write(self.queue.join("nr_requests"), "77").unwrap();
    }

    fn value(&self, name: &str) -> String {
        let text = fs::read_to_string(self.queue.join(name)).unwrap();
        let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        chosen.unwrap_or(text.trim()).to_owned()
    }

    /// What must be as it was.
    fn state(&self) -> Vec<String> {
        let mut state: Vec<String> =
            ["read_ahead_kb", "scheduler", "nr_requests"].iter().map(|name| self.value(name)).collect();
        state.push(self.flag().exists().to_string());
        state
    }

    /// A file that --apply makes and --revert removes.
    fn flag(&self) -> PathBuf {
        self.folder.path().join("flag")
    }

    fn run_directory(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// A trial of two settings and a command, with short periods.
    fn arguments(&self, more: &[&str]) -> Vec<String> {
        let other = if self.value("scheduler") == "none" { "mq-deadline" } else { "none" };
        let queue = self.queue.display();
        let flag = self.flag();
        let words = [
            "trial".to_owned(),
            format!("--set={queue}/scheduler={other}"),
            format!("--set={queue}/read_ahead_kb=36"),
            format!("--apply=touch {}", flag.display()),
            format!("--revert=rm -f {}", flag.display()),
            format!("--out={}", text(&self.run_directory())),
            "--period=200ms".into(),
            "--wash-out=20ms".into(),
            "--interval=100ms".into(),
            "--json".into(),
            "--quiet".into(),
        ];
        words.into_iter().chain(more.iter().map(|word| (*word).to_owned())).collect()
    }

    fn start(&self, more: &[&str]) -> Running {
        let arguments = self.arguments(more);
        Running::start_with(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn wait_for_the_change(&self, program: &mut Running) {
        // Before the run is open, the changes are only probed.
        program.wait_for_the_archive(&self.run_directory());
        program.wait_until("a period with the change", |_| self.value("read_ahead_kb") == "36" && self.flag().exists());
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // The loop device keeps it for its next user.
        let device = self.queue.parent().and_then(Path::file_name).unwrap();
        rig::set_default_queue(&device.to_string_lossy(), &rig::Roots::default());
    }
}

/// A bench whose disk has a limit on writes; removed when dropped.
struct Throttled {
    bench: Bench,
    file: PathBuf,
}

impl Throttled {
    /// Reports what is missing where it cannot be made.
    fn new(bytes_per_s: u64) -> Option<Throttled> {
        let file = PathBuf::from("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device");
        if !stage::is_root("a throttle rule") {
            return None;
        }
        if !file.exists() {
            println!("skipped: no blkio controller of cgroup v1");
            return None;
        }
        let throttled = Throttled { bench: Bench::new(), file };
        fs::write(&throttled.file, throttled.rule(bytes_per_s)).unwrap();
        Some(throttled)
    }

    fn rule(&self, bytes_per_s: u64) -> String {
        format!("{} {bytes_per_s}", self.bench.disk.number())
    }

    /// Whether the limit is that one.
    #[track_caller]
    fn expect_limit(&self, bytes_per_s: u64) {
        let (rules, rule) = (fs::read_to_string(&self.file).unwrap(), self.rule(bytes_per_s));
        assert!(rules.lines().any(|line| line == rule), "{rules}");
    }
}

impl Drop for Throttled {
    fn drop(&mut self) {
        let _ = fs::write(&self.file, self.rule(0));
    }
}

#[test]
fn a_plan_changes_nothing() {
    if !stage::is_root("a loop device") {
        return;
    }
    let bench = Bench::new();
    let before = bench.state();
    let ended = bench.start(&["--dry-run", "--periods=5", "--seed=1", "--guard=p99>2x"]).wait();
    let plan = ended.expect_code(0).document();
    assert_eq!((&plan["plan"]["periods"], plan["order"].as_array().unwrap().len()), (&8.into(), 2));
    assert_eq!(plan["plan"]["changes"][1]["found"], before[0].as_str());
    assert_eq!((&plan["guards"][0], &plan["plan"]["lead_in_ns"]), (&"p99>2x".into(), &200_000_000.into()));
    assert_eq!(bench.state(), before);
    assert!(!bench.run_directory().exists());
}

#[test]
fn what_cannot_be_tried_is_one_error_before_anything_is_changed() {
    let check = |words: &str, code: i32, why: &str| {
        let ended = run(&format!("trial -q {words}"));
        assert!(ended.stderr.contains(why) && ended.stderr.trim().lines().count() == 1, "{words}: {}", ended.stderr);
        ended.expect_code(code);
    };
    check("", 2, "nothing to try");
    check("--set vm.no_such_setting=1", 2, "cannot be read");
    check("--set /sys/no/such/file=1", 2, "cannot be found");
    check("--set /etc/hostname=1", 2, "only files below /sys and /proc/sys");
    check("--set vm.swappiness=1 --set /proc/sys/vm/swappiness=2", 2, "set twice");
    check("--set vm.swappiness=1 --period 1s --wash-out 1s", 2, "leaves nothing");
    check("--set vm.swappiness=1 --for 10s", 2, "a block of four periods takes 40.0 s");
    if !stage::is_root("writing a setting") {
        return;
    }
    let bench = Bench::new();
    let before = bench.state();
    // The first can be written, the second not.
    let both = |second: &str| format!("--set {0}/read_ahead_kb=36 --set {0}/{second}", bench.queue.display());
    check(&both("scheduler=no-such-scheduler"), 3, "cannot be set to 'no-such-scheduler'");
    check(&both("read_ahead_kb=37"), 2, "set twice");
    check(&format!("--set {}/read_ahead_kb=37", bench.queue.display()), 3, "the kernel changed it to '36'");
    assert_eq!(bench.state(), before);
}

#[test]
fn a_trial_is_a_run_and_restores_everything() {
    if !stage::is_root("a loop device") {
        return;
    }
    let bench = Bench::new();
    bench.set_found();
    let before = bench.state();
    let ended = bench
        .start(
            &["--periods=8", "--seed=5", "--metric=n=n ([0-9]+)", "--", "sh", "-c"]
                .iter()
                .copied()
                .chain(["while :; do echo n 5; sleep 0.02; done"])
                .collect::<Vec<_>>(),
        )
        .wait();
    let document = ended.expect_code(0).document();
    assert_eq!(bench.state(), before);
    assert_eq!(
        (&document["blocks"], &document["restored"], &document["complete"]),
        (&2.into(), &true.into(), &true.into())
    );
    let periods = document["periods"].as_array().unwrap();
    assert_eq!(periods.len(), 8);
    for period in periods {
        let number = |name: &str| period[name].as_u64().unwrap();
        let (counted_ns, length_ns) =
            (number("counted_from_ns") - number("began_ns"), number("ended_ns") - number("began_ns"));
        assert_eq!(counted_ns, 20_000_000);
        assert!(length_ns >= 200_000_000, "{period}");
        assert_eq!(period["figures"]["n"], 5.0);
    }
    let of_n = document["effects"].as_array().unwrap().iter().find(|effect| effect["figure"] == "n").unwrap();
    // Two blocks are too few, also where nothing varies.
    assert_eq!((&of_n["verdict"], &of_n["need_periods"]), (&"not_enough_data".into(), &16.into()));
    assert!((1..=5).contains(&document["sentences"].as_array().unwrap().len()), "{document:#}");
    let directory = text(&bench.run_directory());
    let shown = run(&format!("show {directory}")).expect_code(0).stdout.clone();
    assert!(shown.contains("the trial ran as planned"), "{shown}");
    run(&format!("explain {directory}")).expect_code(0);
    run(&format!("check {directory}")).expect_code(0);
    let page = bench.folder.path().join("page.html");
    run(&format!("report {directory} --output {}", text(&page))).expect_code(0);
    assert!(fs::metadata(page).unwrap().len() > 10_000);
}

/// Four periods are enough to see the direction; the verdicts of long trials are tested by simulation in crate `trial`.
#[test]
fn a_lower_limit_shows_in_the_throughput() {
    let Some(throttled) = Throttled::new(8 << 20) else { return };
    let Throttled { bench, file } = &throttled;
    // One process writes all the time. A dd for each MiB waited for its CPU to start beside other tests, and wrote
    // below the higher limit.
    let load = format!(
        "while :; do dd if=/dev/zero of={}/x bs=64k count=640 oflag=direct conv=notrunc 2>/dev/null; done",
        text(bench.disk.path())
    );
    let set = format!("--set={}={} 1048576", file.display(), bench.disk.number());
    let out = format!("--out={}", text(&bench.run_directory()));
    let words = [
        "trial",
        &set,
        &out,
        "--period=1500ms",
        "--wash-out=500ms",
        "--interval=100ms",
        "--periods=4",
        "--json",
        "-q",
        "--slower-than=20ms",
        "--",
        "sh",
        "-c",
        &load,
    ];
    let document = Running::start_with(&words).wait().expect_code(0).document();
    throttled.expect_limit(8 << 20);
    assert_eq!(document["plan"]["changes"][0]["found"], "8388608");
    assert_eq!(document["device"], bench.queue.parent().unwrap().file_name().unwrap().to_str().unwrap());
    let effect = |name: &str| -> Value {
        document["effects"].as_array().unwrap().iter().find(|effect| effect["figure"] == name).unwrap().clone()
    };
    let (a, b) = (effect("bytes_per_s")["a"].as_f64().unwrap(), effect("bytes_per_s")["b"].as_f64().unwrap());
    // A token bucket lets one burst through after the switch, which the wash-out covers.
    assert!((0.6e6..1.6e6).contains(&b) && a > 2.0 * b, "{a} {b}");
    assert!(effect("stall_time")["b"].as_f64() > effect("stall_time")["a"].as_f64(), "{document:#}");
}

#[test]
fn kill_9_restores_within_two_seconds() {
    if !stage::is_root("a loop device") {
        return;
    }
    let bench = Bench::new();
    bench.set_found();
    let before = bench.state();
    for moment_ms in [0, 70, 310, 440] {
        let mut program = bench.start(&["--periods=400"]);
        bench.wait_for_the_change(&mut program);
        std::thread::sleep(Duration::from_millis(moment_ms));
        let pid = program.pid();
        program.signal(Signal::KILL);
        let killed = Instant::now();
        drop(program);
        while bench.state() != before {
            assert!(killed.elapsed() < RESTORED_WITHIN, "after {moment_ms} ms: {:?} is not {before:?}", bench.state());
            std::thread::sleep(Duration::from_millis(5));
        }
        println!("process {pid} killed after {moment_ms} ms: restored in {:?}", killed.elapsed());
        fs::remove_dir_all(bench.run_directory()).unwrap();
    }
}

#[test]
fn ctrl_c_restores_and_shows_what_there_is() {
    if !stage::is_root("a loop device") {
        return;
    }
    let bench = Bench::new();
    let before = bench.state();
    let mut program = bench.start(&["--periods=400"]);
    bench.wait_for_the_change(&mut program);
    program.signal(Signal::INT);
    let document = program.wait().expect_code(130).document();
    assert_eq!(bench.state(), before);
    assert_eq!((&document["ended_early"], &document["restored"]), (&"interrupted".into(), &true.into()));
}

#[test]
fn a_guard_ends_the_trial_and_restores() {
    if !stage::is_root("a loop device") {
        return;
    }
    let bench = Bench::new();
    let before = bench.state();
    // The machine always switches tasks.
    let ended = bench.start(&["--periods=400", "--guard=counter:stat.ctxt>1/s"]).wait();
    let document = ended.expect_code(1).document();
    assert_eq!(bench.state(), before);
    let why = document["ended_early"].as_str().unwrap();
    assert!(why.starts_with("a guard: stat.ctxt grew by"), "{why}");
}

#[test]
fn the_command_or_another_program_can_end_the_trial() {
    if !stage::is_root("a loop device") {
        return;
    }
    let bench = Bench::new();
    let before = bench.state();
    let ended = bench.start(&["--periods=400", "--", "sleep", "3.5"]).wait();
    let document = ended.expect_code(1).document();
    assert_eq!((document["ended_early"].as_str(), bench.state()), (Some("the command ended (exit status: 0)"), before));
    fs::remove_dir_all(bench.run_directory()).unwrap();
    let mut program = bench.start(&["--periods=400"]);
    bench.wait_for_the_change(&mut program);
    fs::write(bench.queue.join("read_ahead_kb"), "44").unwrap();
    let document = program.wait().expect_code(1).document();
    let why = document["ended_early"].as_str().unwrap();
    assert!(why.contains("another program changed") && why.contains("read_ahead_kb"), "{why}");
    assert_eq!(bench.value("read_ahead_kb"), "44");
}

/// Which remedies fit depends on what else the machine does; whatever is planned exists, and nothing is changed.
#[test]
fn remedies_of_a_run_are_planned() {
    let Some(throttled) = Throttled::new(2 << 20) else { return };
    let bench = &throttled.bench;
    let load = format!(
        "dd if=/dev/zero of={}/x bs=256k count=40 oflag=direct conv=notrunc 2>/dev/null",
        text(bench.disk.path())
    );
    let run_directory = text(&bench.run_directory());
    let words = ["record", "-q", "--slower-than=20ms", "--out", &run_directory, "--", "sh", "-c", &load];
    let recorded = Running::start_with(&words).wait();
    let planned = run(&format!("trial -q --from {run_directory} --first 1 --dry-run --json"));
    recorded.expect_code(0);
    throttled.expect_limit(2 << 20);
    let document = planned.expect_code(0).document();
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 1, "{document:#}");
    let change = &trials[0]["trial"]["plan"]["changes"][0];
    println!("planned: {}: {change}", trials[0]["remedy"]);
    let what = change["what"].as_str().unwrap();
    assert!(PathBuf::from(what.split(' ').next().unwrap()).exists(), "{what}");
    assert_ne!(change["found"], change["tried"]);
    run(&format!("trial -q --from {run_directory} --set vm.swappiness=1")).expect_code(2);
}

#[test]
fn an_untraced_run_has_no_remedies() {
    let folder = stage::folder();
    let directory = text(&folder.path().join("run"));
    run(&format!("record -q --no-trace --runtime 200ms --out {directory}")).expect_code(0);
    let ended = run(&format!("trial -q --from {directory}"));
    assert!(ended.stderr.contains("recorded without kernel tracing"), "{}", ended.stderr);
    ended.expect_code(2);
}
