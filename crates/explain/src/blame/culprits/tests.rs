//! Who shares the blame for what was used, from rows of the table `usage`.

use model::block::DeviceNumber;
use model::stall::TaskRecord;
use model::usage::{Resource, UsageRecord};

use super::need::{Domain, Need};
use super::users::users;
use crate::blame::facts::run_index::RunIndex;

const BASE: DeviceNumber = DeviceNumber::new(7, 0);
const LOOP: DeviceNumber = DeviceNumber::new(7, 1);
const S: u64 = 1_000_000_000;
const KWORKER: u32 = 50;

/// Amounts used: resource, device, process, bytes or a count, and the second in which it was used.
type Use = (Resource, DeviceNumber, u32, u64, u64);

fn insert_worker(index: &mut RunIndex) {
    let (name, tid) = ("kworker/u8:1".into(), KWORKER);
    let worker = TaskRecord {
        tid,
        pid: tid,
        name,
        cgroup: None,
        io_cgroup: None,
        started_by: None,
        role: None,
        container: None,
        seen_ns: 0,
    };
    index.tasks.insert(&worker, &mut index.names);
}

/// The parts in percent of what was used in second 20.
fn check(need: &Need, used: &[Use], expected: &[(u32, u128)]) {
    let mut index = RunIndex::default();
    insert_worker(&mut index);
    for &(resource, device, pid, amount, second) in used {
        let is_of_device = !matches!(resource, Resource::Dirtied | Resource::Reads | Resource::Memory);
        let record = UsageRecord {
            device: Some(device).filter(|_| is_of_device),
            pid: Some(pid),
            count: amount,
            bytes: amount,
            busy_ns: amount,
            ..UsageRecord::new(resource, second * S, (second + 1) * S)
        };
        assert!(index.usage.insert(&record, &mut index.names));
    }
    index.usage.sort();
    index.usage.put_above(LOOP, BASE);
    let users = users(&index, need, (20 * S, 21 * S));
    let sum: u128 = users.values().sum();
    let parts: Vec<(u32, u128)> =
        users.iter().map(|(pid, part)| (pid.unwrap(), (part * 100 + sum / 2) / sum)).collect();
    assert_eq!(parts, expected, "{need:?}: {used:?}");
}

/// Task 7 syncs small files; task 9 wrote most of what the flushes have to write.
#[test]
fn a_flush_takes_as_long_as_what_was_written() {
    let mut index = RunIndex::default();
    let used = |resource, pid, bytes: u64, busy_ns| UsageRecord {
        device: Some(BASE),
        pid: Some(pid),
        count: 1,
        bytes,
        busy_ns,
        ..UsageRecord::new(resource, 20 * S, 21 * S)
    };
    for record in [
        used(Resource::DeviceWrite, 7, 1 << 10, 1),
        used(Resource::DeviceWrite, 9, 98 << 10, 19),
        used(Resource::DeviceMetadata, 7, 1 << 10, 80),
        UsageRecord { count: 1, ..used(Resource::Journal, 7, 0, 0) },
    ] {
        assert!(index.usage.insert(&record, &mut index.names));
    }
    index.usage.sort();
    let share_of_9 = |need| {
        let users = users(&index, &need, (20 * S, 21 * S));
        users[&Some(9)] * 100 / users.values().sum::<u128>()
    };
    assert_eq!(share_of_9(Need::Device(BASE)), 19);
    assert_eq!(share_of_9(Need::Flush(BASE)), 97, "19 of its own, 98 of 100 of the 80");
}

#[test]
fn metadata_is_of_those_who_filled_the_journal() {
    use Resource::{DeviceMetadata, DeviceWrite, Journal};
    // A task that makes room submits the writes, below the loop device too.
    let filled = [(Journal, LOOP, 9, 90, 18), (Journal, LOOP, 7, 10, 20)];
    let writes = [(DeviceMetadata, BASE, 7, 80, 20), (DeviceWrite, BASE, 8, 20, 20)];
    check(&Need::Device(BASE), &[&filled[..], &writes].concat(), &[(7, 8), (8, 20), (9, 72)]);
    // A journal on another disk, or of long ago, is not meant.
    let other = [(Journal, DeviceNumber::new(8, 0), 9, 90, 20), (Journal, LOOP, 6, 90, 3), (Journal, LOOP, 7, 10, 20)];
    check(&Need::Device(LOOP), &[&other[..], &[(DeviceMetadata, LOOP, 5, 80, 20)]].concat(), &[(7, 100)]);
}

