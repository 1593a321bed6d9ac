//! The model of FreeBSD's buffer cache: what holds for any settings, and the document's figures.

use model::stall::RequestRecord;
use proptest::prelude::*;
use simulate::bufcache::MODEL;
use simulate::observer::{Metric, Observer, Operation, Unobserved, Wait};
use simulate::parameter::{SettingError, Settings};
use simulate::policy::Outcome;

fn settings(set: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::new(MODEL.parameters);
    for (name, value) in set {
        settings.set(name, value).unwrap();
    }
    settings
}

fn run(policy: &str, set: &[(&str, &str)]) -> Outcome {
    (MODEL.run)(policy, &settings(set), 1, &mut Unobserved).unwrap()
}

fn figure(outcome: &Outcome, name: &str) -> f64 {
    outcome.figures.iter().find(|figure| figure.name == name).unwrap().value.unwrap_or(f64::NAN)
}

/// Keeps everything.
#[derive(Default, Debug, PartialEq)]
struct Recorder {
    tasks: Vec<(u32, String)>,
    operations: Vec<Operation>,
    unfinished: Vec<Operation>,
    waits: Vec<Wait>,
    requests: Vec<RequestRecord>,
    names: Vec<&'static str>,
    samples: Vec<(u64, Vec<Option<i64>>)>,
    last_ns: u64,
}

impl Recorder {
    fn now(&mut self, at_ns: u64) {
        assert!(at_ns >= self.last_ns, "time went backward, from {} to {at_ns}", self.last_ns);
        self.last_ns = at_ns;
    }

    fn values(&self, name: &str) -> impl Iterator<Item = i64> {
        let index = self.names.iter().position(|metric| *metric == name).unwrap();
        self.samples.iter().map(move |(_, values)| values[index].unwrap())
    }
}

impl Observer for Recorder {
    fn task(&mut self, tid: u32, name: &str) {
        assert!(tid != 0 && self.tasks.iter().all(|(known, _)| *known != tid));
        self.tasks.push((tid, name.to_owned()));
    }

    fn phase(&mut self, _name: &str, measured: bool, at_ns: u64) {
        assert!(measured && at_ns == 0);
    }

    fn operation(&mut self, operation: Operation) {
        self.now(operation.end_ns);
        self.operations.push(operation);
    }

    fn unfinished(&mut self, operation: Operation) {
        self.now(operation.end_ns);
        self.unfinished.push(operation);
    }

    fn wait(&mut self, wait: &Wait) {
        self.now(wait.end_ns);
        self.waits.push(wait.clone());
    }

    fn request(&mut self, request: &RequestRecord) {
        self.now(request.completed_ns);
        self.requests.push(request.clone());
    }

    fn metrics(&mut self, metrics: &'static [Metric]) {
        self.names = metrics.iter().map(|metric| metric.name).collect();
    }

    fn sample(&mut self, at_ns: u64, values: &[Option<i64>]) {
        assert_eq!(at_ns, self.samples.len() as u64 * self.sample_every_ns());
        self.samples.push((at_ns, values.to_vec()));
    }

    fn sample_every_ns(&self) -> u64 {
        10_000_000
    }

    fn slow_ns(&self) -> u64 {
        0
    }
}

fn record(policy: &str, settings: &Settings, seed: u64) -> (Outcome, Recorder) {
    let mut recorder = Recorder::default();
    let outcome = (MODEL.run)(policy, settings, seed, &mut recorder).unwrap();
    (outcome, recorder)
}

