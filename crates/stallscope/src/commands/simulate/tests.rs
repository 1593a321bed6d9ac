//! A toy model, written and read back.

use std::path::Path;

use archive::{FlushState, Run};
use model::block::{DeviceNumber, Kind};
use model::event::RunEvent;
use model::metric::{Semantics, Unit};
use model::operation::OperationKind;
use model::stall::{RequestRecord, StallKind};
use simulate::liveness::{Hang, Waiter};
use simulate::observer::{Metric, Observer, Operation, Wait};
use simulate::parameter::{Kind as ParameterKind, Parameter, SettingError, Settings};
use simulate::policy::{Figure, Form, Histogram, Model, Outcome, Policy};
use simulate::random::Random;

use super::request::{Options, SimulationRequest};
use super::simulate_policy;
use crate::recording::args::Requests;
use crate::recording::sharing::SharingArgs;
use crate::ui::args::OutputArgs;

const MS: u64 = 1_000_000;

static TOY: Model = Model {
    name: "toy",
    about: "a writer behind a slow disk",
    policies: &[Policy { name: "hangs", about: "stops" }, Policy { name: "works", about: "goes on" }],
    parameters: &[Parameter { name: "writes", kind: ParameterKind::Count, default: "40", about: "", source: "" }],
    run: toy,
};

const METRICS: &[Metric] =
    &[Metric { name: "toy.dirty", instance: "", unit: Unit::Count, semantics: Semantics::Gauge }];

/// Sequential writes of 10 to 210 ms, each with a short wait, and a wait for a request in its second half.
fn toy(policy: &str, settings: &Settings, seed: u64, observer: &mut dyn Observer) -> Result<Outcome, SettingError> {
    let writes = settings.whole("writes");
    if writes == 0 {
        return Err(SettingError::Contradiction("writes = 0: there is nothing to do".to_owned()));
    }
    let mut random = Random::new(seed);
    observer.metrics(METRICS);
    observer.task(7, "writer 0");
    observer.phase("warmup", false, 0);
    observer.phase("run", true, 50 * MS);
    let mut now_ns = 50 * MS;
    for number in 0..writes {
        let took_ns = 10 * MS + random.below(200) * MS;
        let (start_ns, half_ns, end_ns) = (now_ns, now_ns + took_ns / 2, now_ns + took_ns);
        observer.sample(start_ns, &[Some((number % 3) as i64)]);
        let frames = &["balance_dirty_pages", "generic_perform_write"];
        let short = Wait { tid: 7, start_ns, end_ns: start_ns + 5_000, frames, waker_tid: None, request: None };
        observer.wait(&short);
        observer.request(&request(number as u32, half_ns, end_ns));
        let frames = &["folio_wait_writeback", "generic_perform_write"];
        let long = Wait { tid: 7, start_ns: half_ns, end_ns, frames, waker_tid: Some(0), request: Some(number as u32) };
        observer.wait(&long);
        observer.operation(Operation { class: "write", tid: 7, start_ns, end_ns, bytes: 4096 });
        now_ns = end_ns;
    }
    let hang = (policy == "hangs").then(|| Hang {
        at_ns: now_ns,
        waiters: vec![Waiter {
            task: "writer 0".to_owned(),
            awaits: "the end of days".to_owned(),
            from: Vec::new(),
            since_ns: now_ns - 150 * MS,
        }],
    });
    let figures = vec![Figure { name: "writes", about: "", value: Some(writes as f64), more_is_better: Some(true) }];
    let histograms = vec![Histogram { name: "x per y", form: Form::RpcStats, rows: vec![(1, writes)] }];
    Ok(Outcome { ended_ns: now_ns, hang, events: writes, figures, histograms })
}

fn request(request: u32, queued_ns: u64, completed_ns: u64) -> RequestRecord {
    RequestRecord {
        request,
        device: DeviceNumber::new(8, 0),
        sector: u64::from(request) * 8,
        bytes: 4096,
        kind: Kind::default(),
        tid: 7,
        merges: 0,
        queued_ns: Some(queued_ns),
        got_ns: Some(queued_ns),
        inserted_ns: Some(queued_ns),
        issued_ns: Some(queued_ns),
        completed_ns,
        errno: None,
        throttled: false,
        parts: None,
        in_flight: Vec::new(),
        overtaken_by: Vec::new(),
    }
}

fn simulation(seed: u64) -> SimulationRequest {
    let options = Options {
        sharing: SharingArgs::default(),
        policy: Vec::new(),
        set: Vec::new(),
        seed,
        out: None,
        interval: 100 * MS,
        slower_than: 100 * MS,
        requests: Requests::Slow,
        configuration: None,
        plan: false,
        trace: None,
        device: None,
        list: false,
        output: OutputArgs { json: false, quiet: true },
    };
    SimulationRequest { model: &TOY, options }
}

