//! Ground truth: each test causes a known stall, and the explanation must name it.
//!
//! `cargo test -p stallscope --test truth` prints the table of docs/EXPLAIN.md; a word behind `--` chooses among the
//! tests. A test fails, too, if its shares drift from those of earlier runs, which corpus/live.toml has:
//! `STALLSCOPE_TRUTH_ACCEPT=1` adds this run to them. `STALLSCOPE_TRUTH_REPEAT=5` runs all of them five times. With
//! `STALLSCOPE_TRUTH=FOLDER` the recordings are kept there, each with its truth for the corpus. Many tests share one
//! recording, the others need the whole machine, and this program is also the victim and its neighbours: hence no test
//! harness.
#![allow(unreachable_pub)]
#![deny(unsafe_code)]

mod actor;
mod attempts;
mod cgroups;
mod datagrams;
mod drift;
mod fuse;
mod ground;
mod judge;
mod kept;
mod live;
mod locks;
#[path = "../program/stage/program.rs"]
#[allow(dead_code)]
mod program;
mod quiet;
mod scenarios;
#[allow(unsafe_code)]
mod sys;
mod talk;
mod victim;

use std::panic::{UnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use judge::{Verdict, percent};
use live::Live;
use scenarios::Test;
use victim::{Recording, Truth};

/// Options of cargo's own test harness that have a value.
const WITH_VALUE: [&str; 5] = ["--test-threads", "--color", "--format", "--skip", "--logfile"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "actor") {
        actor::run(&arguments[1..]);
        return ExitCode::SUCCESS;
    }
    let is_emulated = arguments.iter().any(|word| word == "--emulated");
    // What a machine that is made for these tests lacks is a failure.
    if let Some(missing) = (!is_emulated).then(missing).flatten() {
        println!("skipped: the ground truth needs {missing}");
        println!("test result: ok. 0 passed; 0 failed; 0 ignored");
        return ExitCode::SUCCESS;
    }
    let tests = chosen(&arguments, is_emulated);
    if arguments.iter().any(|word| word == "--list") {
        tests.iter().for_each(|test| println!("{}: test", test.name));
        return ExitCode::SUCCESS;
    }
    run_all(&tests, is_emulated)
}

/// With `--emulated` those that scripts/test-vm runs. Others need what this machine's cgroups lack.
fn chosen(arguments: &[String], is_emulated: bool) -> Vec<&'static Test> {
    let wanted = wanted(arguments);
    let tests = scenarios::tests().filter(|test| is_wanted(test.name, &wanted));
    let mut tests: Vec<&Test> = tests.filter(|test| !is_emulated || scenarios::runs_emulated(test.name)).collect();
    let is_version_2 = cgroups::is_version_2();
    tests.retain(|test| is_version_2 || !scenarios::needs_version_2(test.name));
    tests.retain(|test| {
        let needs = scenarios::needs_version_1(test.name).filter(|_| is_version_2);
        needs.inspect(|needs| println!("skipped: {}: {needs}", test.name));
        needs.is_none()
    });
    tests
}

/// A missing feature without which no stall can be caused or traced.
fn missing() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("root");
    }
    let found = rig::Hierarchies::detect(&rig::Roots::default()).expect("the cgroups can be read");
    if (found.blkio.is_none() || found.memory.is_none()) && !cgroups::is_version_2() {
        return Some("cgroups with controllers of I/O and memory");
    }
    let explained = Recording::start().explained();
    explained["traced"].is_null().then_some("a kernel that allows BPF programs")
}

fn wanted(arguments: &[String]) -> Vec<&str> {
    let mut wanted = Vec::new();
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word) {
            words.next();
        } else if !word.starts_with('-') {
            wanted.push(word);
        }
    }
    wanted
}

fn is_wanted(name: &str, wanted: &[&str]) -> bool {
    wanted.is_empty() || wanted.iter().any(|word| name.contains(word))
}

/// Tests in one recording at most, and how many of them run at the same time.
const TOGETHER: usize = 24;
const AT_ONCE: usize = 8;
/// The emulator has the time of one CPU, and a slow one: victims would wait for it.
const AT_ONCE_EMULATED: usize = 1;
/// From then on a test is said to take long.
const LONG: Duration = Duration::from_secs(60);

