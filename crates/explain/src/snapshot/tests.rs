mod same_eyes;

use model::block::{DeviceNumber, Kind, Operation};
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::operation::{Bucket, IntervalRecord, OperationKind, OperationRecord};
use model::run::{Device, Mount, RunDescription};
use model::stall::{
    RequestIntervalRecord, StackRecord, StallKind, StallRecord, TaskRecord, TraceSettings, request_bucket,
};
use model::time::Moment;

use super::{Snapshot, SnapshotBuilder, Window, wanted_metric};
use crate::blame::{Cause, Scope};
use crate::series::SeriesSet;

const S: u64 = 1_000_000_000;

fn run() -> RunDescription {
    RunDescription {
        slower_than_ns: S,
        report_interval_ns: Some(S),
        trace: Some(TraceSettings { slow_ns: S, interval_ns: S / 100, all_requests: false }),
        devices: vec![Device {
            number: "7:0".into(),
            name: "loop0".into(),
            identity: "disk.img".into(),
            ..Device::default()
        }],
        mounts: vec![Mount {
            point: "/mnt".into(),
            source: "/dev/loop0".into(),
            fs_type: "xfs".into(),
            options: String::new(),
            device: "7:0".into(),
        }],
        ..RunDescription::new("test", Moment { monotonic_ns: 100 * S, wall_ns: 0 })
    }
}

fn window(from_s: u64, to_s: u64) -> Window {
    Window { from_ns: from_s * S, to_ns: to_s * S }
}

/// A call of task 7 from second 102 to 112, asleep in the log; and a wait of task 8 without an end.
fn stalls() -> Vec<StallRecord> {
    let off =
        StallRecord { state: Some(2), stack: Some(1), ..StallRecord::new(StallKind::OffCpu, 7, 102 * S, 112 * S) };
    let call = StallRecord {
        call: Some("fsync".into()),
        path: Some("/mnt/f".into()),
        ..StallRecord::new(StallKind::SystemCall, 7, 102 * S, 112 * S)
    };
    let still =
        |to_s| StallRecord { stack: Some(1), ..StallRecord::new(StallKind::StillBlocked, 8, 104 * S, to_s * S) };
    vec![off, call, still(105), still(106), still(107)]
}

fn snapshot(window: Window, rows: &[StallRecord]) -> Snapshot {
    let mut builder = SnapshotBuilder::new(&run(), window);
    builder.stalls(rows);
    let task = |tid: u32, name: &str| TaskRecord {
        tid,
        pid: tid,
        name: name.into(),
        cgroup: None,
        started_by: None,
        role: None,
        container: None,
        io_cgroup: None,
        seen_ns: 100 * S,
    };
    builder.tasks([task(7, "dd"), task(8, "tar"), task(9, "other")].iter());
    let frames = ["xlog_cil_force_seq", "xfs_log_force_seq", "xfs_file_fsync"];
    builder.stacks([StackRecord { stack: 1, frames: frames.map(str::to_owned).into() }].iter());
    builder.finish(&SeriesSet::default())
}

#[test]
fn only_the_windows_part_of_a_stall_counts_and_the_whole_is_reported() {
    let seen = snapshot(window(104, 108), &stalls()[..2]);
    assert_eq!((seen.explanation.wall_ns, seen.explanation.slow_operations), (4 * S, 1));
    assert_eq!(seen.explanation.time_ns(Cause::FsLog), 4 * S);
    assert_eq!(seen.explanation.culprits.iter().map(|culprit| culprit.time_ns).sum::<u64>(), 4 * S);
    assert_eq!(seen.whole, [(102 * S, 10 * S)]);
    assert!(!seen.explanation.stalls[0].finished);
    let after = snapshot(window(112, 120), &stalls()[..2]);
    assert_eq!((after.explanation.slow_operations, after.stuck.len()), (0, 0));
}

#[test]
fn stuck_tasks_are_known_at_any_moment_with_call_file_and_stack() {
    let seen = snapshot(window(100, 107), &stalls());
    let words: Vec<_> = seen.stuck.iter().map(|one| (one.task.to_string(), one.lasts_ns / S)).collect();
    assert_eq!(words, [("dd/7".to_owned(), 5), ("tar/8".to_owned(), 3)]);
    assert_eq!((seen.stuck[0].operation.as_deref(), seen.stuck[0].path.as_deref()), (Some("fsync"), Some("/mnt/f")));
    assert_eq!(seen.stuck[1].frames[0], "xlog_cil_force_seq");
    // The wait last reported at 107 still counts at 110, but not much later.
    let is_stuck = |at_s| snapshot(window(100, at_s), &stalls()).stuck.iter().any(|one| one.task.tid == 8);
    assert!(is_stuck(110) && !is_stuck(115));
}

