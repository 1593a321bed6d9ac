//! Waits for storage that had not ended with the recording.

use model::metric::{Change, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::run::{Device, Mount, RunDescription};
use model::time::Moment;

use super::stage::{MS, description, shares, stage};
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

/// A direct read of a limited disk, which had so many requests at each sample, in a recording without any request that ended.
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
        let change = |metric, value| Change { sample, metric: MetricId(metric), value: Some(value) };
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
