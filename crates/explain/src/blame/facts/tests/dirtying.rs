//! Writers that the limit of dirty pages pauses, from rows, usage and a counter.

use model::block::DeviceNumber;
use model::event::{Ending, RunEvent};
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::time::Moment;
use model::usage::{Resource, UsageRecord};

use crate::blame::tests::stage::{MS, description, stage};
use crate::blame::{Blame, is_of_limits};
use crate::series::SeriesSet;
use crate::waits::{Burst, Dirtying};

const S: u64 = 1000 * MS;
const MIB: u64 = 1 << 20;

/// A limit of 200 MiB.
fn counters() -> SeriesSet {
    let (mut series, name) = (SeriesSet::default(), "vmstat.nr_dirty_threshold");
    assert!(is_of_limits(name));
    let (id, semantics) = (MetricId(1), Semantics::Gauge);
    let (unit, instance) = (Unit::Pages, String::new());
    series.describe(&[MetricDescriptor { id, name: name.into(), instance, unit, semantics, device: None }], |_| true);
    for sample in 0..2 {
        let at = Moment { monotonic_ns: u64::from(sample) * S, wall_ns: 0 };
        series.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 0, took_ns: 0 });
    }
    series.feed(&[MetricChange { sample: 0, metric: id, value: Some(200 * 256) }]);
    series
}

/// Of pauses from 0 to 10 ms and then at `again_ms`, by a process that makes 1 MiB dirty in each ms, in a recording of
/// `ended_ms`.
fn bursts(again_ms: u64, ended_ms: u64, words: &str) -> Option<Vec<(u64, bool)>> {
    let pause = "|ssssssssss|";
    let mut stage = stage(&format!("op:write 7 |==========|\noff 7 {pause} stack=balance_dirty_pages {words}"));
    let mut again = stage.clone();
    again.operations.iter_mut().for_each(|operation| operation.start_ns += again_ms * MS);
    for stall in &mut again.stalls {
        stall.start_ns += again_ms * MS;
        stall.woken_ns = stall.woken_ns.map(|ns| ns + again_ms * MS);
    }
    stage.operations.extend(again.operations);
    stage.stalls.extend(again.stalls);
    let usage =
        |resource, pid| UsageRecord { pid: Some(pid), bytes: 100_000 * MIB, ..UsageRecord::new(resource, 0, 100 * S) };
    let mut blame = Blame::new(None, &description(true));
    blame.stalls(&stage.stalls);
    blame.operations(&stage.operations);
    blame.stacks(&stage.stacks);
    blame.usage(&[usage(Resource::Dirtied, 7), usage(Resource::Dirtied, 8), usage(Resource::Reads, 7)]);
    blame.events(&[RunEvent::Ended { at_ns: ended_ms * MS, how: Ending::Done }]);
    blame.limits(&counters(), 4096);
    let Dirtying { limit_bytes, bursts } = blame.finish_with_accounting().1.waits(MS).dirtying?;
    assert_eq!(limit_bytes, 200 * MIB);
    Some(bursts.into_iter().map(|Burst { dirtied_bytes, goes_on }| (dirtied_bytes / MIB, goes_on)).collect())
}

#[test]
fn pauses_that_follow_one_another_are_a_burst_which_ends_or_not() {
    assert_eq!(bursts(500, 5000, ""), Some(vec![(510, false)]));
    assert_eq!(bursts(500, 1000, ""), Some(vec![(510, true)]), "paused until the end");
    assert_eq!(bursts(3000, 9000, ""), Some(vec![(10, false), (10, false)]), "quiet between them");
    assert_eq!(bursts(3000, 3500, ""), Some(vec![(10, false), (10, true)]));
    assert_eq!(bursts(500, 1000, "watched"), Some(vec![(510, false)]), "the command's work ends with the recording");
}

/// Process 8 fills what the cgroup of process 7 may have dirty, and process 9, which is elsewhere, writes more to the
/// same disk.
fn blamed_for_pages(limit_mib: u64) -> Vec<String> {
    let detail = format!("dirty_pages;7,0;{},{},{MIB},{MIB},{MIB};7:0", 9 * MIB, limit_mib * MIB);
    let stage =
        stage(&format!("op:write 7 |==========|\noff 7 |ssssssssss| stack=balance_dirty_pages detail={detail}"));
    let usage = |resource, pid, bytes: u64, cgroup: Option<&str>| UsageRecord {
        pid: Some(pid),
        bytes: bytes * MIB,
        count: bytes,
        device: (resource == Resource::DeviceWrite).then_some(DeviceNumber::new(7, 0)),
        limit: cgroup.map(str::to_owned),
        cgroup: cgroup.map(str::to_owned),
        ..UsageRecord::new(resource, 0, 100 * S)
    };
    let small = Some("/small");
    let mut blame = Blame::new(None, &description(true));
    blame.stalls(&stage.stalls);
    blame.operations(&stage.operations);
    blame.stacks(&stage.stacks);
    blame.usage(&[usage(Resource::Memory, 7, 1, small), usage(Resource::Dirtied, 8, 10_000, small)]);
    blame.usage(&[usage(Resource::Dirtied, 9, 90_000, None), usage(Resource::DeviceWrite, 9, 90_000, None)]);
    blame.limits(&counters(), 4096);
    let culprits = blame.finish_with_accounting().0.culprits;
    culprits.iter().filter_map(|culprit| Some(culprit.task.as_ref()?.tid.to_string())).collect()
}

#[test]
fn pages_within_a_memory_cgroups_limit_are_of_the_tasks_below_it() {
    assert_eq!(blamed_for_pages(12), ["8"]);
    assert_eq!(blamed_for_pages(190), ["9"], "the machine's limit");
}