fn simulated(directory: &Path, policy: usize, seed: u64) -> Run {
    let request = simulation(seed);
    let settings = Settings::new(TOY.parameters);
    let (_, state) = simulate_policy(&request, &TOY.policies[policy], &settings, directory).unwrap();
    assert_eq!(state, FlushState::Whole);
    Run::open(directory).unwrap()
}

fn rows<Row>(batches: archive::Batches<Row>) -> Vec<Row> {
    batches.flat_map(Result::unwrap).collect()
}

#[test]
fn a_simulated_run_reads_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let run = simulated(&folder.path().join("run"), 1, 3);
    assert!(run.check().whole);
    let (intervals, operations) = (rows(run.intervals()), rows(run.operations()));
    assert_eq!(intervals.iter().map(|interval| interval.count).sum::<u64>(), 40);
    assert!(intervals.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns), "intervals leave no gap");
    assert!(intervals[..intervals.len() - 1].iter().all(|interval| interval.end_ns % (100 * MS) == 0));
    for interval in &intervals {
        assert_eq!(interval.count, interval.buckets.iter().map(|bucket| bucket.count).sum::<u64>());
    }
    let slow = operations.iter().filter(|operation| operation.duration_ns >= 100 * MS).count();
    assert!(slow > 0 && slow == operations.len());
    let stalls = rows(run.stalls());
    assert_eq!(stalls.iter().filter(|stall| stall.kind == StallKind::OffCpu).count(), 40);
    let short: Vec<_> = stalls.iter().filter(|stall| stall.kind == StallKind::ShortSleeps).collect();
    assert_eq!(short.iter().map(|stall| stall.count).sum::<u64>(), 40);
    assert_eq!(short.iter().map(|stall| stall.busy_ns).sum::<u64>(), 40 * 5_000);
    assert_eq!(rows(run.stacks()).len(), 2);
    assert_eq!(rows(run.requests()).len(), 40, "slow ones, and those that a wait refers to");
    assert_eq!(rows(run.request_intervals()).iter().map(|sum| sum.count).sum::<u64>(), 40);
    assert_eq!(rows(run.samples()).len(), 40);
    let explanation = crate::reading::explanation::explanation(&run, None, 200, |warning| panic!("{warning}"));
    assert_eq!(explanation.slow_operations as usize, slow);
    let course = run.events().iter().find_map(|event| match event {
        RunEvent::Simulated { course, .. } => Some(course.clone()),
        _ => None,
    });
    assert_eq!(course.unwrap().figures[0].value, Some(40.0));
}

#[test]
fn a_task_in_a_hang_has_an_unfinished_operation() {
    let folder = tempfile::tempdir().unwrap();
    let run = simulated(&folder.path().join("run"), 0, 3);
    let stuck: Vec<_> =
        rows(run.operations()).into_iter().filter(|operation| operation.kind == OperationKind::Stuck).collect();
    assert_eq!(stuck.len(), 1);
    assert_eq!((stuck[0].tid, stuck[0].duration_ns), (7, 150 * MS));
    assert_eq!(rows(run.intervals()).last().unwrap().stuck, 1);
}

#[test]
fn the_same_seed_makes_the_same_rows_and_another_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let rows_of = |name: &str, seed: u64| {
        let run = simulated(&folder.path().join(name), 0, seed);
        let requests: Vec<String> = rows(run.requests()).iter().map(|row| format!("{row:?}")).collect();
        let samples: Vec<u64> = rows(run.samples()).iter().map(|sample| sample.at.monotonic_ns).collect();
        let traced =
            (rows(run.stalls()), rows(run.stacks()), requests, rows(run.request_intervals()), rows(run.tasks()));
        let figures =
            (rows(run.intervals()), rows(run.operations()), samples, rows(run.changes()), rows(run.descriptors()));
        (figures, traced, run.events().to_vec())
    };
    let first = rows_of("first", 5);
    assert!(first == rows_of("second", 5));
    assert!(first != rows_of("third", 6));
}

#[test]
fn contradictory_settings_leave_no_directory() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let mut settings = Settings::new(TOY.parameters);
    settings.set("writes", "0").unwrap();
    let failure = simulate_policy(&simulation(1), &TOY.policies[0], &settings, &directory).err().unwrap();
    assert!(failure.to_string().contains("nothing to do"));
    assert!(!directory.exists());
}

#[test]
fn invalid_options_are_named() {
    let mut request = simulation(1);
    request.options.policy = vec!["helps".to_owned()];
    assert!(request.policies().unwrap_err().to_string().contains("policies: hangs, works"));
    request.options.set = vec!["writes".to_owned()];
    assert!(request.settings().unwrap_err().to_string().contains("NAME=VALUE"));
    request.options.set = vec!["reads=1".to_owned()];
    assert!(request.settings().unwrap_err().to_string().contains("parameters: writes"));
    request.options.policy = Vec::new();
    assert_eq!(request.policies().unwrap().len(), 2);
}