#[test]
fn a_worker_writes_what_others_made_dirty_before() {
    use Resource::{DeviceWrite, Dirtied};
    let used = [(DeviceWrite, BASE, KWORKER, 100, 20), (DeviceWrite, BASE, 9, 1, 2), (Dirtied, BASE, 9, 5, 16)];
    // Another process, which is not known on the disk, is innocent.
    check(&Need::Dirty(Some(BASE)), &[&used[..], &[(Dirtied, BASE, 8, 500, 20)]].concat(), &[(9, 100)]);
}

/// The thread of a mapped device submits what a program gave to it: its cgroup is the root's, the requests count for
/// the program's.
#[test]
fn the_thread_of_a_mapped_device_writes_for_those_who_use_it() {
    use Resource::{DeviceWrite, Dirtied};
    const MAPPER: u32 = 51;
    let share_of_mapper = |cgroup: &str| {
        let mut index = RunIndex::default();
        let of = |tid, name: &str, cgroup: &str| TaskRecord {
            tid,
            pid: tid,
            name: name.into(),
            cgroup: Some(cgroup.into()),
            io_cgroup: None,
            started_by: None,
            role: None,
            container: None,
            seen_ns: 0,
        };
        for task in [of(MAPPER, "dmcrypt_write/2", "/"), of(7, "app", "/app.service")] {
            index.tasks.insert(&task, &mut index.names);
        }
        index.tasks.sort();
        let used = |resource, device, pid, cgroup: &str, bytes| UsageRecord {
            device,
            pid: Some(pid),
            bytes,
            busy_ns: bytes,
            cgroup: Some(cgroup.into()),
            ..UsageRecord::new(resource, 20 * S, 21 * S)
        };
        let dirtied = used(Dirtied, Some(BASE), 7, "/app.service", 1 << 20);
        for record in [used(DeviceWrite, Some(BASE), MAPPER, cgroup, 1 << 20), dirtied] {
            assert!(index.usage.insert(&record, &mut index.names));
        }
        index.usage.sort();
        let submitters = index.tasks.submitters(index.usage.all_writers(), &index.names);
        index.tasks.know_submitters(submitters);
        let users = users(&index, &Need::Device(BASE), (20 * S, 21 * S));
        users.get(&Some(MAPPER)).copied().unwrap_or_default() * 100 / users.values().sum::<u128>()
    };
    assert_eq!(share_of_mapper("/app.service"), 0);
    assert_eq!(share_of_mapper("/"), 100, "a resync of an array, for nobody");
}

/// Parts in percent of the writers to a disk in second 20, where process 7 made 8 KiB dirty and workers, or an unknown
/// process, wrote 150 MiB.
fn writers(writer: Option<u32>, more: &[UsageRecord]) -> Vec<(Option<u32>, u128)> {
    let mut index = RunIndex::default();
    insert_worker(&mut index);
    let used = |resource, pid, bytes: u64, (from_s, to_s): (u64, u64)| UsageRecord {
        device: Some(BASE),
        pid,
        bytes,
        ..UsageRecord::new(resource, from_s * S, to_s * S)
    };
    let own =
        [used(Resource::Dirtied, Some(7), 8192, (19, 20)), used(Resource::DeviceWrite, writer, 150 << 20, (20, 21))];
    for record in own.iter().chain(more) {
        assert!(index.usage.insert(record, &mut index.names));
    }
    index.usage.sort();
    [7, 9].into_iter().for_each(|pid| index.usage.know(BASE, pid));
    let need = Need::Limit { device: BASE, writes: Some(true), by_count: false, domain: Domain::Everybody };
    let users = users(&index, &need, (20 * S, 21 * S));
    let sum: u128 = users.values().sum();
    users.iter().map(|(pid, part)| (*pid, (part * 100 + sum / 2) / sum)).collect()
}