#[test]
fn a_task_that_is_stuck_in_an_interruptible_wait_for_a_lock_has_the_holder() {
    let wait = |state| StallRecord {
        state: Some(state),
        holder_tid: Some(9),
        call: Some("flock".into()),
        ..StallRecord::new(StallKind::StillBlocked, 7, 104 * S, 106 * S)
    };
    let stuck = |state| snapshot(window(100, 107), &[wait(state)]).stuck;
    let [one] = &stuck(1)[..] else { panic!("{:?}", stuck(1)) };
    assert_eq!((one.operation.as_deref(), one.lasts_ns), (Some("flock"), 3 * S));
    assert_eq!(one.holder.as_ref().map(ToString::to_string).as_deref(), Some("other/9"));
    // Stopped by a signal.
    assert_eq!(stuck(4), []);
}

#[test]
fn a_wait_that_is_over_is_over_at_once() {
    let mut rows = stalls();
    rows.push(StallRecord::new(StallKind::Blocked, 8, 104 * S, 107 * S + S / 2));
    assert!(snapshot(window(100, 107), &rows).stuck.iter().any(|one| one.task.tid == 8));
    assert!(snapshot(window(100, 108), &rows).stuck.iter().all(|one| one.task.tid != 8));
    let mut ran = stalls();
    ran.push(StallRecord { state: Some(1), ..StallRecord::new(StallKind::SystemCall, 8, 104 * S, 107 * S + S / 2) });
    assert!(snapshot(window(100, 108), &ran).stuck.iter().all(|one| one.task.tid != 8));
}

#[test]
fn a_loads_stuck_operation_has_its_class_and_the_stack_of_its_thread() {
    let mut builder = SnapshotBuilder::new(&run(), window(100, 107));
    let mut record = OperationRecord {
        kind: OperationKind::Stuck,
        class: "write".into(),
        tid: 8,
        start_ns: 103 * S,
        duration_ns: 3 * S,
        bytes: None,
        errno: None,
        path: Some("/mnt/w".into()),
        offset_bytes: None,
        fault: None,
    };
    builder.operations(std::slice::from_ref(&record));
    builder.stalls(&stalls()[2..]);
    let seen = builder.finish(&SeriesSet::default());
    let stuck = &seen.stuck[0];
    assert_eq!((stuck.operation.as_deref(), stuck.path.as_deref()), (Some("write"), Some("/mnt/w")));
    assert_eq!((stuck.lasts_ns, stuck.task.to_string().as_str()), (4 * S, "thread 8"));
    (record.kind, record.duration_ns) = (OperationKind::Slow, 3 * S + S / 2);
    let mut builder = SnapshotBuilder::new(&run(), window(100, 107));
    builder.operations(&[record]);
    assert_eq!(builder.finish(&SeriesSet::default()).stuck, []);
}

#[test]
fn work_is_that_of_the_load_or_of_the_devices() {
    let interval = |second: u64, count: u64| IntervalRecord {
        class: "write".into(),
        start_ns: second * S,
        end_ns: (second + 1) * S,
        count,
        bytes: count * 4096,
        sum_ns: count * 1000,
        max_ns: Some(1000),
        buckets: vec![Bucket { index: model::latency::index_of(1000), count }],
        stuck: u64::from(second == 109),
        ..IntervalRecord::default()
    };
    let requests = |second: u64| RequestIntervalRecord {
        start_ns: second * S,
        end_ns: (second + 1) * S,
        device: DeviceNumber::new(7, 0),
        kind: Kind::of(Operation::Read),
        count: 20,
        bytes: 20 * 4096,
        queue: Vec::new(),
        device_time: vec![Bucket { index: request_bucket(S / 10), count: 20 }],
    };
    let mut builder = SnapshotBuilder::new(&run(), window(105, 110));
    builder
        .intervals(&(80..115).map(|second| interval(second, if second < 105 { 10 } else { 30 })).collect::<Vec<_>>());
    builder.request_intervals(&(105..110).map(requests).collect::<Vec<_>>());
    let seen = builder.finish(&SeriesSet::default());
    let write = &seen.work[0];
    assert_eq!((write.name.as_str(), write.per_s, write.stuck, write.max_ns), ("write", Some(30.0), 1, Some(1000)));
    assert_eq!((write.history[0], write.history[20], write.history[29]), (None, Some(10.0), Some(30.0)));

    let mut builder = SnapshotBuilder::new(&run(), window(105, 110));
    builder.request_intervals(&(105..110).map(requests).collect::<Vec<_>>());
    let seen = builder.finish(&SeriesSet::default());
    assert_eq!((seen.work[0].name.as_str(), seen.work[0].per_s), ("loop0 reads", Some(20.0)));
    assert!(seen.work[0].p99_ns.is_some_and(|ns| ns.abs_diff(S / 10) < S / 50));
}