prop_compose! {
    /// A small machine under any load.
    fn any_settings()(
        dd in any::<bool>(),
        rewriters in 1_u64..5,
        shared in any::<bool>(),
        block in prop::sample::select(vec![16_u64, 32, 64]),
        io in prop::sample::select(vec![4_u64, 8, 16]),
        memory_mib in 20_u64..300,
        fragmentation in prop::sample::select(vec!["0", "0.01", "0.3", "1"]),
        bkvasize in prop::sample::select(vec!["16k", "32k", "64k"]),
        file_mib in 1_u64..200,
        device_mib in 20_u64..2000,
        scan_ns in 0_u64..300,
    ) -> Settings {
        let kib = |value: u64| format!("{value}k");
        settings(&[
            ("workload", if dd { "dd" } else { "rewrite" }),
            ("rewriters", &rewriters.to_string()),
            ("offsets", if shared { "shared" } else { "independent" }),
            ("block_size", &kib(block)),
            ("io_size", &kib(io)),
            ("dd_size", "1m"),
            ("memory", &kib(memory_mib * 1024)),
            ("fragmentation", fragmentation),
            ("bkvasize", bkvasize),
            ("file_size", &kib(file_mib * 1024)),
            ("device_rate", &kib(device_mib * 1024)),
            ("scan_time", &format!("{scan_ns}ns")),
            ("runtime", "1500ms"),
        ])
    }
}