/// Process 9 wrote before the recording, which began in second 5, or one that has ended.
#[test]
fn what_was_made_dirty_before_the_recording_is_not_of_those_who_write_little() {
    let before = UsageRecord { pid: Some(9), bytes: 200 << 20, ..UsageRecord::new(Resource::Dirtied, 2 * S, 5 * S) };
    for writer in [Some(KWORKER), None] {
        assert_eq!(writers(writer, &[]), [(None, 100), (Some(7), 0)]);
        assert_eq!(writers(writer, std::slice::from_ref(&before)), [(Some(7), 0), (Some(9), 100)]);
    }
}

#[test]
fn an_outsider_is_innocent_of_what_workers_read_and_write() {
    use Resource::{DeviceRead, DeviceWrite, Dirtied, Reads};
    let other = DeviceNumber::new(8, 0);
    let worker = (DeviceRead, BASE, KWORKER, 100, 20);
    let tenants = [
        (Reads, BASE, 7, 100, 20),
        (DeviceRead, BASE, 7, 1, 3),
        (Reads, BASE, 9, 300, 20),
        (DeviceRead, LOOP, 9, 1, 2),
    ];
    // It reads another disk, and wrote to this one once.
    let outsider = [(Reads, other, 8, 9000, 20), (DeviceRead, other, 8, 9000, 20), (DeviceWrite, BASE, 8, 1, 5)];
    let expected = [(7, 25), (9, 75)];
    check(&Need::Device(BASE), &[&[worker][..], &tenants, &outsider].concat(), &expected);
    // It read this disk once.
    let read = [&[worker][..], &tenants, &outsider, &[(DeviceRead, BASE, 8, 1, 1)]].concat();
    check(&Need::Device(BASE), &read, &expected);
    let wrote = [(DeviceWrite, BASE, KWORKER, 100, 20), (Dirtied, BASE, 9, 5, 16), (DeviceRead, BASE, 9, 1, 1)];
    let outsider = [(Dirtied, other, 8, 900, 19), (DeviceWrite, other, 8, 900, 22), (DeviceRead, BASE, 8, 1, 5)];
    check(&Need::Dirty(Some(BASE)), &[&wrote[..], &outsider].concat(), &[(9, 100)]);
}

/// Workers serve a loop device, and dispatch what a limit delayed: who wrote is known of the device above.
#[test]
fn what_workers_write_below_a_loop_device_is_of_those_who_write_above() {
    use Resource::DeviceWrite;
    let lower = [(DeviceWrite, BASE, KWORKER, 500, 20), (DeviceWrite, BASE, 7, 50, 20)];
    let above = [(DeviceWrite, LOOP, 7, 50, 20), (DeviceWrite, LOOP, 9, 450, 20)];
    check(&Need::Device(BASE), &[&lower[..], &above].concat(), &[(7, 18), (9, 82)]);
}

#[test]
fn the_one_that_writes_around_is_the_writer_of_what_a_worker_writes() {
    use Resource::{DeviceWrite, Dirtied};
    let worker = (DeviceWrite, BASE, KWORKER, 100, 20);
    // A small write into a large folio makes all of it dirty; 9 made its pages dirty before the recording.
    let small = [(Dirtied, BASE, 7, 2000, 19), (DeviceWrite, BASE, 7, 1, 22)];
    let need = Need::Dirty(Some(BASE));
    check(&need, &[&[worker, (DeviceWrite, BASE, 9, 999, 22)][..], &small].concat(), &[(7, 0), (9, 100)]);
    // So it is where the device completed nothing during the wait.
    check(&need, &[&[(DeviceWrite, BASE, 9, 999, 22)][..], &small].concat(), &[(7, 0), (9, 100)]);
    // Nothing is known of its writes: what it made dirty, if it is known on the device.
    let known = [(Resource::DeviceRead, BASE, 9, 1, 1), (Dirtied, BASE, 9, 3, 19)];
    check(&need, &[&[worker, (DeviceWrite, BASE, 7, 1, 22)][..], &known].concat(), &[(7, 25), (9, 75)]);
}