/// What came of all attempts.
struct Outcome<'a> {
    live: Live,
    /// Tests that failed, and how long that took.
    again: Vec<(&'a Test, f64)>,
    table: Vec<String>,
    passed: usize,
    /// Names and complaints.
    failed: Vec<(&'static str, Vec<String>)>,
}

fn run_all(tests: &[&Test], is_emulated: bool) -> ExitCode {
    let times = std::env::var("STALLSCOPE_TRUTH_REPEAT").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    println!("\nrunning {} tests", tests.len() * times);
    let live = Live::open(is_emulated);
    let mut outcome = Outcome { live, again: Vec::new(), table: Vec::new(), passed: 0, failed: Vec::new() };
    for _ in 0..times {
        let (recorded, others): (Vec<&Test>, Vec<&Test>) = tests.iter().partition(|test| test.recorded.is_some());
        let (sharing, single): (Vec<&Test>, Vec<&Test>) = others.iter().partition(|test| test.shares);
        if is_emulated {
            // To load BPF programs and to explain take most of the time there.
            single.chunks(TOGETHER).for_each(|tests| run_together(tests, AT_ONCE_EMULATED, &mut outcome));
        } else {
            single.into_iter().for_each(|test| conclude_or_repeat(test, alone(test), &mut outcome));
        }
        let at_once = if is_emulated { AT_ONCE_EMULATED } else { AT_ONCE };
        let attempts = a_few_at_a_time(&recorded, at_once, alone);
        recorded.into_iter().zip(attempts).for_each(|(test, attempt)| conclude_or_repeat(test, attempt, &mut outcome));
        sharing.chunks(TOGETHER).for_each(|tests| run_together(tests, at_once, &mut outcome));
    }
    repeat_failed(&mut outcome, is_emulated);
    let Outcome { live, table, passed, failed, .. } = outcome;
    live.close();
    println!("\n{HEADER}");
    table.iter().for_each(|row| println!("{row}"));
    println!("\nfailures:\n");
    for (name, complaints) in &failed {
        println!("---- {name} stdout ----\n{}\n", complaints.join("\n"));
    }
    let (word, failed) = (if failed.is_empty() { "ok" } else { "FAILED" }, failed.len());
    println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out\n");
    ExitCode::from(u8::from(failed > 0))
}

/// In one recording, each judged by its own truths.
fn run_together<'a>(tests: &[&'a Test], at_once: usize, outcome: &mut Outcome<'a>) {
    let began = Instant::now();
    let attempts = together(tests, at_once);
    println!("{} tests in one recording of {:.1} s", tests.len(), began.elapsed().as_secs_f64());
    for (test, attempt) in tests.iter().zip(attempts) {
        conclude_or_repeat(test, attempt, outcome);
    }
}

/// A failing test is repeated alone, twice at most: other load can prevent a victim's stall or cause another, and a
/// wrong rule fails each time. After all others, and when what ran beside them leaves the CPUs alone.
fn conclude_or_repeat<'a>(test: &'a Test, attempt: Attempt, outcome: &mut Outcome<'a>) {
    let attempt = attempt.compared(test, &mut outcome.live);
    if attempt.complaints.is_empty() {
        return conclude(test, attempt, outcome);
    }
    tell(test, "first", &attempt);
    outcome.again.push((test, attempt.seconds));
}

fn repeat_failed(outcome: &mut Outcome, is_emulated: bool) {
    for (test, first_s) in std::mem::take(&mut outcome.again) {
        if !is_emulated {
            quiet::wait_for_cpus();
        }
        let mut attempt = alone(test).compared(test, &mut outcome.live);
        if !attempt.complaints.is_empty() && !is_emulated {
            tell(test, "second", &attempt);
            quiet::wait_for_cpus();
            attempt = alone(test).compared(test, &mut outcome.live);
        }
        conclude(test, Attempt { seconds: first_s, ..attempt }, outcome);
    }
}

fn tell(test: &Test, which: &str, attempt: &Attempt) {
    println!("test {}: the {which} attempt failed", test.name);
    attempt.complaints.iter().for_each(|complaint| println!("    {complaint}"));
}

fn conclude(test: &Test, attempt: Attempt, outcome: &mut Outcome) {
    let name = test.name;
    let Attempt { verdict, complaints, seconds } = attempt;
    let word = if complaints.is_empty() { "ok" } else { "FAILED" };
    println!("test {name} ... {word} ({seconds:.1} s)");
    complaints.iter().for_each(|complaint| println!("    {complaint}"));
    outcome.table.extend(verdict.iter().flat_map(|verdict| rows(name, verdict)));
    if complaints.is_empty() {
        outcome.passed += 1;
    } else {
        outcome.failed.push((name, complaints));
    }
}

/// A test's verdict, if it came to one, its complaints, and how long it took.
struct Attempt {
    verdict: Option<Verdict>,
    complaints: Vec<String>,
    seconds: f64,
}

