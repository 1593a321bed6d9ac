//! Waits for storage that had not ended with the recording.

use model::block::DeviceNumber;
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::run::{Device, Mount, RunDescription};
use model::time::Moment;
use model::usage::{Resource, UsageRecord};

use crate::blame::tests::stage::{MS, description, shares, stage};
use crate::blame::{Blame, is_of_limits};
use crate::series::SeriesSet;

/// The wait of a task of a cgroup, after one of another task.
fn check(call: &str, before: &str, expected: &str) {
    let drawing = format!(
        "
        task    7 |n                | cgroup=/a
        task    8 |n                | cgroup=/a
        task    9 |n                | cgroup=/b
        blocked 7 |      ===========| call={call} stack=folio_wait_bit_common,filemap_read
        {before}
        request 1 |  QIDC           | device=8,0 kind=W throttled
        request 2 | Q   DC          | device=8,0 kind=W"
    );
    assert_eq!(shares(&stage(&drawing).explain()), expected, "{drawing}");
}

#[test]
fn the_request_of_a_wait_that_lasts_is_taken_for_one_like_those_before() {
    check("write", "", "device 11");
    check("write", "off 8 |sss   | call=write stack=iomap_dio_rw request=1", "io_throttle 11");
    // Of another cgroup, or a read.
    check("write", "off 9 |sss   | call=write stack=iomap_dio_rw request=1", "device 11");
    check("pread64", "off 8 |sss   | call=write stack=iomap_dio_rw request=1", "device 11");
    // The device took the time.
    check("write", "off 8 | ssss | call=write stack=iomap_dio_rw request=2", "device 11");
    // The task's own requests come first.
    let both = "off 8 |sss   | call=write stack=iomap_dio_rw request=1
        off 7 | ssss | call=write stack=iomap_dio_rw request=2";
    check("write", both, "device 11");
}

/// What the disk of a wait did for a cgroup while that lasted; the path is of a mount of the task's own.
fn delayed(writes: &[(&str, u64, u64)]) -> (String, Vec<String>) {
    let mut stage = stage(
        "
        task    7 |n                | name=dd cgroup=/a
        task    8 |n                | name=cp cgroup=/b
        task    9 |n                | name=log cgroup=/b
        blocked 7 |      ===========| call=fdatasync state=2 stack=folio_wait_writeback detail=inode;8,0;12 \
        tp=folio_wait_writeback
        blocked 7 |        =========| call=fdatasync path=/v/f stack=folio_wait_writeback
        off     7 | ssss            | call=fdatasync stack=folio_wait_writeback request=2
        request 2 | Q   DC          | device=8,0 kind=WM",
    );
    let used = |pid: u32, device: u32, cgroup: &str, (count, throttled): (u64, u64)| UsageRecord {
        device: Some(DeviceNumber::new(device, 0)),
        pid: Some(pid),
        bytes: 1 << 20,
        count,
        busy_ns: MS,
        throttled,
        cgroup: Some(cgroup.to_owned()),
        limit: (throttled > 0).then(|| cgroup.to_owned()),
        ..UsageRecord::new(Resource::DeviceWrite, 0, 17 * MS)
    };
    stage.usage.extend(
        writes.iter().map(|(cgroup, count, throttled)| {
            used(if *cgroup == "/a" { 7 } else { 8 }, 8, cgroup, (*count, *throttled))
        }),
    );
    // The disk of the root, where the path would be without the task's mount.
    stage.usage.push(used(9, 9, "/b", (9, 0)));
    let root = Mount {
        point: "/".into(),
        source: "/dev/sdb".into(),
        fs_type: "ext4".into(),
        options: String::new(),
        device: "9:0".into(),
    };
    let run = RunDescription { mounts: vec![root], ..description(true) };
    let explanation = stage.explain_run(&run, None);
    let named = |culprit: &crate::blame::Culprit| {
        let name = culprit.task.as_ref().and_then(|task| task.name.clone()).unwrap_or_default();
        let device = culprit.device.map(|device| device.to_string()).unwrap_or_default();
        format!("{} {name} {device}", culprit.cause.name())
    };
    (shares(&explanation), explanation.culprits.iter().map(named).collect())
}