#[test]
fn what_a_device_completed_soon_after_was_in_its_queue() {
    check(&Need::Device(BASE), &[(Resource::DeviceWrite, BASE, 9, 1, 22)], &[(9, 100)]);
    check(&Need::Device(BASE), &[(Resource::DeviceWrite, BASE, 9, 1, 24)], &[]);
}

#[test]
fn what_was_used_up_before_counts_where_nobody_used_it_during_the_wait() {
    let need = Need::Limit { device: BASE, writes: Some(true), by_count: false, domain: Domain::Everybody };
    let before = (Resource::DeviceWrite, BASE, 9, 100, 17);
    check(&need, &[before], &[(9, 100)]);
    check(&need, &[before, (Resource::DeviceWrite, BASE, 7, 1, 20)], &[(7, 100)]);
    check(&need, &[(Resource::DeviceWrite, BASE, 9, 100, 3)], &[]);
}

#[test]
fn inodes_fill_memory() {
    let used = [(Resource::Inodes, BASE, 9, 3, 14), (Resource::Memory, BASE, 7, 1024, 20)];
    check(&Need::Memory(Domain::Everybody), &used, &[(7, 25), (9, 75)]);
}

/// A recording begins amid reclaim: the process that filled memory until then has just ended.
#[test]
fn a_task_that_fills_memory_filled_it_before_the_recording() {
    let need = Need::Memory(Domain::Everybody);
    let later = [(Resource::Memory, BASE, 9, 1024, 24), (Resource::Memory, BASE, 7, 1024, 27)];
    check(&need, &later, &[(9, 100)]);
    check(&need, &[&later[..], &[(Resource::Memory, BASE, 8, 1, 12)]].concat(), &[(8, 100)]);
}

/// What ran on a CPU about then says less than what ran while the victim waited for it.
#[test]
fn those_that_ran_while_a_process_waited_are_to_blame() {
    let mut index = RunIndex::default();
    let ran = |resource, pid, busy_ns| UsageRecord {
        cpu: Some(1).filter(|_| resource == Resource::Cpu),
        waiting: Some(7).filter(|_| resource == Resource::RunQueue),
        pid: Some(pid),
        busy_ns,
        ..UsageRecord::new(resource, 20 * S, 21 * S)
    };
    for record in [ran(Resource::Cpu, 8, 900), ran(Resource::Cpu, 9, 100), ran(Resource::RunQueue, 9, 50)] {
        assert!(index.usage.insert(&record, &mut index.names));
    }
    assert!(!index.usage.insert(&UsageRecord { waiting: None, ..ran(Resource::RunQueue, 9, 1) }, &mut index.names));
    index.usage.sort();
    let users = |waiting| {
        let need = Need::Cpu { cpu: Some(1), waiting, except: None };
        let users = users(&index, &need, (20 * S, 21 * S));
        users.into_keys().map(Option::unwrap).collect::<Vec<_>>()
    };
    assert_eq!((users(7), users(6)), (vec![9], vec![8, 9]));
}

/// The holder of a lock waited for the CPU behind 9, and ran itself: who waited for the lock waited for both.
#[test]
fn those_that_took_the_cpu_of_a_holder_are_to_blame_for_its_lock() {
    let mut index = RunIndex::default();
    let ran = |resource, pid, busy_ns| UsageRecord {
        cpu: Some(1).filter(|_| resource == Resource::Cpu),
        waiting: Some(7).filter(|_| resource == Resource::RunQueue),
        pid: Some(pid),
        busy_ns,
        ..UsageRecord::new(resource, 20 * S, 21 * S)
    };
    for record in [ran(Resource::Cpu, 7, 100), ran(Resource::Cpu, 8, 900), ran(Resource::RunQueue, 9, 300)] {
        assert!(index.usage.insert(&record, &mut index.names));
    }
    index.usage.sort();
    let users = users(&index, &Need::CpuOfHolder { cpu: Some(1), holder: 7 }, (20 * S, 21 * S));
    let sum: u128 = users.values().sum();
    let parts: Vec<(u32, u128)> = users.into_iter().map(|(pid, part)| (pid.unwrap(), part * 100 / sum)).collect();
    assert_eq!(parts, [(7, 25), (9, 75)]);
}

