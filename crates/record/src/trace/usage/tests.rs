//! Rows, sums and limits, from data.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};
use tempfile::tempdir;

use super::cgroups::{Cgroups, LimitedCgroup, io_max};
use super::rows::{largest, within_life};
use super::run_queues::of_longest_waits;
use super::sums::{add_place, difference};
use crate::roots::Roots;

const DISK: DeviceNumber = DeviceNumber::new(7, 3);

fn row(pid: u32, busy_ns: u64) -> UsageRecord {
    UsageRecord {
        device: Some(DISK),
        pid: Some(pid),
        count: 1,
        busy_ns,
        bytes: 512,
        ..UsageRecord::new(Resource::DeviceRead, 0, 500)
    }
}

#[test]
fn sums_stay_whole_when_rows_are_few() {
    let rows: Vec<UsageRecord> = (0..100).map(|pid| row(pid, 1000 + u64::from(pid))).chain([row(7, 5)]).collect();
    let sum = |rows: &[UsageRecord]| {
        rows.iter()
            .map(|row| (row.count, row.bytes, row.busy_ns))
            .fold((0, 0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1, sum.2 + row.2))
    };
    let kept = largest(rows.clone());
    assert_eq!(sum(&kept), sum(&rows));
    assert_eq!((kept.len(), kept[0].pid, kept[24].pid), (25, Some(99), None));
}

#[test]
fn threads_have_rows_of_their_own() {
    let of = |thread: u32, busy_ns| UsageRecord { thread: Some(thread), ..row(1, busy_ns) };
    let many = (100..120).map(|thread| of(thread, 1000));
    let kept = largest(many.chain([of(50, 9000), of(50, 1000), of(60, 10), row(1, 500), row(2, 70_000)]).collect());
    let threads: Vec<_> = kept.iter().map(|row| (row.pid, row.thread, row.busy_ns)).collect();
    assert_eq!(threads[..3], [(Some(2), None, 70_000), (Some(1), Some(50), 10_000), (Some(1), Some(100), 1000)]);
    // Eight threads, and the rest of the process.
    assert_eq!((kept.len(), threads[9]), (10, (Some(1), None, 13_510)));
    assert_eq!(kept.iter().map(|row| row.count).sum::<u64>(), 25);
}

#[test]
fn little_use_is_summed_up() {
    let kept = largest(vec![row(1, 1_000_000), row(2, 10)]);
    assert_eq!(kept.iter().map(|row| (row.pid, row.busy_ns)).collect::<Vec<_>>(), [(Some(1), 1_000_000), (None, 10)]);
}

/// What a slow limit lets pass is little of a fast disk that others use: those who compete for it are known all the
/// same.
#[test]
fn users_of_a_limit_are_kept_beside_large_ones() {
    let limited = |pid, busy_ns| UsageRecord { limit: Some("/box".to_owned()), ..row(pid, busy_ns) };
    let throttled = |pid, busy_ns| UsageRecord { cgroup: Some("/v1".to_owned()), throttled: 1, ..row(pid, busy_ns) };
    let small = [limited(500, 40), limited(501, 3), limited(502, 1), throttled(600, 8), row(700, 90)];
    let kept = largest((0..100).map(|pid| row(pid, 1_000_000)).chain(small).collect());
    let small: Vec<Option<u32>> = kept.iter().skip(24).map(|row| row.pid).collect();
    assert_eq!(small, [Some(500), Some(600), Some(501), None]);
    // Many of one limit, and many limits.
    let of = |limit: u32| (0..9).map(move |pid| UsageRecord { limit: Some(format!("/{limit}")), ..row(100 + pid, 20) });
    let kept = largest((0..50).map(|pid| row(pid, 1_000_000)).chain((0..99).flat_map(of)).collect());
    assert!(kept.len() <= 24 + 32 * 4 + 1, "{}", kept.len());
}

