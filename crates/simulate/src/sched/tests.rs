//! The model's figures, and what must hold of any run.

use model::block::{Kind, Operation};
use proptest::prelude::*;

use super::MODEL;
use super::bio::Bio;
use super::elevator::{Choice, Elevator, Entry};
use super::layer::{Due, Layer, Shape};
use super::mix::{Mix, Role};
use super::pool::Limit;
use super::settings::{self, Scheduler};
use crate::observer::{Metric, Observer, Operation as Done, Unobserved, Wait};
use crate::parameter::Settings;
use crate::policy::Outcome;
use crate::random::Random;

fn set(values: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::new(MODEL.parameters);
    values.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
    settings
}

fn run(policy: &str, values: &[(&str, &str)], seed: u64) -> Outcome {
    (MODEL.run)(policy, &set(values), seed, &mut Unobserved).unwrap()
}

fn figure(outcome: &Outcome, name: &str) -> f64 {
    let figure = outcome.figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("no {name}"));
    figure.value.unwrap_or_else(|| panic!("{name} has no value"))
}

fn about(value: f64, documents: f64, factor: f64) {
    let ratio = value / documents;
    assert!((1.0 / factor..factor).contains(&ratio), "{value} beside the document's {documents}");
}

#[test]
fn under_cfq_hundreds_of_reads_complete_during_a_slow_write() {
    let outcome = run("cfq", &[], 1);
    for (name, documents) in [("meanwhile_r", 445.0), ("meanwhile_rm", 22.0), ("meanwhile_ra", 31.0)] {
        about(figure(&outcome, name), documents, 1.3);
    }
    about(figure(&outcome, "meanwhile_w"), 82.0, 1.5);
    about(figure(&outcome, "async_i2d_mean_ns"), 1.48e9, 1.3);
    about(figure(&outcome, "sync_d2c_mean_ns"), 14e6, 1.5);
    assert!(figure(&outcome, "async_i2d_mean_ns") > 50.0 * figure(&outcome, "async_d2c_mean_ns"), "in the queue");
    assert!(figure(&outcome, "read_p99_ns") < 50e6, "sync requests are served");
}

/// By Little's law, the document's mean tag wait, seven times the time in the scheduler, takes seven times 128 tasks.
#[test]
fn a_tag_wait_of_ten_seconds_takes_nine_hundred_waiting_tasks() {
    let outcome = run("cfq", &[("writers", "900")], 1);
    about(figure(&outcome, "async_q2g_mean_ns"), 10.19e9, 1.3);
    about(figure(&outcome, "async_i2d_mean_ns"), 1.48e9, 1.3);
}

#[test]
fn other_schedulers_starve_writes_less() {
    let slow = |policy| figure(&run(policy, &[], 1), "slow_async_writes");
    let cfq = slow("cfq");
    for policy in ["deadline", "bfq", "none"] {
        assert!(slow(policy) * 10.0 < cfq, "{policy}");
    }
}

#[test]
fn promotion_fixes_the_journals_inversion() {
    let fsync = |policy| figure(&run(policy, &[], 1), "fsync_p50_ns");
    assert!(fsync("cfq") > 1e9);
    assert!(fsync("cfq-promote") * 20.0 < fsync("cfq"));
    // mq-deadline knows directions, not sync: promotion only shortens the tag wait.
    assert!(fsync("deadline-promote") * 3.0 > fsync("deadline"));
    assert!(fsync("bfq-promote") < fsync("bfq"));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let short = [("duration", "5s")];
    for policy in MODEL.policies {
        assert_eq!(run(policy.name, &short, 7), run(policy.name, &short, 7), "{}", policy.name);
    }
    assert_ne!(run("cfq", &short, 7), run("cfq", &short, 8));
}

#[test]
fn a_policy_that_the_model_does_not_have_is_an_error() {
    for model in crate::models::ALL {
        let error = (model.run)("mq-deadlin", &Settings::new(model.parameters), 1, &mut Panicking).unwrap_err();
        assert_eq!(error.to_string(), format!("{} has no policy 'mq-deadlin'", model.name));
    }
}

#[test]
fn invalid_settings_are_refused_before_anything_is_reported() {
    for values in [[("depth", "0")], [("nr_requests", "0")], [("writers", "200000")]] {
        assert!((MODEL.run)("cfq", &set(&values), 1, &mut Panicking).is_err());
    }
}

/// Panics at any report.
struct Panicking;

impl Observer for Panicking {
    fn task(&mut self, tid: u32, _: &str) {
        panic!("{tid}");
    }
    fn phase(&mut self, name: &str, _: bool, _: u64) {
        panic!("{name}");
    }
    fn operation(&mut self, operation: Done) {
        panic!("{operation:?}");
    }
    fn wait(&mut self, wait: &Wait) {
        panic!("{wait:?}");
    }
    fn request(&mut self, request: &model::stall::RequestRecord) {
        panic!("{request:?}");
    }
    fn metrics(&mut self, metrics: &'static [Metric]) {
        panic!("{metrics:?}");
    }
    fn sample(&mut self, at_ns: u64, _: &[Option<i64>]) {
        panic!("{at_ns}");
    }
    fn sample_every_ns(&self) -> u64 {
        1
    }
    fn slow_ns(&self) -> u64 {
        1
    }
}