/// Task 7 waited for the CPU behind 9, and behind 8, which waited for 9 itself. 8 alone would have been done before.
#[test]
fn one_that_lacked_the_cpu_itself_is_not_to_blame_for_its_lack() {
    let users_of = |ran_8, waited_8, same_cgroup: bool| {
        let mut index = RunIndex::default();
        for (tid, cgroup) in [(8, if same_cgroup { "/9" } else { "/8" }), (9, "/9")] {
            let (name, cgroup) = (format!("task{tid}"), Some(cgroup.to_owned()));
            let task = TaskRecord {
                tid,
                pid: tid,
                name,
                cgroup,
                started_by: None,
                role: None,
                container: None,
                io_cgroup: None,
                seen_ns: 0,
            };
            index.tasks.insert(&task, &mut index.names);
        }
        let ran = |waiting, pid, busy_ns| UsageRecord {
            waiting: Some(waiting),
            pid: Some(pid),
            busy_ns,
            ..UsageRecord::new(Resource::RunQueue, 20 * S, 21 * S)
        };
        for record in [ran(7, 8, ran_8), ran(7, 9, 400), ran(8, 9, waited_8)] {
            assert!(index.usage.insert(&record, &mut index.names));
        }
        index.tasks.sort();
        index.usage.sort();
        let need = Need::Cpu { cpu: Some(1), waiting: 7, except: Some(7) };
        let users = users(&index, &need, (20 * S, 21 * S));
        users.into_keys().map(Option::unwrap).collect::<Vec<_>>()
    };
    assert_eq!(users_of(50, 300, false), [9]);
    assert_eq!(users_of(50, 40, false), [8, 9], "it hardly waited");
    assert_eq!(users_of(200, 300, false), [8, 9], "it used much");
    assert_eq!(users_of(50, 300, true), [8, 9], "they are one neighbour");
}

/// Task 8 waited for 9 for long, and ran when 7 waited: in the next half second.
#[test]
fn one_that_lacked_the_cpu_just_before_is_not_to_blame_either() {
    let users_of = |ran_before: u64| {
        let mut index = RunIndex::default();
        for (tid, cgroup) in [(8, "/8"), (9, "/9")] {
            let (name, cgroup) = (format!("task{tid}"), Some(cgroup.to_owned()));
            let task = TaskRecord {
                tid,
                pid: tid,
                name,
                cgroup,
                io_cgroup: None,
                started_by: None,
                role: None,
                container: None,
                seen_ns: 0,
            };
            index.tasks.insert(&task, &mut index.names);
        }
        let ran = |waiting, pid, busy_ns, half: u64| UsageRecord {
            waiting: Some(waiting),
            pid: Some(pid),
            busy_ns,
            ..UsageRecord::new(Resource::RunQueue, half * S / 2, (half + 1) * S / 2)
        };
        let on_cpu = UsageRecord {
            cpu: Some(1),
            pid: Some(8),
            cgroup: Some("/8".to_owned()),
            busy_ns: ran_before,
            ..UsageRecord::new(Resource::Cpu, 39 * S / 2, 20 * S)
        };
        for record in [ran(8, 9, 300, 39), ran(7, 8, 50, 40), ran(7, 9, 400, 40), on_cpu] {
            assert!(index.usage.insert(&record, &mut index.names));
        }
        index.tasks.sort();
        index.usage.sort();
        let need = Need::Cpu { cpu: Some(1), waiting: 7, except: Some(7) };
        let users = users(&index, &need, (20 * S, 41 * S / 2));
        users.into_keys().map(Option::unwrap).collect::<Vec<_>>()
    };
    assert_eq!(users_of(0), [9]);
    assert_eq!(users_of(400), [8, 9], "it ran for longer than it waited");
}

