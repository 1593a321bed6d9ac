//! Limits of cgroup v2, which hold up tasks of other cgroups, too.

use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};

use crate::blame::Cause;
use crate::blame::tests::stage::{MS, description, stage};

const DISK: DeviceNumber = DeviceNumber::new(8, 0);

/// Task 7 syncs a file; tasks 8 and 9 wrote to the disk, in cgroups of which `limited` delayed requests.
fn blamed(limited: &[&str]) -> Vec<u32> {
    let mut stage = stage(
        "op:fsync  7 |==========|
         off       7 |ssssssssss| request=1
         request   1 |Q        IDC| tid=3 device=8,0 throttled kind=W",
    );
    let used = |pid: u32, cgroup: &str, bytes| UsageRecord {
        device: Some(DISK),
        pid: Some(pid),
        bytes,
        count: 1,
        busy_ns: MS,
        throttled: u64::from(limited.contains(&cgroup)),
        cgroup: Some(cgroup.to_owned()),
        limit: limited.contains(&cgroup).then(|| cgroup.to_owned()),
        ..UsageRecord::new(Resource::DeviceWrite, 0, 100 * MS)
    };
    stage.usage.extend([used(7, "/syncs", 4096), used(8, "/owner", 1 << 20), used(9, "/other", 64 << 20)]);
    let culprits = stage.explain().culprits;
    let throttled = culprits.iter().filter(|culprit| culprit.cause == Cause::IoThrottle);
    throttled.filter_map(|culprit| Some(culprit.task.as_ref()?.tid)).collect()
}

#[test]
fn a_limit_of_the_cgroup_that_owns_the_pages_is_used_up_there() {
    assert_eq!(blamed(&["/owner"]), [8]);
    assert_eq!(blamed(&["/syncs", "/owner"]), [7], "its own limit delayed requests, too");
}

/// Task 7 is paused, since too much is dirty. Whether a limit delays the writes of the disk decides what would help it.
fn paused(throttled: u64) -> (String, Option<String>) {
    let mut stage = stage(
        "op:write  7 |==========|
         off       7 |ssssssssss| stack=balance_dirty_pages \
         detail=dirty_pages;8,0;9437184,9437184,1048576,1048576,1048576;8:0",
    );
    let used = |resource| UsageRecord {
        device: Some(DISK),
        pid: Some(7),
        bytes: 1 << 20,
        count: 8,
        busy_ns: MS,
        throttled,
        cgroup: Some("/".to_owned()),
        ..UsageRecord::new(resource, 0, 100 * MS)
    };
    stage.usage.extend([used(Resource::DeviceWrite), UsageRecord { device: None, ..used(Resource::Dirtied) }]);
    let waits = stage.account_run(&description(true), None).1.waits(MS);
    let path = &waits.paths[waits.operations[0].pieces[0].0 as usize];
    let steps: Vec<&str> = path.iter().map(|step| step.cause.name()).collect();
    (steps.join("/"), waits.limit_cgroups.get(&DISK).cloned())
}

#[test]
fn a_writer_that_is_paused_at_the_pace_of_a_limit_waits_for_the_limit() {
    assert_eq!(paused(0), ("dirty_throttle".to_owned(), None));
    assert_eq!(paused(1), ("dirty_throttle".to_owned(), Some("/".to_owned())), "one of eight writes");
    assert_eq!(paused(8), ("dirty_throttle/io_throttle".to_owned(), Some("/".to_owned())));
}

