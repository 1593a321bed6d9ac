//! Without a source that an answer would rest on, its time is unexplained and the answer says so.

use model::preflight::{Finding, Subject, capability};
use model::run::RunDescription;

use crate::blame::tests::stage::{MS, description, stage};
use crate::blame::{Cause, Untraced};

/// A write of pages that its cgroup throttles, and one that waits for a lock whose holder waits for the disk.
const DRAWING: &str = "
    call:fsync 7 |====================| stack=x
    off        7 |ssssssssssssss      | stack=folio_wait_bit_common,folio_wait_writeback tp=folio_wait_writeback \
    request=3
    request    3 |QID           C     | tid=7
    call:write 8 |====================|
    off        8 |  ssssssssssss      | stack=ext4_buffered_write_iter waker=9 tp=contention_begin
    off        9 |  sssssssssss       | stack=__wait_on_buffer,ext4_read_bh
";

fn without(capability: &str) -> RunDescription {
    let mut run = description(true);
    run.preflight = vec![Finding::missing(capability, "", "the kernel refuses its program", "report it")];
    run
}

fn of_subject(subject: Subject, time_ns: Option<u64>) -> Untraced {
    let (why, remedy) = (Some("the kernel refuses its program".into()), Some("report it".into()));
    Untraced { subject, why, remedy, time_ns }
}

#[test]
fn without_block_requests_what_happened_at_the_disk_is_unexplained() {
    let drawing = stage(DRAWING);
    let whole = drawing.explain();
    assert_eq!(
        (whole.untraced.len(), whole.time_ns(Cause::WritebackWait) + whole.time_ns(Cause::Device) > 0),
        (0, true)
    );
    let found = drawing.explain_run(&without(capability::BLOCK_REQUESTS), None);
    assert_eq!([Cause::WritebackWait, Cause::Device, Cause::IoThrottle].map(|cause| found.time_ns(cause)), [0; 3]);
    assert_eq!(found.untraced, [of_subject(Subject::Disk, Some(found.time_ns(Cause::Unexplained)))]);
    assert!(found.time_ns(Cause::Unexplained) >= 14 * MS, "{:?}", found.causes);
    // The wait for the lock is known; what its holder waited for is not.
    assert_eq!(found.causes.iter().map(|time| time.time_ns).sum::<u64>(), found.wall_ns);
    assert!(found.culprits.iter().all(|culprit| culprit.device.is_none()), "{:?}", found.culprits);
}

#[test]
fn without_system_calls_or_the_scheduler_operations_are_unknown() {
    for capability in [capability::SYSTEM_CALLS, capability::SCHEDULER, capability::TRACING] {
        let found = stage("call:fsync 7 |====|").explain_run(&without(capability), None);
        assert_eq!(found.untraced, [of_subject(Subject::Operations, None)], "{capability}");
    }
    let switched_off = stage("call:fsync 7 |====|").explain_untraced();
    assert_eq!(switched_off.untraced[0].remedy.as_deref(), Some("record without --no-trace"));
}

/// An answer that does not rest on a source does not miss it, and a module that is not loaded is none.
#[test]
fn a_source_that_the_answer_does_not_rest_on_is_not_missed() {
    let computes = stage("call:getdents64 7 |==========|");
    assert_eq!(computes.explain_run(&without(capability::BLOCK_REQUESTS), None).untraced, []);
    let mut run = description(true);
    run.preflight = vec![Finding::not_loaded("tracing: XFS log", "", "xfs")];
    let found = stage(DRAWING).explain_run(&run, None);
    assert_eq!((found.untraced, found.losses.missing), (vec![], vec![]));
}