/// A quota holds for all below its cgroup, also for what has a tighter one there.
#[test]
fn those_that_ran_within_a_cpu_quota_used_it_up() {
    let mut index = RunIndex::default();
    let ran = |pid, cpu, cgroup: &str, from_ns| UsageRecord {
        cpu: Some(cpu),
        pid: Some(pid),
        cgroup: Some(cgroup.to_owned()),
        busy_ns: 100,
        ..UsageRecord::new(Resource::Cpu, from_ns, from_ns + S / 2)
    };
    for record in [
        ran(6, 0, "/a", 18 * S),
        ran(7, 0, "/a", 20 * S),
        ran(8, 0, "/a/b", 20 * S),
        ran(8, 1, "/a/b", 20 * S),
        ran(9, 1, "/ab", 20 * S),
    ] {
        assert!(index.usage.insert(&record, &mut index.names));
    }
    index.usage.sort();
    let quota = index.names.insert("/a");
    let weights = |from_ns, to_ns| {
        users(&index, &Need::Quota(quota), (from_ns, to_ns)).into_iter().map(|(pid, weight)| (pid.unwrap(), weight))
    };
    let during: Vec<(u32, u128)> = weights(20 * S, 20 * S + S / 2).collect();
    assert_eq!(during, [(7, 100 * 1024), (8, 200 * 1024)]);
    // What ran in the period before used it up, too.
    assert_eq!(weights(20 * S + S / 2, 21 * S).map(|one| one.0).collect::<Vec<_>>(), [7, 8]);
}

/// One process reads after another: none delays the other, though both read in the same half second.
#[test]
fn a_process_is_innocent_of_what_was_before_it() {
    let mut index = RunIndex::default();
    let read = |pid, from_ns, to_ns| UsageRecord {
        device: Some(BASE),
        pid: Some(pid),
        busy_ns: S / 2,
        ..UsageRecord::new(Resource::DeviceRead, from_ns, to_ns)
    };
    for record in [read(7, 20 * S, 20 * S + 400), read(8, 20 * S + 400, 21 * S), read(9, 20 * S, 21 * S)] {
        assert!(index.usage.insert(&record, &mut index.names));
    }
    index.usage.sort();
    let span = |from_ns, to_ns| index.usage.span_of(from_ns, to_ns);
    assert_eq!(span(20 * S + 100, 20 * S + 200), Some((20 * S, 20 * S + 400)));
    assert_eq!((span(20 * S + 399, 20 * S + 401), span(21 * S, 21 * S + 1)), (None, None));
    let users = users(&index, &Need::Device(BASE), (20 * S, 20 * S + 400));
    assert_eq!(users.into_keys().map(Option::unwrap).collect::<Vec<_>>(), [7, 9]);
}

/// mkfs discards the whole disk: a limit on bytes lets that pass as a sector.
#[test]
fn a_discard_uses_no_bytes() {
    let mut index = RunIndex::default();
    let used = |resource, pid, count, bytes| UsageRecord {
        device: Some(BASE),
        pid: Some(pid),
        count,
        bytes,
        ..UsageRecord::new(resource, 20 * S, 21 * S)
    };
    for record in [used(Resource::DeviceOther, 8, 2, 1 << 30), used(Resource::DeviceWrite, 9, 1, 3 << 10)] {
        assert!(index.usage.insert(&record, &mut index.names));
    }
    index.usage.sort();
    let need = Need::Limit { device: BASE, writes: Some(true), by_count: false, domain: Domain::Everybody };
    let weights: Vec<(Option<u32>, u128)> = users(&index, &need, (20 * S, 21 * S)).into_iter().collect();
    assert_eq!(weights, [(Some(8), 1024 * 1024), (Some(9), 3 * 1024 * 1024)]);
    // A limit on operations counts each.
    let need = Need::Limit { device: BASE, writes: Some(true), by_count: true, domain: Domain::Everybody };
    let weights: Vec<(Option<u32>, u128)> = users(&index, &need, (20 * S, 21 * S)).into_iter().collect();
    assert_eq!(weights, [(Some(8), 2 * 1024), (Some(9), 1024)]);
}

/// A worker dispatches what a limit delayed: a process that wrote a little to the same file is not in that cgroup.
#[test]
fn what_a_limit_delayed_is_of_those_in_its_cgroup() {
    check_limited(&[(Resource::DeviceWrite, 9, Some("/limited")), (Resource::DeviceRead, 7, None)], 9);
}

