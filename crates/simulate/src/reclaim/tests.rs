//! Invariants of small worlds.

use std::collections::HashMap;

use model::stall::RequestRecord;
use proptest::prelude::*;

use super::MODEL;
use super::parameters::Setup;
use super::world::World;
use crate::observer::{Metric, Observer, Operation, Unobserved, Wait};
use crate::parameter::Settings;
use crate::policy::Outcome;

/// A world that runs in about a second.
fn small() -> Settings {
    let mut settings = Settings::new(MODEL.parameters);
    for (name, value) in [
        ("workers", "12"),
        ("subthreads", "3"),
        ("burners", "2"),
        ("cpus", "2"),
        ("du", "1"),
        ("file_systems", "2"),
        ("groups", "2"),
        ("files", "4096"),
        ("memory", "600m"),
        ("allocation", "16m"),
        ("min_free", "4m"),
        ("watermark_gap", "4m"),
        ("warmup", "5s"),
        ("runtime", "25s"),
    ] {
        settings.set(name, value).unwrap();
    }
    settings
}

fn run(policy: &str, settings: &Settings, seed: u64, observer: &mut dyn Observer) -> Outcome {
    (MODEL.run)(policy, settings, seed, observer).unwrap()
}

/// Checks the reports: no task does two things at once, times ascend, nothing ends before it starts.
#[derive(Default)]
struct Strict {
    tasks: HashMap<u32, String>,
    last_ns: u64,
    until_ns: HashMap<(u32, &'static str), u64>,
    waited_until_ns: HashMap<u32, u64>,
    requests: Vec<u32>,
    observed: Vec<(u32, u64, u64)>,
    samples: usize,
    counters: Vec<i64>,
}

impl Strict {
    fn check_time(&mut self, end_ns: u64) {
        assert!(end_ns >= self.last_ns, "time goes backward");
        self.last_ns = end_ns;
    }
}

impl Observer for Strict {
    fn task(&mut self, tid: u32, name: &str) {
        assert!(tid != 0 && self.tasks.insert(tid, name.to_owned()).is_none());
    }

    fn phase(&mut self, _: &str, _: bool, at_ns: u64) {
        self.check_time(at_ns);
    }

    fn operation(&mut self, operation: Operation) {
        self.check_time(operation.end_ns);
        let before_ns = self.until_ns.insert((operation.tid, operation.class), operation.end_ns).unwrap_or(0);
        assert!(before_ns <= operation.start_ns && operation.start_ns <= operation.end_ns);
        self.observed.push((operation.tid, operation.start_ns, operation.end_ns));
    }

    fn wait(&mut self, wait: &Wait) {
        self.check_time(wait.end_ns);
        let before_ns = self.waited_until_ns.insert(wait.tid, wait.end_ns).unwrap_or(0);
        assert!(before_ns <= wait.start_ns && wait.start_ns < wait.end_ns && !wait.frames.is_empty());
        assert!(wait.waker_tid.is_none_or(|waker| self.tasks.contains_key(&waker)));
    }

    fn request(&mut self, request: &RequestRecord) {
        self.check_time(request.completed_ns);
        assert!(!self.requests.contains(&request.request), "completed twice");
        assert!(request.queued_ns <= request.issued_ns && request.issued_ns <= Some(request.completed_ns));
        self.requests.push(request.request);
    }

    fn metrics(&mut self, metrics: &'static [Metric]) {
        self.counters = vec![0; metrics.len()];
    }

    fn sample(&mut self, at_ns: u64, values: &[Option<i64>]) {
        self.check_time(at_ns);
        assert_eq!(values.len(), self.counters.len());
        assert!(values.iter().flatten().all(|value| *value >= 0));
        self.samples += 1;
    }

    fn sample_every_ns(&self) -> u64 {
        1_000_000_000
    }

    fn slow_ns(&self) -> u64 {
        20_000_000
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run_with = |seed| {
        let mut strict = Strict::default();
        let outcome = run("wait", &small(), seed, &mut strict);
        (outcome, strict.observed, strict.requests)
    };
    assert_eq!(run_with(7), run_with(7));
    assert_ne!(run_with(7).1, run_with(8).1);
}

#[test]
fn too_little_memory_hangs_and_names_waiters_and_holders() {
    let mut settings = small();
    for (name, value) in [("memory", "100m"), ("allocation", "95m"), ("runtime", "600s")] {
        settings.set(name, value).unwrap();
    }
    let hang = run("no-wait", &settings, 1, &mut Unobserved).hang.expect("12 x 95 MiB do not fit");
    assert!(hang.at_ns < 300_000_000_000);
    let waiter = hang.waiters.iter().find(|waiter| waiter.awaits == "free memory").expect("a task waits for memory");
    assert!(waiter.from.iter().any(|task| task.starts_with("worker ")), "{waiter:?}");
}

#[test]
fn invalid_settings_are_refused() {
    for (name, value) in [("workers", "0"), ("memory", "10m"), ("seek_least", "1s"), ("du", "99")] {
        let mut settings = small();
        settings.set(name, value).unwrap();
        assert!((MODEL.run)("wait", &settings, 1, &mut Unobserved).is_err(), "{name}");
    }
    assert!((MODEL.run)("pray", &small(), 1, &mut Unobserved).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn nothing_is_lost_or_done_twice(
        seed: u64,
        policy in prop::sample::select(vec!["wait", "no-wait", "progress"]),
        memory in 250_u64..700,
        workers in 1_u64..14,
        du in 0_u64..=2,
        request in prop::sample::select(vec!["64k", "256k", "3m"]),
    ) {
        let mut settings = small();
        settings.set("memory", &format!("{memory}m")).unwrap();
        settings.set("workers", &workers.to_string()).unwrap();
        settings.set("du", &du.to_string()).unwrap();
        settings.set("request", request).unwrap();
        let mut strict = Strict::default();
        // The world checks its accounting every 10 s of simulated time.
        let outcome = run(policy, &settings, seed, &mut strict);
        prop_assert!(outcome.hang.is_some() || outcome.ended_ns == 30_000_000_000);
        prop_assert!(strict.samples >= 30);

        let mut nobody = Unobserved;
        let mut world = World::new(Setup::new(policy, &settings).unwrap(), seed, &mut nobody);
        world.run();
        prop_assert!(world.adds_up());

    }
}