/// Takes all requests and dispatches none.
#[derive(Debug, Default)]
struct Greedy(usize);

impl Elevator for Greedy {
    fn insert(&mut self, _: Entry, _: u64) {
        self.0 += 1;
    }
    fn choose(&mut self, _: u64) -> Choice {
        Choice::Nothing
    }
    fn completed(&mut self, _: &Entry, _: u64) {}
    fn remove(&mut self, _: &Entry) {}
    fn len(&self) -> usize {
        self.0
    }
}

#[test]
fn a_scheduler_that_dispatches_nothing_is_a_hang() {
    let settings = set(&[]);
    let mut layer = Layer::new(settings::shape(&settings).unwrap(), Box::new(Greedy::default()));
    let mut mix = Mix::new(settings::numbers("cfq", &settings).unwrap(), Random::new(1), &mut layer);
    let hang = super::run::until_hang(&mut layer, &mut mix).expect("nothing can happen");
    let program = hang.waiters.iter().find(|waiter| waiter.task == "program 1").expect("it waits");
    assert_eq!(
        (program.awaits.as_str(), program.from.as_slice()),
        ("jbd2_log_wait_commit", &["jbd2 1".to_owned()][..])
    );
    assert_eq!(hang.waiters.iter().filter(|waiter| waiter.task.starts_with("reader")).count(), 12);
    assert!(mix.roles().any(|role| role == Role::Journal));
}

/// A bio and its arrival time.
#[derive(Debug, Clone)]
struct Handed {
    at_us: u64,
    task: u32,
    kind: Kind,
    page: u64,
    promote: bool,
}

fn handed() -> impl Strategy<Value = Handed> {
    let read = Kind::of(Operation::Read);
    let write = Kind::of(Operation::Write);
    let kinds = prop::sample::select(vec![read, write, write, write.with(Kind::SYNC), Kind::of(Operation::None)]);
    (0..20_000_u64, 0..6_u32, kinds, 0..64_u64, prop::bool::weighted(0.1))
        .prop_map(|(at_us, task, kind, page, promote)| Handed { at_us, task, kind, page, promote })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn nothing_is_lost_or_done_twice_and_no_limit_is_passed(
        handed in prop::collection::vec(handed(), 1..200),
        scheduler in prop::sample::select(vec![Scheduler::None, Scheduler::Deadline, Scheduler::Cfq, Scheduler::Bfq]),
        (limit, most, depth, servers) in (1..12_u32, 1..12_u32, 1..9_u32, 1..9_u32),
        shared in any::<bool>(),
        wake_ns in prop::sample::select(vec![0, 400_000]),
        merges in any::<bool>(),
    ) {
        let limit = if shared { Limit::Shared(limit, most.min(limit)) } else { Limit::Separate(limit) };
        let max_sectors = if merges { 64 } else { 0 };
        let shape = Shape { limit, depth, servers, max_sectors, slow_ns: 1_000_000, wake_ns };
        let mut layer = Layer::new(shape, settings::elevator(scheduler, &Settings::new(MODEL.parameters)));
        for (number, handed) in handed.iter().enumerate() {
            layer.agenda.at(handed.at_us * 1000, Due::Task(number as u32));
        }
        let mut random = Random::new(1);
        let mut done = vec![0; handed.len()];
        let mut numbers = std::collections::HashSet::new();
        let mut before_ns = 0;
        while let Some(due) = layer.agenda.next_due() {
            prop_assert!(layer.now_ns() >= before_ns);
            before_ns = layer.now_ns();
            match due {
                Due::Task(number) => {
                    let Handed { task, kind, page, promote, .. } = handed[number as usize];
                    let sectors = if kind.operation() == Operation::None { 0 } else { 8 };
                    let tag = u64::from(number);
                    layer.submit(Bio { task, tag, kind, sector: page * 8, sectors, service_ns: None }, false);
                    if promote {
                        layer.promote(task, 7);
                    }
                }
                Due::Done(id) => {
                    let finished = layer.complete(id);
                    finished.bios.iter().for_each(|bio| done[bio.tag as usize] += 1);
                    let record = finished.record;
                    prop_assert!(numbers.insert(record.request));
                    prop_assert_eq!(record.completed_ns, before_ns);
                    let moments = [record.queued_ns, record.got_ns, record.inserted_ns, record.issued_ns];
                    let moments: Vec<u64> = moments.into_iter().flatten().chain([record.completed_ns]).collect();
                    prop_assert!(moments.is_sorted(), "{:?}", moments);
                }
                Due::Look => layer.look(),
                Due::Kick => {}
            }
            while layer.next_granted().is_some() {}
            layer.dispatch(&mut |_, _| random.time_ns(700_000));
        }
        prop_assert!(done.iter().all(|count| *count == 1), "{:?}", done);
        prop_assert_eq!((layer.in_scheduler(), layer.device.inside(), layer.pool.used()), (0, 0, [0, 0]));
        prop_assert!(!layer.pool.overdrawn() && !layer.device.overfull());
    }
}
