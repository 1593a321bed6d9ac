use model::event::RunEvent;
use model::latency::index_of;
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::operation::{Bucket, Fault, IntervalRecord, OperationKind, OperationRecord};
use model::run::RunDescription;
use model::time::Moment;
use proptest::prelude::*;
use serde_json::Value;

use super::{FioJobs, LogKind};

const S: u64 = 1_000_000_000;

fn description() -> RunDescription {
    let mut description =
        RunDescription::new("mine", Moment { monotonic_ns: 10 * S, wall_ns: 1_700_000_000 * S as i64 });
    description.version = "1".into();
    description.host.clock_ticks_per_s = 100;
    description
}

fn phase(name: &str, measured: bool, from_s: u64, to_s: u64) -> [RunEvent; 2] {
    [
        RunEvent::PhaseStarted { phase: name.into(), measured, at_ns: from_s * S },
        RunEvent::PhaseEnded { phase: name.into(), at_ns: to_s * S, bytes: 0 },
    ]
}

fn interval(phase: &str, class: &str, from_s: u64, latencies_ns: &[u64]) -> IntervalRecord {
    let mut counts = std::collections::BTreeMap::new();
    latencies_ns.iter().for_each(|ns| *counts.entry(index_of(*ns)).or_insert(0) += 1);
    IntervalRecord {
        phase: phase.into(),
        class: class.into(),
        start_ns: from_s * S,
        end_ns: (from_s + 1) * S,
        count: latencies_ns.len() as u64,
        bytes: 4096 * latencies_ns.len() as u64,
        sum_ns: latencies_ns.iter().sum(),
        max_ns: latencies_ns.iter().max().copied(),
        buckets: counts.into_iter().map(|(index, count)| Bucket { index, count }).collect(),
        ..IntervalRecord::default()
    }
}