impl Attempt {
    fn new(verdict: Result<Verdict, String>, seconds: f64) -> Attempt {
        match verdict {
            Ok(verdict) => Attempt { complaints: verdict.complaints.clone(), verdict: Some(verdict), seconds },
            Err(panicked) => Attempt { verdict: None, complaints: vec![panicked], seconds },
        }
    }

    /// With earlier runs of the test, unless something else is wrong.
    fn compared(mut self, test: &Test, live: &mut Live) -> Attempt {
        if let Some(verdict) = self.verdict.as_ref().filter(|_| self.complaints.is_empty()) {
            self.complaints = live.complaints(test.name, verdict);
        }
        self
    }
}

/// Runs a part of a test: its result, or why it panicked. A part that takes long is announced as by cargo's own
/// harness: should it never end, scripts/run-test knows its name.
fn attempt<T>(name: &str, run: impl FnOnce() -> T + UnwindSafe) -> Result<T, String> {
    let (ended, ending) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if ending.recv_timeout(LONG) == Err(RecvTimeoutError::Timeout) {
                println!("test {name} has been running for over {} seconds", LONG.as_secs());
            }
        });
        let result = catch_unwind(run);
        drop(ended);
        result.map_err(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            format!("panicked: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a message"))
        })
    })
}

/// In a recording of its own; all scenarios at the same time.
fn alone(test: &Test) -> Attempt {
    let began = Instant::now();
    let run = || match test.recorded {
        Some(recorded) => {
            let (explained, truth) = recorded();
            kept::note(&explained, &[(test.name, std::slice::from_ref(&truth))]);
            Verdict::new(&explained, &[truth])
        }
        None => {
            let recording = Recording::start();
            let truths = truths(test);
            let explained = recording.explained();
            kept::note(&explained, &[(test.name, &truths)]);
            Verdict::new(&explained, &truths)
        }
    };
    let verdict = attempt(test.name, run);
    Attempt::new(verdict, began.elapsed().as_secs_f64())
}

/// In one recording, a few at a time.
fn together(tests: &[&Test], at_once: usize) -> Vec<Attempt> {
    let recording = Recording::start();
    let ended = a_few_at_a_time(tests, at_once, |test| {
        let began = Instant::now();
        (attempt(test.name, || truths(test)), began.elapsed().as_secs_f64())
    });
    let explained = recording.explained();
    let made =
        tests.iter().zip(&ended).filter_map(|(test, (truths, _))| Some((test.name, truths.as_ref().ok()?.as_slice())));
    kept::note(&explained, &made.collect::<Vec<_>>());
    let judged = |(truths, seconds): (Result<Vec<Truth>, String>, f64)| {
        Attempt::new(truths.map(|truths| Verdict::new(&explained, &truths)), seconds)
    };
    ended.into_iter().map(judged).collect()
}

/// What came of each, in their order.
fn a_few_at_a_time<T: Send>(tests: &[&Test], at_once: usize, run: impl Fn(&Test) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let ended: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(test) = tests.get(at) else { return };
            let result = run(test);
            ended.lock().expect("no other thread panics with it").push((at, result));
        }
    };
    std::thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(work))));
    let mut ended = ended.into_inner().expect("no other thread panics with it");
    ended.sort_by_key(|&(at, _)| at);
    ended.into_iter().map(|(_, result)| result).collect()
}

/// All scenarios of a test, at the same time.
fn truths(test: &Test) -> Vec<Truth> {
    std::thread::scope(|scope| {
        let running: Vec<_> = test.scenarios.iter().map(|scenario| scope.spawn(scenario)).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

const HEADER: &str = "\
| test | true cause | slow, ms | share | unexplained | largest others |
|---|---|---:|---:|---:|---|";

fn rows(name: &str, verdict: &Verdict) -> Vec<String> {
    let is_expected = |cause: &str| verdict.lines.iter().any(|line| line.cause == cause);
    let others = verdict.causes.iter().filter(|(cause, _)| !is_expected(cause) && cause != "unexplained");
    let others: Vec<String> =
        others.take(2).map(|(cause, ns)| format!("{cause} {:.1} %", percent(*ns, verdict.wall_ns))).collect();
    let row = |line: &judge::Line| {
        format!(
            "| {name} | {} | {} | {:.1} % | {:.1} % | {} |",
            line.cause,
            line.true_ns / 1_000_000,
            verdict.share(line),
            percent(verdict.unexplained_ns(), verdict.wall_ns),
            others.join(", ")
        )
    };
    verdict.lines.iter().map(row).collect()
}
