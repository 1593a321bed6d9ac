//! What a disk did for whom while a task waited for it.

use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};

use crate::blame::Served;
use crate::blame::tests::stage::{MS, Stage, stage};

const DRAWING: &str = "
    task      7 |                      | name=app pid=7
    task      9 |                      | name=tar pid=9 cgroup=/backup.service
    op:write  7 |====================  |
    off       7 | ssssssssssssssssss   | stack=folio_wait_writeback request=1
    request   1 |  Q I D           C   | tid=7 device=8,0";

fn used(pid: Option<u32>, count: u64, bytes: u64) -> UsageRecord {
    UsageRecord {
        device: Some(DeviceNumber::new(8, 0)),
        pid,
        count,
        bytes,
        busy_ns: MS,
        ..UsageRecord::new(Resource::DeviceWrite, 0, 40 * MS)
    }
}

fn drawn(usage: Vec<UsageRecord>) -> Stage {
    Stage { usage, ..stage(DRAWING) }
}

fn served(usage: Vec<UsageRecord>) -> Option<Served> {
    drawn(usage).explain().stalls[0].served.clone()
}

#[test]
fn it_is_the_part_of_an_interval_in_which_the_request_waited() {
    let served = served(vec![used(Some(9), 80, 8000), used(Some(7), 8, 800), used(None, 8, 80)]).unwrap();
    // 16 of 40 ms.
    assert_eq!((served.requests, served.bytes), (38, 3552));
    let by: Vec<_> = served.by.iter().map(|one| (one.is_own, one.requests, one.bytes)).collect();
    assert_eq!(by, [(false, 32, 3200), (true, 3, 320), (false, 3, 32)]);
    let tar = &served.by[0];
    assert_eq!(tar.task.as_ref().map(ToString::to_string).as_deref(), Some("tar/9"));
    assert_eq!(tar.cgroup.as_deref(), Some("/backup.service"));
}

#[test]
fn those_in_flight_and_those_that_overtook_have_tasks_and_cgroups() {
    let drawing = "
        task      7 |                      | name=app pid=7
        task      9 |                      | name=tar pid=9 cgroup=/backup.service
        op:write  7 |====================  |
        off       7 | ssssssssssssssssss   | stack=folio_wait_writeback request=1
        off       9 |sssss                 | stack=folio_wait_writeback request=2
        off       9 |      ssssss          | stack=folio_wait_writeback request=3
        off       9 |              ssssssss| stack=folio_wait_writeback request=4
        request   1 |  Q I D           C   | tid=7 device=8,0
        request   2 |QID  C                | tid=9 device=8,0
        request   3 |      QID  C          | tid=9 device=8,0
        request   4 |              QID    C| tid=9 device=8,0";
    let explanation = stage(drawing).explain();
    let is_app = |stall: &&crate::blame::Stall| stall.task.tid == 7;
    let request = explanation.stalls.iter().find(is_app).and_then(|stall| stall.request.clone()).unwrap();
    for by in [request.in_flight_of, request.overtakers] {
        let [tar] = &by.unwrap()[..] else { panic!("one process") };
        assert_eq!((tar.requests, tar.is_own, tar.cgroup.as_deref()), (1, false, Some("/backup.service")));
        assert_eq!(tar.task.as_ref().map(ToString::to_string).as_deref(), Some("tar/9"));
    }
}

#[test]
fn nothing_is_said_where_nothing_is_known() {
    assert_eq!(served(Vec::new()), None);
    let other = UsageRecord { device: Some(DeviceNumber::new(8, 16)), ..used(Some(9), 80, 8000) };
    assert_eq!(served(vec![other]), None);
}

/// Values that no tracer writes are dropped and counted, and do not exceed the range of a number.
#[test]
fn impossible_usage_is_damage() {
    let good = used(Some(9), 80, 8000);
    for bad in [
        UsageRecord { bytes: u64::MAX, ..good.clone() },
        UsageRecord { count: u64::MAX, ..good.clone() },
        UsageRecord { busy_ns: u64::MAX, ..good.clone() },
        UsageRecord { end_ns: u64::MAX, ..good.clone() },
        UsageRecord { start_ns: 50 * MS, ..good.clone() },
        UsageRecord { device: None, ..good.clone() },
        UsageRecord { resource: Resource::Cpu, ..good.clone() },
    ] {
        let explanation = drawn(vec![good.clone(), bad.clone()]).explain();
        assert_eq!(explanation.losses.damaged, 1, "{bad:?}");
        assert_eq!(explanation.stalls[0].served, served(vec![good.clone()]), "{bad:?}");
    }
    let most = UsageRecord { bytes: 1 << 60, count: 1 << 60, busy_ns: 1 << 60, ..good };
    let all: Vec<UsageRecord> = (100..200).map(|pid| UsageRecord { pid: Some(pid), ..most.clone() }).collect();
    assert_eq!(served(all).map(|served| served.bytes), Some(u64::MAX));
}
