//! What the archive costs: bytes on disk for each sample, CPU and wall time for each flush.
//!
//!     cargo run --release -p archive --example cost -- DIRECTORY [SAMPLES] [METRICS] [nosync]
//!
//! Writes samples of noisy counters, of which about one in six changes each second, and a load's intervals of five
//! classes, as a run of one sample a second would, but without waiting between them.

use std::env;
use std::path::PathBuf;
use std::time::Instant;

use archive::{FlushState, Writer, WriterOptions};
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::operation::{Bucket, IntervalRecord};
use model::run::RunDescription;
use model::time::Moment;

/// A small generator of noise: splitmix64.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) as f64 / u64::MAX as f64
    }
}

/// A counter or gauge: how often it changes, and by how much.
struct Metric {
    value: i64,
    rate: f64,
    chance: f64,
    gauge: bool,
}

fn metrics(count: usize, noise: &mut Noise) -> Vec<Metric> {
    let metric = |number: usize| Metric {
        value: 10_f64.powf(noise.next() * 10.0) as i64,
        rate: 10_f64.powf(noise.next() * 5.0),
        chance: match number * 100 / count {
            0..10 => 0.95,
            10..20 => 0.5,
            20..50 => 0.05,
            _ => 0.0,
        },
        gauge: number.is_multiple_of(4),
    };
    (0..count).map(metric).collect()
}

fn step(metrics: &mut [Metric], sample: u32, noise: &mut Noise) -> Vec<MetricChange> {
    let mut changes = Vec::new();
    for (number, metric) in metrics.iter_mut().enumerate() {
        if sample == 0 || noise.next() < metric.chance {
            let by = (metric.rate * (noise.next() + noise.next() + 0.1)) as i64 + 1;
            metric.value += if metric.gauge && noise.next() < 0.5 { -by } else { by };
            changes.push(MetricChange { sample, metric: MetricId(number as u32), value: Some(metric.value) });
        }
    }
    changes
}

fn intervals(at: Moment, noise: &mut Noise) -> Vec<IntervalRecord> {
    let record = |class: &str| IntervalRecord {
        phase: "run".into(),
        class: class.into(),
        start_ns: at.monotonic_ns - 1_000_000_000,
        end_ns: at.monotonic_ns,
        count: 120,
        sum_ns: (noise.next() * 1e9) as u64,
        max_ns: Some((noise.next() * 1e8) as u64),
        buckets: (0..60).map(|n| Bucket { index: 9000 + n * 40 + (noise.next() * 40.0) as u32, count: 2 }).collect(),
        ..IntervalRecord::default()
    };
    ["read", "write", "allocation", "round", "walk"].map(record).into()
}

fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn description() -> RunDescription {
    RunDescription { sample_interval_ns: 1_000_000_000, ..RunDescription::new("cost", Moment::default()) }
}

fn descriptors(count: usize) -> Vec<MetricDescriptor> {
    let descriptor = |number| MetricDescriptor {
        id: MetricId(number as u32),
        name: format!("vmstat.field_{number}"),
        instance: String::new(),
        unit: Unit::Pages,
        semantics: Semantics::Counter,
        device: None,
    };
    (0..count).map(descriptor).collect()
}

/// Costs of the flushes.
#[derive(Default)]
struct Cost {
    cpu_ns: Vec<u64>,
    wall_ns: Vec<u64>,
    changes: usize,
}

fn write(mut writer: Writer, samples: u32, count: usize, with_load: bool) -> (Cost, u64, u64) {
    let mut noise = Noise(1);
    let mut all = metrics(count, &mut noise);
    let mut cost = Cost::default();
    writer.describe(&descriptors(count));
    let mut now = Moment::default();
    for sample in 0..samples {
        let ns = u64::from(sample + 1) * 1_000_000_000 + (noise.next() * 1e5) as u64;
        now = Moment { monotonic_ns: ns, wall_ns: 1_795_000_000_000_000_000 + ns as i64 };
        let changes = step(&mut all, sample, &mut noise);
        let records = if with_load { intervals(now, &mut noise) } else { Vec::new() };
        cost.changes += changes.len();
        let mut jitter = |ns: f64| (noise.next() * ns) as u64;
        let (late_ns, cpu_ns_of_it, took_ns) = (jitter(1e5), jitter(2e6), jitter(3e6));
        let (cpu, wall) = (cpu_ns(), Instant::now());
        writer.sample(SampleHeader { sample, at: now, late_ns, cpu_ns: cpu_ns_of_it, took_ns }, &changes);
        writer.intervals(records);
        assert_eq!(writer.flush(now), FlushState::Whole);
        cost.cpu_ns.push(cpu_ns() - cpu);
        cost.wall_ns.push(wall.elapsed().as_nanos() as u64);
    }
    let written = writer.bytes_written();
    let closed = writer.close(now).expect("the run can be closed");
    (cost, closed.bytes, written)
}

fn show(name: &str, (mut cost, bytes, written): (Cost, u64, u64), samples: u32) {
    let mean = |values: &[u64]| values.iter().sum::<u64>() as f64 / values.len() as f64 / 1e6;
    let (cpu, wall) = (mean(&cost.cpu_ns), mean(&cost.wall_ns));
    cost.cpu_ns.sort_unstable();
    let of = |share: f64| cost.cpu_ns[((cost.cpu_ns.len() - 1) as f64 * share) as usize] as f64 / 1e6;
    println!(
        "{name}: {} changes, {} B kept, {} B written per sample; CPU per flush {cpu:.3} ms (median {:.3}, p99 {:.3}, \
         max {:.3}); wall {wall:.3} ms",
        cost.changes / samples as usize,
        bytes / u64::from(samples),
        written / u64::from(samples),
        of(0.5),
        of(0.99),
        of(1.0),
    );
}

fn main() {
    let mut arguments = env::args().skip(1);
    let base = PathBuf::from(arguments.next().expect("usage: cost DIRECTORY [SAMPLES] [METRICS] [nosync]"));
    let mut number = |default: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (samples, count) = (number(600) as u32, number(1000));
    let sync = env::args().all(|argument| argument != "nosync");
    for (name, with_load) in [("samples only", false), ("samples and load", true)] {
        let options = WriterOptions { sync, ..WriterOptions::default() };
        let writer = Writer::create(&base.join(name.replace(' ', "-")), &description(), options);
        show(name, write(writer.expect("the directory is new"), samples, count, with_load), samples);
    }
}