#[test]
fn those_that_waited_longest_for_a_cpu_have_rows_of_their_own() {
    let ran = |waiting, pid, busy_ns| UsageRecord {
        waiting: Some(waiting),
        pid: Some(pid),
        busy_ns,
        ..UsageRecord::new(Resource::RunQueue, 0, 500)
    };
    let rows = (0..40).flat_map(|waiting| [ran(waiting, 500, 1000 + u64::from(waiting)), ran(waiting, 501, 2)]);
    let kept = largest(of_longest_waits(rows.collect()));
    let of_500 = kept.iter().filter(|row| row.pid == Some(500)).map(|row| row.waiting.unwrap());
    assert_eq!(of_500.collect::<Vec<_>>(), (8..40).collect::<Vec<_>>());
    assert!(kept.iter().filter(|row| row.pid.is_none()).all(|row| row.busy_ns == 2 && row.waiting.is_some()));
}

#[test]
fn a_process_uses_nothing_before_and_after_its_life() {
    let cut = |resource, life_ns| {
        let mut row = UsageRecord::new(resource, 1000, 1500);
        within_life(&mut row, life_ns);
        (row.start_ns, row.end_ns)
    };
    let read = |life_ns| cut(Resource::DeviceRead, life_ns);
    assert_eq!(
        (read((0, u64::MAX)), read((1200, 1300)), read((900, 1100))),
        ((1000, 1500), (1200, 1300), (1000, 1100))
    );
    // What completes after its end; and an earlier process of that number.
    assert_eq!((cut(Resource::DeviceWrite, (1200, 1300)), read((300, 400))), ((1200, 1500), (1000, 1500)));
}

#[test]
fn a_sum_is_compared_with_the_one_before() {
    let mut key = [0; 24];
    key[0] = 9;
    key[8..12].copy_from_slice(&DISK.0.to_ne_bytes());
    key[12..16].copy_from_slice(&70u32.to_ne_bytes());
    key[16] = 2;
    let used = difference(&key, [1, 10, 100, 0], [3, 30, 300, 1]).unwrap();
    assert_eq!((used.resource, used.cgroup, used.target, used.tid), (Resource::DeviceWrite, 9, DISK.0, 70));
    assert_eq!((used.count, used.bytes, used.busy_ns, used.throttled), (2, 20, 200, 1));
    // Its time was given to another one.
    assert_eq!(difference(&key, [1, 10, 100, 0], [2, 20, 40, 0]).unwrap().busy_ns, 0);
    key[16] = 200;
    assert_eq!(difference(&key, [0; 4], [1; 4]), None);
}

#[test]
fn limits_of_v2_hold_below() {
    let root = tempdir().unwrap();
    let roots = Roots::below(root.path());
    fs::create_dir_all(roots.proc.join("5")).unwrap();
    fs::write(roots.proc.join("5/cgroup"), "0::/a/b\n").unwrap();
    fs::create_dir_all(roots.cgroup.join("a/b")).unwrap();
    fs::write(roots.cgroup.join("a/io.max"), "7:3 rbps=1000 wbps=max riops=max wiops=max\n").unwrap();
    fs::write(roots.cgroup.join("a/b/io.max"), "7:3 rbps=max wbps=9000 riops=max wiops=max\n").unwrap();
    fs::write(roots.cgroup.join("a/b/memory.max"), "4096\n").unwrap();
    fs::write(roots.cgroup.join("a/memory.max"), "max\n").unwrap();
    let mut cgroups = Cgroups::new(&roots);
    let place = |limit: &str| LimitedCgroup { cgroup: Some("/a/b".into()), limit: Some(limit.into()) };
    assert_eq!(cgroups.of_device(0, (DISK, None), 5), place("/a"));
    assert_eq!([false, true].map(|writes| cgroups.of_device(0, (DISK, Some(writes)), 5)), [place("/a"), place("/a/b")]);
    fs::write(roots.cgroup.join("a/b/io.max"), "7:3 rbps=10 wbps=max riops=max wiops=max\n").unwrap();
    assert_eq!(cgroups.of_device(0, (DISK, Some(true)), 5), place("/a/b"), "read some seconds ago");
    assert_eq!(cgroups.of_throttled(0, (DISK, Some(false)), 5), place("/a"), "a limit is known");
    fs::write(roots.cgroup.join("a/io.max"), "").unwrap();
    cgroups.age();
    assert_eq!(cgroups.of_device(0, (DISK, Some(true)), 5), place("/a/b"));
    let other = (DeviceNumber::new(8, 0), None);
    assert_eq!(cgroups.of_throttled(0, other, 5).limit, None);
    fs::write(roots.cgroup.join("a/io.max"), "8:0 rbps=1 wbps=1 riops=1 wiops=1\n").unwrap();
    assert_eq!(cgroups.of_device(0, other, 5).limit, None);
    assert_eq!(cgroups.of_throttled(0, other, 5).limit.as_deref(), Some("/a"));
    assert_eq!(cgroups.of_memory(5), place("/a/b"));
    fs::write(roots.proc.join("5/cgroup"), "0::/a\n").unwrap();
    assert_eq!(cgroups.of_memory(5), LimitedCgroup { cgroup: Some("/a".into()), limit: None }, "it moved");
    fs::write(roots.proc.join("5/cgroup"), "0::/a/b\n").unwrap();
    assert_eq!(
        cgroups.of_device(123_456_789, (DISK, None), 5),
        LimitedCgroup::default(),
        "another cgroup than the task's"
    );
}

