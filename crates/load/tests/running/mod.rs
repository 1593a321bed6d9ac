//! Runs loads for tests, with the example program as the load process.
#![allow(dead_code, unreachable_pub)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::clock;
use load::conductor::{Conductor, Launch, LoadEvent};
use load::facts::MachineFacts;
use load::plan::{Plan, PlanRequest};
use load::recipe::Recipe;
use model::latency;
use model::operation::{IntervalRecord, OperationRecord};

/// What a run reported.
#[derive(Default)]
pub struct RunReport {
    pub intervals: Vec<IntervalRecord>,
    pub operations: Vec<OperationRecord>,
    pub phases: Vec<String>,
    pub job_threads: Vec<(String, Vec<model::event::Member>)>,
    pub reused: u64,
    pub end: Option<LoadEvent>,
}

pub fn executable() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let path = this.parent().unwrap().parent().unwrap().join("examples/load_process");
    assert!(path.exists(), "{} is built with the tests", path.display());
    path
}

pub fn plan(recipe: &Recipe, directory: &Path, settings: &[(&str, &str)]) -> Plan {
    let facts = MachineFacts::gather(&recipe.name, &[directory.to_owned()], None).unwrap();
    let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let request = PlanRequest { settings, seed: 1, slower_than_ns: 100_000_000, force: true, ..PlanRequest::default() };
    let plan = Plan::resolve(recipe, &facts, &request).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plan.refusals, []);
    plan
}

pub fn start(plan: Plan) -> Conductor {
    start_in(plan, vec![])
}

pub fn start_in(plan: Plan, cgroup_procs: Vec<PathBuf>) -> Conductor {
    let launch = Launch { executable: executable(), arguments: vec!["__load".into()], cgroup_procs };
    Conductor::start(plan, &launch).unwrap()
}

impl RunReport {
    /// Polls until `enough`, or until the load has ended.
    pub fn poll_until(&mut self, conductor: &mut Conductor, mut enough: impl FnMut(&RunReport) -> bool) {
        let deadline = clock::now_ns() + 120_000_000_000;
        while self.end.is_none() && !enough(self) {
            assert!(clock::now_ns() < deadline, "the load does not end");
            self.poll(conductor);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Polls once.
    pub fn poll(&mut self, conductor: &mut Conductor) {
        conductor.poll(clock::now_ns()).into_iter().for_each(|event| self.take(event));
    }

    /// Polls until an operation of the class has ended, however long the intervals: its thread runs another one.
    pub fn poll_until_one_has_ended(&mut self, conductor: &mut Conductor, class: &str) {
        let deadline = clock::now_ns() + 120_000_000_000;
        let mut begun: HashMap<u32, u64> = HashMap::new();
        let mut has_ended = false;
        while !has_ended {
            assert!(self.end.is_none() && clock::now_ns() < deadline, "no {class} ends");
            self.poll(conductor);
            // In an hour all that runs now would be stuck.
            let running = conductor.stuck(clock::now_ns() + 3_600_000_000_000);
            for one in running.iter().filter(|one| one.class == class) {
                has_ended |= *begun.entry(one.tid).or_insert(one.start_ns) != one.start_ns;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn take(&mut self, event: LoadEvent) {
        match event {
            LoadEvent::Interval(records) => self.intervals.extend(records),
            LoadEvent::Operations(records) => self.operations.extend(records),
            LoadEvent::PhaseStarted { phase, .. } => self.phases.push(phase),
            LoadEvent::Reused { directories } => self.reused += directories,
            LoadEvent::JobThreads { phase, members, .. } => self.job_threads.push((phase, members)),
            LoadEvent::Finished | LoadEvent::Died { .. } => self.end = Some(event),
            LoadEvent::Lost { .. } | LoadEvent::PhaseEnded { .. } | LoadEvent::Progress { .. } => {}
        }
    }

    /// Everything until the end of the load.
    pub fn all(mut conductor: Conductor) -> RunReport {
        let mut report = RunReport::default();
        report.poll_until(&mut conductor, |_| false);
        report
    }

    pub fn count(&self, phase: &str, class: &str) -> u64 {
        self.of(phase, class).map(|record| record.count).sum()
    }

    pub fn errors(&self) -> u64 {
        self.intervals.iter().map(|record| record.errors).sum()
    }

    pub fn of<'a>(&'a self, phase: &'a str, class: &'a str) -> impl Iterator<Item = &'a IntervalRecord> {
        self.intervals.iter().filter(move |record| record.phase == phase && record.class == class)
    }

    /// Upper end of the bucket that holds the percentile.
    pub fn percentile_ns(&self, phase: &str, class: &str, percent: f64) -> u64 {
        let mut buckets: Vec<_> = self.of(phase, class).flat_map(|record| record.buckets.clone()).collect();
        buckets.sort_by_key(|bucket| bucket.index);
        let rank = (self.count(phase, class) as f64 * percent / 100.0).ceil() as u64;
        let mut seen = 0;
        let found = buckets.iter().find(|bucket| {
            seen += bucket.count;
            seen >= rank
        });
        latency::range_of(found.expect("something ended").index).1
    }
}
