//! Memory cgroups at their limit, from counters and usage.

use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::time::Moment;
use model::usage::{Resource, UsageRecord};

use crate::blame::tests::stage::{MS, description, stage};
use crate::blame::{Blame, is_of_limits};
use crate::series::SeriesSet;
use crate::waits::MemoryLimit;

const MIB: i64 = 1 << 20;

/// Counters of `/a`, sampled every 10 ms.
fn counters(metrics: &[(&str, &[i64])]) -> SeriesSet {
    let mut series = SeriesSet::default();
    for (id, (name, _)) in (1..).map(MetricId).zip(metrics) {
        assert!(is_of_limits(name));
        let (unit, semantics) = match name.contains("refault") {
            true => (Unit::Count, Semantics::Counter),
            false => (Unit::Bytes, Semantics::Gauge),
        };
        let instance = "/a".into();
        let descriptor = MetricDescriptor { id, name: (*name).into(), instance, unit, semantics, device: None };
        series.describe(&[descriptor], |_| true);
    }
    for sample in 0..3 {
        let at = Moment { monotonic_ns: u64::from(sample) * 10 * MS, wall_ns: 0 };
        series.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 0, took_ns: 0 });
        let values = (1..).map(MetricId).zip(metrics);
        let changes: Vec<MetricChange> = values
            .map(|(metric, (_, values))| MetricChange { sample, metric, value: values.get(sample as usize).copied() })
            .collect();
        series.feed(&changes);
    }
    series
}

/// The limits of a recording in which `/a` and a cgroup in it read 3 MiB at first, and then another 9 MiB.
fn limits(metrics: &[(&str, &[i64])]) -> Vec<MemoryLimit> {
    let of = |resource, start_ms: u64, cgroup: &str, mib: u64| UsageRecord {
        pid: Some(7),
        cgroup: Some(cgroup.into()),
        bytes: mib << 20,
        ..UsageRecord::new(resource, start_ms * MS, (start_ms + 10) * MS)
    };
    let both =
        |start_ms, cgroup, mib| [Resource::Reads, Resource::Memory].map(|of_it| of(of_it, start_ms, cgroup, mib));
    let mut usage: Vec<UsageRecord> = Vec::new();
    usage.extend([both(0, "/a", 2), both(0, "/a/b", 1), both(0, "/ab", 100), both(10, "/a", 9)].into_iter().flatten());
    let mut blame = Blame::new(None, &description(true));
    blame.operations(&stage("op:read 7 |==|").operations);
    blame.usage(&usage);
    blame.limits(&counters(metrics), 4096);
    blame.finish_with_accounting().1.waits(MS).memory
}

fn limit(refaulted_mib: u64, read_mib: u64) -> MemoryLimit {
    let (bytes, filled_bytes) = (8 << 20, 12 << 20);
    MemoryLimit {
        cgroup: "/a".into(),
        bytes,
        refaulted_bytes: refaulted_mib << 20,
        read_bytes: read_mib << 20,
        filled_bytes,
        ..MemoryLimit::default()
    }
}

#[test]
fn a_limit_that_was_reached_is_known_with_what_was_read_again() {
    let (most, little) = ([MIB, 8 * MIB, 5 * MIB], [MIB, 2 * MIB, MIB]);
    let of =
        |used: &[i64], bytes: i64| limits(&[("cgroups.memory.max", &[bytes; 3]), ("cgroups.memory.current", used)]);
    assert_eq!(of(&most, 8 * MIB), [limit(0, 0)]);
    assert_eq!(of(&little, 8 * MIB), []);
    assert_eq!(of(&most, i64::MAX / 4096 * 4096), [], "no limit of cgroup v1");
    // 6 MiB of pages; the kernel counts them from the first sample on, or from the second.
    let counted = |pages: &[i64]| {
        let bytes: &[i64] = &[8 * MIB; 3];
        limits(&[
            ("cgroups.memory.limit_in_bytes", bytes),
            ("cgroups.memory.usage_in_bytes", &most),
            ("cgroups.memory.stat.total_workingset_refault_file", pages),
        ])
    };
    assert_eq!(counted(&[100, 100, 100 + 1536]), [limit(6, 12)]);
    assert_eq!(counted(&[100, 1636]), [limit(6, 12)], "until it is removed");
    let swapped = limits(&[
        ("cgroups.memory.max", &[8 * MIB; 3]),
        ("cgroups.memory.current", &most),
        ("cgroups.memory.stat.workingset_refault_anon", &[0, 512, 1536]),
    ]);
    assert_eq!(swapped, [MemoryLimit { swapped_in_bytes: 6 << 20, ..limit(0, 0) }]);
}