/// The lower limit may be far away while a neighbour fills the cgroup above.
#[test]
fn the_fullest_memory_limit_holds_also_memory_high() {
    let root = tempdir().unwrap();
    let roots = Roots::below(root.path());
    fs::create_dir_all(roots.proc.join("5")).unwrap();
    fs::write(roots.proc.join("5/cgroup"), "0::/a/b\n").unwrap();
    fs::create_dir_all(roots.cgroup.join("a/b")).unwrap();
    let check = |files: [(&str, &str); 4], expected: Option<&str>| {
        files.iter().for_each(|(file, text)| fs::write(roots.cgroup.join("a").join(file), text).unwrap());
        assert_eq!(Cgroups::new(&roots).of_memory(5).limit.as_deref(), expected, "{files:?}");
    };
    check(
        [("memory.max", "8000"), ("memory.current", "7900"), ("b/memory.max", "4000"), ("b/memory.current", "40")],
        Some("/a"),
    );
    check(
        [("memory.max", "8000"), ("memory.current", "4000"), ("b/memory.max", "4000"), ("b/memory.current", "3990")],
        Some("/a/b"),
    );
    check(
        [("memory.max", "max"), ("memory.high", "8000"), ("b/memory.max", "max"), ("b/memory.high", "max")],
        Some("/a"),
    );
}

#[test]
fn limits_of_v1_hold_for_their_own_cgroup() {
    let root = tempdir().unwrap();
    let roots = Roots::below(root.path());
    fs::create_dir_all(roots.proc.join("5")).unwrap();
    fs::write(roots.proc.join("5/cgroup"), "4:memory:/m\n3:blkio:/a/b\n").unwrap();
    fs::create_dir_all(roots.cgroup.join("blkio/a/b")).unwrap();
    fs::create_dir_all(roots.cgroup.join("memory/m")).unwrap();
    fs::write(roots.cgroup.join("blkio/a/blkio.throttle.read_bps_device"), "7:3 1000\n").unwrap();
    fs::write(roots.cgroup.join("memory/m/memory.limit_in_bytes"), "9223372036854771712\n").unwrap();
    let mut cgroups = Cgroups::new(&roots);
    assert_eq!(cgroups.of_device(0, (DISK, None), 5), LimitedCgroup { cgroup: Some("/a/b".into()), limit: None });
    assert_eq!(cgroups.of_memory(5), LimitedCgroup { cgroup: Some("/m".into()), limit: None });
    fs::write(roots.cgroup.join("blkio/a/b/blkio.throttle.write_bps_device"), "7:3 1000\n").unwrap();
    (0..10).for_each(|_| cgroups.age());
    assert_eq!(cgroups.of_device(0, (DISK, None), 5).limit.as_deref(), Some("/a/b"));
}

/// The tightest quota of a cgroup and those above it, of v1 too.
#[test]
fn a_cpu_quota_holds_below() {
    let root = tempdir().unwrap();
    let roots = Roots::below(root.path());
    for (pid, text) in [("5", "4:cpu,cpuacct:/a/b\n0::/x\n"), ("6", "4:cpu,cpuacct:/\n")] {
        fs::create_dir_all(roots.proc.join(pid)).unwrap();
        fs::write(roots.proc.join(pid).join("cgroup"), text).unwrap();
    }
    for (folder, quota) in [("a", "20000"), ("a/b", "30000")] {
        let folder = roots.cgroup.join("cpu,cpuacct").join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cpu.cfs_quota_us"), quota).unwrap();
        fs::write(folder.join("cpu.cfs_period_us"), "100000").unwrap();
    }
    let mut cgroups = Cgroups::new(&roots);
    assert_eq!(cgroups.of_cpu(5), LimitedCgroup { cgroup: Some("/a/b".into()), limit: Some("/a".into()) });
    assert_eq!(cgroups.of_cpu(6), LimitedCgroup { cgroup: Some("/".into()), limit: None });
    assert_eq!(cgroups.of_cpu(7), LimitedCgroup::default());
    fs::write(roots.cgroup.join("cpu,cpuacct/a/b/cpu.cfs_quota_us"), "10000").unwrap();
    cgroups.age();
    assert_eq!(cgroups.of_cpu(5).limit.as_deref(), Some("/a/b"));
}