/// What is true of any course.
fn check(outcome: &Outcome, recorded: &Recorder) {
    for (tid, _) in &recorded.tasks {
        let own: Vec<&Operation> = recorded.operations.iter().filter(|operation| operation.tid == *tid).collect();
        assert!(own.windows(2).all(|two| two[0].end_ns <= two[1].start_ns), "calls of {tid} overlap");
        assert!(own.windows(2).all(|two| two[0].class != two[1].class || two[0].class == "write"));
        let waits: Vec<&Wait> = recorded.waits.iter().filter(|wait| wait.tid == *tid).collect();
        assert!(waits.windows(2).all(|two| two[0].end_ns <= two[1].start_ns), "waits of {tid} overlap");
    }
    // Nothing lost, nothing done twice.
    let mut numbers: Vec<u32> = recorded.requests.iter().map(|request| request.request).collect();
    numbers.sort_unstable();
    assert!(numbers.windows(2).all(|two| two[0] != two[1]));
    for wait in &recorded.waits {
        assert!(wait.request.is_none_or(|request| numbers.binary_search(&request).is_ok()), "{wait:?}");
    }
    let written: u64 = recorded.operations.iter().filter(|one| one.class == "write").map(|one| one.bytes).sum();
    let active_s = outcome.hang.as_ref().map_or(outcome.ended_ns, |hang| hang.at_ns) as f64 / 1e9;
    assert!((figure(outcome, "throughput_bytes_per_s") * active_s - written as f64).abs() < 1.0);
    let last_ns = recorded.samples.last().unwrap().0;
    let moved: u64 =
        recorded.requests.iter().filter(|one| one.completed_ns < last_ns).map(|one| u64::from(one.bytes)).sum();
    let counted =
        recorded.values("device.bytes_read").last().unwrap() + recorded.values("device.bytes_written").last().unwrap();
    assert_eq!(counted as u64, moved);
    // Limits.
    let most = figure(outcome, "hidirtybuffers") as i64;
    assert!(recorded.values("bufcache.numdirtybuffers").all(|dirty| (0..=most).contains(&dirty)));
    let space = recorded.values("bufcache.bufspace").zip(recorded.values("bufcache.hibufspace"));
    assert!({ space }.all(|(used, most)| (0..=most).contains(&used)));
    for counter in ["bufcache.bytes_written_by_calls", "device.bytes_read", "device.bytes_written"] {
        let values: Vec<i64> = recorded.values(counter).collect();
        assert!(values.is_sorted(), "{counter}");
    }
    assert!(recorded.last_ns <= outcome.ended_ns);
    if let Some(hang) = &outcome.hang {
        assert!(hang.waiters.iter().all(|waiter| waiter.since_ns <= hang.at_ns && !waiter.from.is_empty()));
        assert!(recorded.operations.iter().all(|operation| operation.end_ns <= hang.at_ns));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whatever_is_set_nothing_is_lost_and_no_limit_is_passed(
        settings in any_settings(), policy in 0..MODEL.policies.len(), seed in any::<u64>(),
    ) {
        let (outcome, recorded) = record(MODEL.policies[policy].name, &settings, seed);
        check(&outcome, &recorded);
    }
}

#[test]
fn the_same_seed_gives_the_same_course_and_who_looks_changes_nothing() {
    let settings = settings(&[("memory", "600m"), ("runtime", "8s")]);
    let (outcome, recorded) = record("original", &settings, 7);
    assert_eq!((&outcome, &recorded), (&record("original", &settings, 7).0, &record("original", &settings, 7).1));
    assert_eq!(outcome, (MODEL.run)("original", &settings, 7, &mut Unobserved).unwrap());
    assert_ne!(recorded.operations, record("original", &settings, 8).1.operations);
}

#[test]
fn two_rewriters_hang_with_all_space_dirty_below_the_limit_of_dirty_buffers() {
    let outcome = run("original", &[]);
    let hang = outcome.hang.as_ref().expect("a hang");
    let who: Vec<(&str, Vec<&str>)> = { hang.waiters.iter() }
        .map(|waiter| (waiter.task.as_str(), waiter.from.iter().map(String::as_str).collect()))
        .collect();
    assert_eq!(
        who,
        [
            ("rewriter 1", vec!["bufdaemon"]),
            ("rewriter 2", vec!["bufdaemon"]),
            ("bufdaemon", vec!["rewriter 1", "rewriter 2"])
        ]
    );
    // The document: 52,098 of 52,139.
    let dirty = figure(&outcome, "numdirtybuffers_end");
    assert!((52_090.0..52_110.0).contains(&dirty), "{dirty}");
    assert_eq!(figure(&outcome, "hidirtybuffers"), 52_139.0);
    // The document: around 300 MB/s, then 0.
    let most = figure(&outcome, "device_most_bytes_per_s");
    assert!((250e6..400e6).contains(&most), "{most}");
    assert_eq!(figure(&outcome, "throughput_last_bytes_per_s"), 0.0);
}

#[test]
fn a_hang_is_reported_as_waits_that_never_end() {
    let settings = settings(&[("memory", "1g"), ("runtime", "60s")]);
    let (outcome, recorded) = record("original", &settings, 3);
    check(&outcome, &recorded);
    let hang = outcome.hang.expect("a hang");
    assert!(outcome.ended_ns > hang.at_ns + 4_000_000_000);
    let last = |wait: &&Wait| wait.end_ns == outcome.ended_ns && wait.tid != 20;
    let last: Vec<&Wait> = recorded.waits.iter().filter(last).collect();
    assert_eq!(last.len(), 2);
    assert!(
        recorded.unfinished.iter().all(|read| read.class == "read" && last.iter().any(|wait| wait.tid == read.tid))
    );
    assert_eq!(recorded.unfinished.len(), 2);
    assert!(last.iter().all(|wait| wait.frames.contains(&"getnewbuf") && wait.frames.contains(&"ffs_read")));
    assert_eq!(recorded.samples.last().unwrap().0 / 1_000_000_000, outcome.ended_ns / 1_000_000_000);
}

#[test]
fn one_rewriter_stays_at_dirtybufthresh_and_goes_on() {
    let outcome = run("original", &[("rewriters", "1")]);
    assert_eq!(outcome.hang, None);
    let most = figure(&outcome, "numdirtybuffers_max");
    assert!((46_900.0..=46_936.0).contains(&most), "{most}");
    assert!(figure(&outcome, "throughput_last_bytes_per_s") > 10e6);
}

#[test]
fn noclusterw_keeps_few_dirty_buffers_and_its_throughput() {
    let outcome = run("noclusterw", &[("runtime", "10s")]);
    // The document: 15 dirty buffers, 550 to 700 MB/s.
    assert_eq!(outcome.hang, None);
    assert!(figure(&outcome, "numdirtybuffers_max") <= 15.0);
    assert!((500e6..750e6).contains(&figure(&outcome, "device_bytes_per_s")));
    assert!(figure(&outcome, "device_least_bytes_per_s") > 450e6);
}

#[test]
fn independent_offsets_and_each_cure_do_not_hang() {
    let independent = run("original", &[("offsets", "independent"), ("runtime", "8s")]);
    let noclusterw = run("noclusterw", &[("runtime", "8s")]);
    assert_eq!(independent.hang, None);
    assert!(figure(&independent, "numdirtybuffers_max") < 100.0);
    for policy in ["ignore-seqcount", "per-direction"] {
        let outcome = run(policy, &[("runtime", "8s")]);
        assert_eq!(outcome.hang, None, "{policy}");
        assert!(figure(&outcome, "numdirtybuffers_max") < 2000.0, "{policy}");
        let ratio = figure(&outcome, "throughput_bytes_per_s") / figure(&noclusterw, "throughput_bytes_per_s");
        assert!(ratio > 0.9, "{policy}: {ratio}");
    }
    assert_eq!(run("helper-upgrade", &[]).hang, None);
}

#[test]
fn where_the_space_is_larger_than_the_limit_of_dirty_buffers_it_is_slow_but_does_not_hang() {
    // The document: 13,059 with BKVASIZE 64 KiB; 32 and 16 KiB jump between little and much.
    let counted = run("bkvasize-64k", &[]);
    assert_eq!((counted.hang.is_none(), figure(&counted, "hidirtybuffers")), (true, 13_059.0));
    assert!(figure(&counted, "numdirtybuffers_max") >= 13_058.0);
    for block in ["32k", "16k"] {
        let outcome = run("original", &[("block_size", block), ("runtime", "120s")]);
        assert_eq!(outcome.hang, None);
        let (least, most) = (figure(&outcome, "device_least_bytes_per_s"), figure(&outcome, "device_most_bytes_per_s"));
        assert!(least < 150e6 && most > 3.0 * least, "{block}: {least} to {most}");
        assert!(figure(&outcome, "numdirtybuffers_max") >= 52_138.0);
    }
}

#[test]
fn dd_is_the_faster_the_larger_the_blocks() {
    let mb_per_s = |block: &str| {
        let outcome = run("original", &[("workload", "dd"), ("block_size", block), ("runtime", "5s")]);
        assert!(outcome.hang.is_none() && figure(&outcome, "numdirtybuffers_max") < 50.0);
        figure(&outcome, "throughput_bytes_per_s") / 1e6
    };
    for (block, document) in [("64k", 1218.0), ("32k", 844.0), ("16k", 518.0)] {
        let model = mb_per_s(block);
        assert!((model / document - 1.0).abs() < 0.05, "{block}: {model} for {document}");
    }
}

#[test]
fn a_lower_dirtybufthresh_prevents_the_hang() {
    // The document: dirtybufthresh times the processes has to be slightly less than hidirtybuffers.
    assert_eq!(run("original", &[("dirtybufthresh", "25000")]).hang, None);
    assert!(run("original", &[("dirtybufthresh", "25000"), ("rewriters", "3")]).hang.is_some());
    assert_eq!(run("original", &[("dirtybufthresh", "17000"), ("rewriters", "3")]).hang, None);
}

#[test]
fn contradictions_are_named() {
    for (set, named) in [
        (("block_size", "10k"), "block_size"),
        (("io_size", "3k"), "io_size"),
        (("memory", "1m"), "memory"),
        (("rewriters", "0"), "rewriters"),
        (("file_size", "1k"), "file_size"),
        (("iosize_max", "32k"), "iosize_max"),
        (("device_rate", "0"), "device_rate"),
    ] {
        let error = (MODEL.run)("original", &settings(&[set]), 1, &mut Unobserved).unwrap_err();
        assert!(matches!(&error, SettingError::Contradiction(what) if what.contains(named)), "{set:?}: {error}");
    }
}