/// Task 7 asks server 8, which has used up the CPU quota of its cgroup together with 9.
#[test]
fn a_server_without_cpu_quota_leads_to_those_that_used_it_up() {
    let mut stage = stage(
        "op:read   7 |==============|
         off       7 | ssssssssssss | stack=fuse_simple_request,request_wait_answer waker=8
         off       8 |  pppppppppp  | held detail=cpu_quota;;20000000,100000000;/x
         task      8 |n             | name=bindfs pid=8 cgroup=/x
         task      9 |n             | name=burn pid=9 cgroup=/x",
    );
    let ran = |pid: u32, busy_ns| UsageRecord {
        cpu: Some(0),
        pid: Some(pid),
        busy_ns,
        cgroup: Some("/x".to_owned()),
        ..UsageRecord::new(Resource::Cpu, 0, 100 * MS)
    };
    stage.usage.extend([ran(8, MS), ran(9, 19 * MS)]);
    let (explanation, accounting) = stage.account_run(&description(true), None);
    let first = &explanation.culprits[0];
    let cause = first.cause.name();
    assert_eq!(
        (first.task.as_ref().map(|task| task.tid), first.cgroup.as_deref(), cause),
        (Some(9), Some("/x"), "network_fs")
    );
    let quotas = accounting.waits(MS).quota_cgroups;
    assert_eq!(quotas.into_iter().collect::<Vec<_>>(), [(8, "/x".to_owned())]);
}

/// With cgroups of version 1 a process is in one cgroup for its disk and in another for its CPU.
#[test]
fn one_process_in_several_cgroups_is_one_root_blocker() {
    let mut stage = stage(
        "op:fsync  7 |==========|
         off       7 |ssssssssss| request=1
         request   1 |Q        IDC| tid=9 device=8,0 throttled kind=W
         task      9 |n         | name=dd pid=9 cgroup=/backup",
    );
    let used = |cgroup: &str, start_ns| UsageRecord {
        device: Some(DISK),
        pid: Some(9),
        bytes: 1 << 20,
        count: 1,
        busy_ns: MS,
        throttled: 1,
        cgroup: Some(cgroup.to_owned()),
        limit: Some("/".to_owned()),
        ..UsageRecord::new(Resource::DeviceWrite, start_ns, start_ns + 5 * MS)
    };
    stage.usage.extend([used("/", 0), used("/io", 5 * MS)]);
    let culprits = stage.explain().culprits;
    let of_dd: Vec<_> = culprits.iter().filter(|culprit| culprit.cause == Cause::IoThrottle).collect();
    assert_eq!(of_dd.len(), 1, "{of_dd:?}");
}

/// Two containers, of one of which the name was found.
#[test]
fn a_container_is_named_in_place_of_its_cgroup() {
    let known =
        "/machine.slice/libpod-1463d1f9468191c000ca6fc892fa468d39ec3ec9d52fdf419227f6e0d51b23c3.scope/container";
    for (container, words) in [("container=loader", "container loader"), ("", "container 1463d1f94681")] {
        let explanation = stage(&format!(
            "op:fsync 7 |==========|
             off     7 |ssssssssss| call=fsync stack=folio_wait_bit_common request=1
             request 1 |Q        IDC| tid=7 device=8,0 throttled kind=W
             task    7 |n         | name=dd pid=7 cgroup={known} {container}"
        ))
        .explain();
        let culprit = &explanation.culprits[0];
        assert_eq!((culprit.cgroup.as_deref(), culprit.container.as_deref()), (Some(known), Some(words)));
        assert_eq!(explanation.containers.words(known).as_deref(), Some(words));
    }
}

/// With cgroups of version 1 the limit is that of the I/O controller's cgroup, also where nothing had passed it yet.
#[test]
fn the_cgroup_of_a_limit_is_that_of_the_controller_that_throttles() {
    let cgroup = |cause: &str, usage: Option<UsageRecord>| {
        let mut stage = stage(&format!(
            "task    7 |n                | name=dd pid=7 cgroup=/memory io_cgroup=/backup-team
             blocked 7 |      ===========| call=write stack={cause} path=/mnt/f"
        ));
        stage.usage.extend(usage);
        let culprits = stage.explain().culprits;
        (culprits[0].cause.name(), culprits[0].cgroup.clone())
    };
    let other = UsageRecord { pid: Some(9), cgroup: Some("/x".into()), ..UsageRecord::new(Resource::Cpu, 0, 17 * MS) };
    let throttled = "blkcg_maybe_throttle_current";
    for usage in [None, Some(other)] {
        assert_eq!(cgroup(throttled, usage), ("io_throttle", Some("/backup-team".to_owned())));
    }
}
