//! Predictions against the truth: the model's own run under the other policy.

use model::prediction::{Latencies, Prediction};
use model::stall::RequestRecord;

use super::{Question, predict};
use crate::observer::{Metric, Observer, Operation, Wait};
use crate::parameter::Settings;
use crate::sched::MODEL;

#[derive(Default)]
struct Recorder(Vec<RequestRecord>);

impl Observer for Recorder {
    fn task(&mut self, _: u32, _: &str) {}
    fn phase(&mut self, _: &str, _: bool, _: u64) {}
    fn operation(&mut self, _: Operation) {}
    fn wait(&mut self, _: &Wait) {}
    fn request(&mut self, request: &RequestRecord) {
        self.0.push(request.clone());
    }
    fn metrics(&mut self, _: &'static [Metric]) {}
    fn sample(&mut self, _: u64, _: &[Option<i64>]) {}
    fn sample_every_ns(&self) -> u64 {
        1_000_000_000
    }
    fn slow_ns(&self) -> u64 {
        u64::MAX
    }
}

/// Readers and writeback that takes all tags it gets, which is the same load under each policy. Runs are short, so
/// nothing merges.
const LOAD: [(&str, &str); 12] = [
    // Not the default, so that it is not fitted.
    ("budget", "16000"),
    ("duration", "30s"),
    ("readers", "10"),
    ("reader_think", "1ms"),
    ("writers", "2"),
    ("programs", "0"),
    ("run_bios", "1"),
    ("max_request", "4k"),
    ("pool", "shared"),
    ("depth", "4"),
    ("servers", "2"),
    ("service", "800us"),
];

fn recorded(policy: &str, nr_requests: &str) -> Vec<RequestRecord> {
    let mut settings = Settings::new(MODEL.parameters);
    LOAD.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
    settings.set("nr_requests", nr_requests).unwrap();
    let mut recorder = Recorder::default();
    (MODEL.run)(policy, &settings, 3, &mut recorder).unwrap();
    recorder.0
}

fn asked(rows: &[RequestRecord], policies: &[&str]) -> Prediction {
    let mut settings = Settings::new(MODEL.parameters);
    settings.set("budget", "16000").unwrap();
    let question = Question {
        policies: policies.to_vec(),
        recorded_under: Some("deadline"),
        nr_requests: Some(64),
        depth: None,
        servers: None,
        // In the model's own runs waiters come first.
        wake_ns: Some(0),
        settings: &settings,
    };
    predict(rows, &question)
}

fn near(predicted: &Latencies, truth: &Latencies, what: &str) {
    for (is, was, within) in [
        (predicted.p50_ns, truth.p50_ns, 0.15),
        (predicted.p90_ns, truth.p90_ns, 0.3),
        (predicted.p99_ns, truth.p99_ns, 0.3),
    ] {
        let ratio = is.unwrap() as f64 / was.unwrap() as f64;
        assert!((ratio - 1.0).abs() <= within, "{what}: {is:?} for {was:?}");
    }
}

#[test]
fn another_policy_is_predicted_from_a_record_under_mq_deadline() {
    let rows = recorded("deadline", "64");
    let prediction = asked(&rows, &["none", "bfq", "cfq", "deadline"]);
    assert_eq!((prediction.depth, prediction.unusable), (4, 0));
    assert_eq!(prediction.loops.map(|(tasks, _)| tasks), [10, 2, 0]);
    assert_eq!(prediction.servers, 2);
    for predicted in &prediction.predicted {
        let requests = if predicted.policy == "none" { "4" } else { "64" };
        let truth = asked(&recorded(&predicted.policy, requests), &[]).recorded;
        for class in [0, 2] {
            near(&predicted.latencies[class], &truth[class], &format!("{} {}", predicted.policy, truth[class].class));
        }
        assert_eq!(predicted.is_check, predicted.policy == "deadline");
    }
}

#[test]
fn the_same_record_gives_the_same_prediction() {
    let rows = recorded("deadline", "64");
    assert_eq!(asked(&rows, &["bfq"]), asked(&rows, &["bfq"]));
}

#[test]
fn an_empty_record_predicts_nothing() {
    let prediction = asked(&[], &["none"]);
    assert_eq!((prediction.requests, prediction.predicted[0].latencies[0].p50_ns), (0, None));
}

#[test]
fn few_samples_have_no_tail() {
    let rows: Vec<RequestRecord> = recorded("deadline", "64").into_iter().take(300).collect();
    let reads = &asked(&rows, &[]).recorded[0];
    assert!(reads.count < 300 && reads.p50_ns.is_some() && reads.p99_ns.is_none(), "{reads:?}");
}