/// ext4lazyinit writes to the disk outside of the cgroup, and the process in it is known there by its reads.
#[test]
fn what_a_limit_delayed_is_not_of_those_who_write_outside_of_it() {
    let outside = (Resource::DeviceWrite, 7, Some("/"));
    check_limited(&[outside, (Resource::DeviceRead, 9, Some("/limited"))], 9);
    check_limited(&[outside, (Resource::DeviceRead, 9, None)], 9);
}

/// Processes 7 and 9 made pages dirty; who wrote what a worker dispatched for a cgroup.
fn check_limited(known: &[(Resource, u32, Option<&str>)], expected: u32) {
    let mut index = RunIndex::default();
    insert_worker(&mut index);
    let used = |resource, pid, cgroup: Option<&str>, bytes| UsageRecord {
        device: Some(BASE),
        pid: Some(pid),
        cgroup: cgroup.map(str::to_owned),
        count: 1,
        bytes,
        ..UsageRecord::new(resource, 20 * S, 21 * S)
    };
    let by_worker = used(Resource::DeviceWrite, KWORKER, Some("/limited"), 4 << 20);
    let dirtied = [7, 9].map(|pid| used(Resource::Dirtied, pid, None, 1 << 20));
    let known = known.iter().map(|(resource, pid, cgroup)| used(*resource, *pid, *cgroup, 1));
    for record in known.chain(dirtied).chain([by_worker]) {
        assert!(index.usage.insert(&record, &mut index.names));
    }
    index.usage.sort();
    let limited = index.names.find("/limited").unwrap();
    let need = Need::Limit { device: BASE, writes: Some(true), by_count: false, domain: Domain::Cgroup(limited) };
    assert_eq!(users(&index, &need, (20 * S, 21 * S)).into_keys().collect::<Vec<_>>(), [Some(expected)]);
}

/// Writes in the same second: disk, process, cgroup, and how many requests of 4 KiB.
type Written = (DeviceNumber, u32, &'static str, u64);

/// Who used the limit of the root cgroup on the disk below a loop device.
fn users_below_loop(written: &[Written]) -> Vec<(Option<u32>, u128)> {
    let mut index = RunIndex::default();
    insert_worker(&mut index);
    for &(device, pid, cgroup, count) in written {
        let record = UsageRecord {
            device: Some(device),
            pid: Some(pid),
            cgroup: Some(cgroup.to_owned()),
            count,
            bytes: count << 12,
            ..UsageRecord::new(Resource::DeviceWrite, 20 * S, 21 * S)
        };
        assert!(index.usage.insert(&record, &mut index.names));
    }
    index.usage.sort();
    index.usage.put_above(LOOP, BASE);
    let domain = Domain::Cgroup(index.names.find("/").unwrap());
    let need = Need::Limit { device: BASE, writes: Some(true), by_count: true, domain };
    users(&index, &need, (20 * S, 21 * S)).into_iter().collect()
}

/// The limit of a disk below a loop device delays what workers submit for the tasks that write above.
#[test]
fn what_a_limit_below_a_loop_device_delayed_is_of_those_in_its_cgroup_above() {
    let weights = users_below_loop(&[
        (BASE, KWORKER, "/", 90),
        (BASE, 7, "/", 10),
        (LOOP, 7, "/", 20),
        (LOOP, 9, "/", 60),
        (LOOP, 8, "/other", 60),
        // The driver submits for the cgroup that wrote above.
        (BASE, KWORKER, "/other", 60),
    ]);
    assert_eq!(weights, [(Some(7), (10 + 90 / 4) * 1024 + 512), (Some(9), 90 * 1024 * 3 / 4)]);
}

/// What a loop device writes through the page cache counts for its worker, whatever the cgroup of those that write
/// above.
#[test]
fn what_comes_down_through_pages_is_of_those_that_write_above() {
    let weights = users_below_loop(&[(BASE, KWORKER, "/", 90), (BASE, 7, "/", 10), (LOOP, 8, "/other", 90)]);
    assert_eq!(weights, [(Some(7), 19 * 1024), (Some(8), 81 * 1024)]);
}