#[test]
fn io_max_counts_requests_as_pages() {
    let text = "8:0 rbps=1 wbps=1 riops=1 wiops=1\n7:3 rbps=max wbps=9000 riops=max wiops=2\n";
    assert_eq!([None, Some(true)].map(|writes| io_max(text, (DISK, writes))), [Some(8192); 2]);
    assert_eq!(io_max(text, (DISK, Some(false))), None);
    assert_eq!(io_max("7:30 rbps=1\n", (DISK, None)), None);
}

/// A worker dispatches throttled requests, and a short-lived process is gone by the time of the look.
#[test]
fn a_cgroup_is_known_by_its_number_alone() {
    let root = tempdir().unwrap();
    let roots = Roots::below(root.path());
    fs::create_dir_all(roots.proc.join("5")).unwrap();
    fs::write(roots.proc.join("5/cgroup"), "3:blkio:/\n").unwrap();
    fs::create_dir_all(roots.cgroup.join("blkio/a/b")).unwrap();
    fs::write(roots.cgroup.join("blkio/a/b/blkio.throttle.write_bps_device"), "7:3 1000\n").unwrap();
    let number = fs::metadata(roots.cgroup.join("blkio/a/b")).unwrap().ino();
    let mut cgroups = Cgroups::new(&roots);
    let place = LimitedCgroup { cgroup: Some("/a/b".into()), limit: Some("/a/b".into()) };
    assert_eq!(
        [cgroups.of_device(number, (DISK, None), 5), cgroups.of_device(number, (DISK, None), 6)],
        [place.clone(), place]
    );
    assert_eq!(cgroups.of_device(number + 1_000_000, (DISK, None), 6), LimitedCgroup::default());
}

/// A place of the programs' table: its key, the state of the place, and its sum.
fn place((cgroup, target, tid, used): (u64, u32, u32, u32), state: u32, sum: [u64; 4]) -> Vec<u8> {
    let words = [target, tid, used, state].map(u32::to_ne_bytes).concat();
    let sum = [sum[0], sum[1], sum[2], sum[3], 0].map(u64::to_ne_bytes).concat();
    [cgroup.to_ne_bytes().to_vec(), words, sum].concat()
}

#[test]
fn places_of_one_key_are_one_sum() {
    let key = (5, 7 << 20, 42, 1);
    let mut found = HashMap::new();
    for (at, bytes) in [
        (3u32, place(key, 2, [1, 4096, 10, 0])),
        (515, place(key, 2, [2, 8192, 20, 1])),
        // Being written, and free.
        (4, place(key, 1, [9, 9, 9, 9])),
        (6, place((0, 0, 0, 0), 0, [9, 9, 9, 9])),
        (8, place((5, 7 << 20, 43, 1), 2, [7, 0, 0, 0])),
    ] {
        add_place(&mut found, &at.to_ne_bytes(), &bytes);
    }
    add_place(&mut found, &[0; 4], &[0; 12]);
    let mut sums: Vec<_> = found.iter().map(|(key, found)| (found.sum, found.places.clone(), key)).collect();
    sums.sort_unstable();
    assert_eq!((sums[0].0, &sums[0].1), ([3, 12288, 30, 1], &vec![3, 515]));
    assert_eq!((sums[1].0, &sums[1].1), ([7, 0, 0, 0], &vec![8]));
    let used = difference(sums[0].2, [1, 4096, 10, 0], sums[0].0).unwrap();
    assert_eq!((used.cgroup, used.target, used.tid, used.count, used.bytes), (5, 7 << 20, 42, 2, 8192));
}