#[test]
fn pages_wait_for_the_limit_that_delays_the_requests_of_the_same_cgroup() {
    let (shares, culprits) = delayed(&[("/a", 2, 2), ("/b", 8, 0)]);
    assert_eq!((shares.as_str(), culprits), ("io_throttle 11", vec!["io_throttle dd 8,0".to_owned()]));
    // Half of them, and fewer.
    assert_eq!(delayed(&[("/a", 2, 1)]).0, "io_throttle 11");
    let (shares, culprits) = delayed(&[("/a", 4, 1)]);
    assert_eq!((shares.as_str(), culprits), ("writeback_wait 11", vec!["writeback_wait dd 8,0".to_owned()]));
    // A limit of others.
    assert_eq!(delayed(&[("/a", 2, 0), ("/b", 8, 8)]).0, "writeback_wait 11");
}

/// A commit of the journal of the file's disk; the task uses another journal as well.
#[test]
fn a_call_waits_for_the_journal_of_its_file() {
    let mut stage = stage(
        "
        task       7 |n         | name=dd pid=7
        task       9 |n         | name=log pid=9
        call:fsync 7 |==========| path=/mnt/f
        off        7 |ssssssssss| call=fsync stack=jbd2_log_wait_commit",
    );
    let used = |pid: u32, device, resource| UsageRecord {
        device: Some(DeviceNumber::new(device, 0)),
        pid: Some(pid),
        count: 1,
        bytes: 4096,
        busy_ns: MS,
        ..UsageRecord::new(resource, 0, 10 * MS)
    };
    for (pid, device) in [(7, 8), (7, 9), (9, 8)] {
        stage.usage.extend([used(pid, device, Resource::Journal), used(pid, device, Resource::DeviceWrite)]);
    }
    let mount = |point: &str, device: &str| Mount {
        point: point.into(),
        source: String::new(),
        fs_type: "ext4".into(),
        options: String::new(),
        device: device.into(),
    };
    let run = RunDescription { mounts: vec![mount("/", "8:0"), mount("/mnt", "9:0")], ..description(true) };
    let culprits = stage.explain_run(&run, None).culprits;
    let blamed: Vec<_> = culprits.iter().map(|one| (one.task.as_ref().map(|task| task.tid), one.device)).collect();
    assert_eq!(blamed, [(Some(7), Some(DeviceNumber::new(9, 0)))]);
}

/// A direct read of a limited disk, which had so many requests at each sample, in a recording without any request that
/// ended.
fn share(limit: &str, in_flight: &[i64]) -> String {
    let drawing = "
        task    7 |n                | cgroup=/a
        blocked 7 |      ===========| call=read path=/mnt/f stack=iomap_dio_rw";
    let stage = stage(drawing);
    let disk = Device { number: "8:0".into(), name: "sda".into(), identity: "wwn-1".into(), ..Device::default() };
    let mount = Mount {
        point: "/mnt".into(),
        source: "/dev/sda".into(),
        fs_type: "xfs".into(),
        options: String::new(),
        device: "8:0".into(),
    };
    let run = RunDescription { devices: vec![disk], mounts: vec![mount], ..description(true) };
    let mut series = SeriesSet::default();
    for (id, name, instance) in [(1, "diskstats.in_flight", "wwn-1"), (2, limit, "/lim:wwn-1")] {
        assert!(is_of_limits(name));
        let (id, unit, semantics) = (MetricId(id), Unit::Count, Semantics::Gauge);
        let (name, instance) = (name.to_owned(), instance.to_owned());
        series.describe(&[MetricDescriptor { id, name, instance, unit, semantics, device: None }], |_| true);
    }
    for (sample, &value) in (0..).zip(in_flight) {
        let at = Moment { monotonic_ns: u64::from(sample) * MS, wall_ns: 0 };
        series.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 0, took_ns: 0 });
        let change = |metric, value| MetricChange { sample, metric: MetricId(metric), value: Some(value) };
        series.feed(&[change(1, value), change(2, 100_000)]);
    }
    let mut blame = Blame::new(None, &run);
    blame.stalls(&stage.stalls);
    blame.tasks(&stage.tasks);
    blame.stacks(&stage.stacks);
    blame.limits(&series, 4096);
    shares(&blame.finish())
}

#[test]
fn a_wait_for_an_idle_disk_with_a_limit_is_for_the_limit() {
    let reads = "cgroups.blkio.throttle.read_bps_device";
    assert_eq!(share(reads, &[0, 0, 0]), "io_throttle 11");
    assert_eq!(share("cgroups.io.max.riops", &[0, 0, 0]), "io_throttle 11");
    assert_eq!(share("cgroups.io.max.wiops", &[0, 0, 0]), "device 11", "a limit on writes");
    assert_eq!(share(reads, &[0, 1, 0]), "device 11", "the disk had something to do");
    assert_eq!(share(reads, &[0]), "device 11", "one sample shows little");
}