fn json_of(jobs: &FioJobs) -> Value {
    let mut bytes = Vec::new();
    jobs.json(&mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn measured_phases_are_jobs_and_what_fio_does_not_know_is_left_out() {
    let events: Vec<RunEvent> = [phase("warmup", false, 10, 11), phase("a", true, 11, 13), phase("b", true, 13, 14)]
        .into_iter()
        .flatten()
        .collect();
    let mut jobs = FioJobs::new(&description(), &events);
    jobs.interval(&interval("warmup", "read", 10, &[7]));
    jobs.interval(&interval("a", "read", 11, &[1_000, 3_000]));
    jobs.interval(&interval("a", "write", 11, &[]));
    jobs.interval(&interval("a", "read", 12, &[2_000]));
    jobs.interval(&interval("b", "fsync", 13, &[5 * S]));
    jobs.interval(&interval("b", "allocation", 13, &[1]));
    let document = json_of(&jobs);
    assert_eq!(jobs.operations(), 4);
    assert_eq!(jobs.left_out().collect::<Vec<_>>(), ["allocation"]);
    assert_eq!(document["timestamp"], 1_700_000_004);
    let [a, b] = [0, 1].map(|job| &document["jobs"][job]);
    assert_eq!([&a["jobname"], &b["jobname"]], ["a", "b"]);
    assert_eq!(a["job options"]["rw"], "read");
    assert_eq!(a["job options"]["bs"], "4k");
    assert_eq!([&a["read"]["total_ios"], &a["read"]["runtime"], &a["job_runtime"]], [3, 2000, 2000]);
    assert_eq!(a["read"]["iops"], 1.5);
    assert_eq!([&a["read"]["bw_bytes"], &a["read"]["bw_max"], &a["read"]["iops_samples"]], [6144, 8, 2]);
    let latency = &a["read"]["lat_ns"];
    assert_eq!([&latency["min"], &latency["max"], &latency["N"]], [1_000, 3_000, 3]);
    assert_eq!(latency["mean"], 2_000.0);
    assert!((latency["stddev"].as_f64().unwrap() - 1_000.0).abs() < 2.0);
    assert_eq!(latency, &a["read"]["clat_ns"]);
    assert_eq!(latency["bins"], serde_json::json!({ "1000": 1, "2000": 1, "3000": 1 }));
    assert_eq!(latency["percentile"]["50.000000"], 2_000);
    assert_eq!([&a["write"]["total_ios"], &a["write"]["lat_ns"]["N"], &a["trim"]["total_ios"]], [0, 0, 0]);
    assert_eq!([&b["sync"]["total_ios"], &b["sync"]["lat_ns"]["max"]], [1_u64, 5 * S]);
    // Nothing but reads and writes is in the shares.
    assert_eq!([a["latency_us"]["2"].as_f64(), b["latency_ms"][">=2000"].as_f64()], [Some(100.0 / 3.0), Some(0.0)]);
    assert_eq!(a["usr_cpu"], Value::Null, "what is not known is not zero");
}

#[test]
fn logs_are_in_the_order_of_time_and_have_no_latency_where_nothing_finished() {
    let mut jobs = FioJobs::new(&description(), &phase("run", true, 11, 14));
    for (from_s, latencies) in [(11, &[1_000, 3_000][..]), (12, &[]), (13, &[7])] {
        jobs.interval(&interval("run", "read", from_s, latencies));
        jobs.interval(&interval("run", "write", from_s, &[2_000]));
    }
    let log = |kind| {
        let mut bytes = Vec::new();
        jobs.log(kind, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        log(LogKind::Iops),
        [
            "1000, 2, 0, 0, 0",
            "1000, 1, 1, 0, 0",
            "2000, 0, 0, 0, 0",
            "2000, 1, 1, 0, 0",
            "3000, 1, 0, 0, 0",
            "3000, 1, 1, 0, 0"
        ]
    );
    assert_eq!(log(LogKind::Bandwidth)[0], "1000, 8, 0, 0, 0");
    let latencies = log(LogKind::Latency);
    assert_eq!(
        (latencies.len(), latencies[0].as_str(), latencies[2].as_str()),
        (5, "1000, 2000, 0, 0, 0", "2000, 2000, 1, 0, 0")
    );
    assert_eq!(jobs.file_stem(), "rw-iodepth-1-numjobs-1");
}

#[test]
fn the_first_failure_of_a_job_names_its_error_and_wrong_data_are_an_illegal_sequence() {
    let check = |errno, fault, class: &str, expected: i32| {
        let mut jobs = FioJobs::new(&description(), &phase("run", true, 11, 14));
        jobs.operation(&OperationRecord {
            kind: OperationKind::Failed,
            class: class.into(),
            tid: 1,
            start_ns: 12 * S,
            duration_ns: 5,
            bytes: None,
            errno,
            path: None,
            offset_bytes: None,
            fault,
        });
        assert_eq!(json_of(&jobs)["jobs"][0]["error"], expected);
    };
    check(Some(5), None, "read", 5);
    check(None, Some(Fault::Torn), "read", 84);
    check(None, Some(Fault::ShortRead), "read", 0);
    check(Some(12), None, "allocation", 0);
}

#[test]
fn the_machines_cpu_time_is_that_between_the_samples_around_a_job() {
    let mut jobs = FioJobs::new(&description(), &phase("run", true, 11, 13));
    let metric = |id, name: &str| MetricDescriptor {
        id: MetricId(id),
        name: name.into(),
        instance: String::new(),
        unit: Unit::ClockTicks,
        semantics: Semantics::Counter,
        device: None,
    };
    let sample = |(number, s)| SampleHeader {
        sample: number,
        at: Moment { monotonic_ns: s * S, wall_ns: 0 },
        late_ns: 0,
        cpu_ns: 0,
        took_ns: 0,
    };
    let samples: Vec<SampleHeader> = (0..).zip([10, 11, 12, 13, 14]).map(sample).collect();
    jobs.counters(&[metric(1, "stat.cpu.user"), metric(2, "stat.cpu.nice"), metric(3, "stat.cpu.idle")], &samples);
    let change = |sample, metric, value| MetricChange { sample, metric: MetricId(metric), value: Some(value) };
    jobs.changes(&[change(0, 1, 1000), change(0, 2, 0), change(1, 1, 1010), change(3, 1, 1110), change(4, 1, 9999)]);
    jobs.changes(&[change(0, 3, 5), change(4, 3, 5000)]);
    let document = json_of(&jobs);
    assert_eq!(document["jobs"][0]["usr_cpu"], 50.0);
    assert_eq!(document["jobs"][0]["sys_cpu"], Value::Null);
}

proptest! {
    #[test]
    fn every_operation_is_in_one_bin_and_one_range(latencies in proptest::collection::vec(0_u64..30 * S, 1..60)) {
        let mut jobs = FioJobs::new(&description(), &phase("run", true, 11, 12));
        jobs.interval(&interval("run", "write", 11, &latencies));
        let job = &json_of(&jobs)["jobs"][0];
        let bins = job["write"]["clat_ns"]["bins"].as_object().unwrap();
        prop_assert_eq!(bins.values().filter_map(Value::as_u64).sum::<u64>(), latencies.len() as u64);
        // fio's own tool never ends on a later bin.
        prop_assert!(bins.keys().all(|ns| ns.parse::<u64>().unwrap() <= 17_112_760_320));
        let shares = ["latency_ns", "latency_us", "latency_ms"].map(|unit| job[unit].as_object().unwrap());
        prop_assert_eq!(shares.map(|shares| shares.len()), [10, 10, 12]);
        let all: f64 = shares.iter().flat_map(|shares| shares.values()).filter_map(Value::as_f64).sum();
        prop_assert!((all - 100.0).abs() < 1e-6);
        let percentile = job["write"]["lat_ns"]["percentile"].as_object().unwrap();
        prop_assert!(percentile.values().all(|ns| ns.as_u64() <= latencies.iter().max().copied()));
    }
}
