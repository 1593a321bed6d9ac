//! Ground truth: each test causes a known stall, and the explanation must name it.
//!
//! `cargo test -p stallscope --test truth` prints the table of docs/BLAME.md; a word behind `--` chooses among the tests.
//! With `STALLSCOPE_TRUTH=FOLDER` the recordings are kept there. The tests run serially, because each needs the
//! whole machine, and this program is also the victim and its neighbours: hence no test harness.
#![allow(unreachable_pub)]
#![deny(unsafe_code)]

mod actor;
mod ground;
mod judge;
#[path = "../program/stage/program.rs"]
#[allow(dead_code)]
mod program;
mod scenarios;
#[allow(unsafe_code)]
mod sys;
mod victim;

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::Instant;

use judge::{Verdict, percent};
use scenarios::Scenario;
use victim::{Recording, Truth};

/// Options of cargo's own test harness that have a value.
const WITH_VALUE: [&str; 5] = ["--test-threads", "--color", "--format", "--skip", "--logfile"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "actor") {
        actor::run(&arguments[1..]);
        return ExitCode::SUCCESS;
    }
    if let Some(missing) = missing() {
        println!("skipped: the ground truth needs {missing}");
        println!("test result: ok. 0 passed; 0 failed; 0 ignored");
        return ExitCode::SUCCESS;
    }
    let wanted = wanted(&arguments);
    let tests: Vec<&(&str, &[Scenario])> =
        scenarios::TESTS.iter().filter(|(name, _)| is_wanted(name, &wanted)).collect();
    if arguments.iter().any(|word| word == "--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    run_all(&tests)
}

/// A missing feature without which no stall can be caused or traced.
fn missing() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("root");
    }
    let found = rig::Hierarchies::detect(&rig::Roots::default()).expect("the cgroups can be read");
    if found.blkio.is_none() || found.memory.is_none() {
        return Some("cgroup version 1 with its controllers blkio and memory");
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

fn run_all(tests: &[&(&str, &[Scenario])]) -> ExitCode {
    println!("\nrunning {} tests", tests.len());
    let mut table = Vec::new();
    let mut failed = 0;
    for (name, scenarios) in tests {
        let began = Instant::now();
        let (mut verdict, mut complaints) = attempt(scenarios);
        if !complaints.is_empty() {
            println!("test {name}: the first attempt failed");
            complaints.iter().for_each(|complaint| println!("    {complaint}"));
            (verdict, complaints) = attempt(scenarios);
        }
        let outcome = if complaints.is_empty() { "ok" } else { "FAILED" };
        println!("test {name} ... {outcome} ({:.1} s)", began.elapsed().as_secs_f64());
        complaints.iter().for_each(|complaint| println!("    {complaint}"));
        failed += usize::from(!complaints.is_empty());
        table.extend(verdict.iter().flat_map(|verdict| rows(name, verdict)));
    }
    println!("\n{HEADER}");
    table.iter().for_each(|row| println!("{row}"));
    let (word, passed) = (if failed == 0 { "ok" } else { "FAILED" }, tests.len() - failed);
    println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out\n");
    ExitCode::from(u8::from(failed > 0))
}

/// A test and its complaints. A failing test is repeated once: other load can prevent a victim's stall or cause another, and a
/// wrong rule fails twice.
fn attempt(scenarios: &[Scenario]) -> (Option<Verdict>, Vec<String>) {
    match catch_unwind(|| run(scenarios)) {
        Ok(verdict) => {
            let complaints = verdict.complaints.clone();
            (Some(verdict), complaints)
        }
        Err(_) => (None, vec!["panicked".to_owned()]),
    }
}

/// The scenarios of one test, all at the same time and in the same recording.
fn run(scenarios: &[Scenario]) -> Verdict {
    let recording = Recording::start();
    let truths: Vec<Truth> = std::thread::scope(|scope| {
        let running: Vec<_> = scenarios.iter().map(|scenario| scope.spawn(scenario)).collect();
        running.into_iter().map(|thread| thread.join().expect("the scenario")).collect()
    });
    Verdict::new(&recording.explained(), &truths)
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
        let of = if verdict.lines.len() == 1 { verdict.wall_ns } else { line.true_ns };
        format!(
            "| {name} | {} | {} | {:.1} % | {:.1} % | {} |",
            line.cause,
            line.true_ns / 1_000_000,
            percent(line.explained_ns, of),
            percent(verdict.unexplained_ns(), verdict.wall_ns),
            others.join(", ")
        )
    };
    verdict.lines.iter().map(row).collect()
}