#[test]
fn devices_and_memory_come_from_counters_and_absent_is_not_zero() {
    let metrics = [
        ("diskstats.in_flight", "disk.img", Semantics::Gauge, [3, 5]),
        ("diskstats.io_ticks", "disk.img", Semantics::Counter, [0, 2000]),
        ("diskstats.read_ios", "disk.img", Semantics::Counter, [10, 10]),
        ("diskstats.write_ios", "disk.img", Semantics::Counter, [0, 400]),
        ("diskstats.read_ticks", "disk.img", Semantics::Counter, [0, 0]),
        ("diskstats.write_ticks", "disk.img", Semantics::Counter, [0, 8000]),
        ("meminfo.Dirty", "", Semantics::Gauge, [100, 200]),
        ("pressure.io.some", "", Semantics::Counter, [0, 1_000_000]),
    ];
    let (mut series, mut changes) = (SeriesSet::default(), Vec::new());
    for (id, (name, instance, semantics, values)) in (0..).zip(metrics) {
        let (id, unit) = (MetricId(id), Unit::Count);
        series.describe(
            &[MetricDescriptor { id, name: name.into(), instance: instance.into(), unit, semantics, device: None }],
            wanted_metric,
        );
        changes.extend([0, 1].map(|at| MetricChange { sample: at, metric: id, value: Some(values[at as usize]) }));
    }
    for sample in 0..2 {
        let at = Moment { monotonic_ns: (100 + 4 * u64::from(sample)) * S, wall_ns: 0 };
        series.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 0, took_ns: 0 });
    }
    series.feed(&changes);
    let seen = SnapshotBuilder::new(&run(), window(100, 104)).finish(&series);
    let disk = &seen.devices[0];
    assert_eq!((disk.name.as_str(), disk.mount.as_deref(), disk.in_flight), ("loop0", Some("xfs on /mnt"), Some(5)));
    assert_eq!((disk.busy, disk.writes_per_s, disk.mean_ns), (Some(0.5), Some(100.0), Some(20_000_000)));
    assert_eq!((disk.read_bytes_per_s, disk.device_p99_ns), (None, None));
    assert_eq!((seen.memory.dirty_bytes, seen.memory.available_bytes), (Some(200 << 10), None));
    assert_eq!(seen.memory.pressure.iter().map(|one| (one.resource, one.share)).collect::<Vec<_>>(), [("io", 0.25)]);
}

#[test]
fn disks_under_test_come_first_even_where_they_are_idle() {
    let disk = |name: &str, number: &str| Device {
        name: name.into(),
        number: number.into(),
        identity: name.into(),
        ..run().devices[0].clone()
    };
    let mount = |point: &str, source: &str| Mount {
        point: point.into(),
        source: source.into(),
        device: "0:40".into(),
        ..run().mounts[0].clone()
    };
    let run = RunDescription {
        devices: vec![disk("sda", "8:0"), disk("sdb", "8:16"), disk("sdbc", "8:32")],
        mounts: vec![mount("/", "/dev/sda1"), mount("/data", "/dev/sdb1"), mount("/other", "/dev/sdbc")],
        under_test: vec!["/data/pg".into()],
        ..run()
    };
    let (mut series, mut changes) = (SeriesSet::default(), Vec::new());
    for (id, (disk, in_flight)) in (0..).zip([("sda", 9), ("sdb", 0), ("sdbc", 7)]) {
        let (id, unit, semantics) = (MetricId(id), Unit::Count, Semantics::Gauge);
        let name = "diskstats.in_flight".to_owned();
        let gauge = MetricDescriptor { id, name, instance: disk.into(), unit, semantics, device: None };
        series.describe(&[gauge], wanted_metric);
        changes.push(MetricChange { sample: 0, metric: id, value: Some(in_flight) });
    }
    let at = Moment { monotonic_ns: 100 * S, wall_ns: 0 };
    series.sample(SampleHeader { sample: 0, at, late_ns: 0, cpu_ns: 0, took_ns: 0 });
    series.feed(&changes);
    let names = |scope: Scope| -> Vec<String> {
        let seen = SnapshotBuilder::new(&run, window(100, 104)).scoped(scope).finish(&series);
        seen.devices.into_iter().map(|load| load.name).collect()
    };
    assert_eq!(names(Scope::default()), ["sdb", "sda", "sdbc"]);
    let scope = Scope { devices: vec!["sdbc".into()], ..Scope::default() };
    assert_eq!(names(scope), ["sdb", "sdbc", "sda"]);
}
