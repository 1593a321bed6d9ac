//! The cost of sampling on this machine: CPU per sample and source, changes per sample, memory. With a root, that of
//! the machine whose /proc and /sys are below it: one with more CPUs or devices, made of files.
//!
//!     cargo run --release -p record --example sample_cost -- [samples] [interval_ms] [memory cgroup, or -] [root]

use std::path::{Path, PathBuf};
use std::time::Duration;

use record::{LoadCgroup, Roots, Sample, SamplerOptions, SamplerSet};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (samples, interval_ms) = (number(200), number(50));
    let cgroup = arguments.next().filter(|name| name != "-").map(|name| LoadCgroup {
        label: "box".to_owned(),
        memory_v1: Some(PathBuf::from("/sys/fs/cgroup/memory").join(&name)),
        blkio_v1: Some(PathBuf::from("/sys/fs/cgroup/blkio").join(&name)),
        v2: None,
    });
    let roots = arguments.next().map_or_else(Roots::default, |root| Roots::below(Path::new(&root)));
    let (mut set, findings) = SamplerSet::discover(&roots, &SamplerOptions { cgroup, ..SamplerOptions::default() });
    for finding in findings {
        println!("{}: {}", finding.capability, finding.why.unwrap_or_default());
    }
    let mut out = Sample::default();
    set.sample(0, &mut out);
    println!("first sample: {} metrics, {} values", out.new_descriptors.len(), out.changes.len());
    let first: Vec<_> = set.costs().collect();
    for sample in 1..=samples {
        std::thread::sleep(Duration::from_millis(interval_ms));
        set.sample(sample as u32, &mut out);
        for failure in &out.failures {
            println!("sample {sample}: {}: {}", failure.source, failure.why);
        }
    }
    print_costs(&set, &first);
}

fn print_costs(set: &SamplerSet, first: &[record::SourceCost]) {
    println!("{:<12} {:>10} {:>10} {:>10} {:>10}", "source", "first us", "us/sample", "worst us", "changes");
    let (mut cpu_us, mut changes) = (0.0, 0.0);
    for (cost, first) in set.costs().zip(first) {
        let samples = (cost.samples - 1).max(1) as f64;
        let us = (cost.cpu_ns - first.cpu_ns) as f64 / 1e3 / samples;
        let per_sample = (cost.changes - first.changes) as f64 / samples;
        let (first_us, worst_us) = (first.cpu_ns as f64 / 1e3, cost.worst_ns as f64 / 1e3);
        println!("{:<12} {first_us:>10.1} {us:>10.1} {worst_us:>10.1} {per_sample:>10.1}", cost.source);
        cpu_us += us;
        changes += per_sample;
    }
    println!("{:<12} {:>10} {cpu_us:>10.1} {:>10} {changes:>10.1}", "all", "", "");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(line) = status.lines().find(|line| line.starts_with("VmHWM")) {
        println!("{line}");
    }
}
