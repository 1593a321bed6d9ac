//! Limits of cgroup v2, which hold up tasks of other cgroups, too.

use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};

use super::stage::{MS, stage};
use crate::blame::Cause;

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
