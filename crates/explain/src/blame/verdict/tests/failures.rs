//! Requests that failed at their device.

use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};

use crate::blame::tests::stage::{MS, stage};

/// Draws a direct read that waits for the request, and gives what the cause says of it.
fn check(request: &str, expected: &str) {
    let drawing = format!("call:read 7 |==========|\noff 7 |sssssssss | request=3\nrequest 3 {request}");
    let explanation = stage(&drawing).explain();
    let life = explanation.stalls[0].request.clone().expect("a request");
    assert_eq!(life.failed.as_ref().map_or("", |failed| &failed.words), expected, "of {drawing}");
}

#[test]
fn what_failed_is_said_with_its_status() {
    check("|ID       C|", "");
    check("|IE  D    C| retries=1 timeouts=1", "timed out and was tried again after 3.00 ms");
    check(
        "|IE  D    C| retries=2 result=2 sense=720896",
        "failed and was tried again 2 times after 3.00 ms (aborted command, sense 0b/00/00)",
    );
    check("|IE  D    C| retries=3 timeouts=1", "timed out, failed 2 times, and was tried again after 3.00 ms");
    check("|ID       C| errno=61 result=2 sense=201984", "failed with ENODATA (medium error, sense 03/15/00)");
    check("|ID       C| errno=110 timeouts=1", "timed out and failed with ETIMEDOUT");
    check("|ID       C| errno=95", "");
    check("|IE  D    C| retries=1 result=8", "failed and was tried again after 3.00 ms (busy)");
    check("|IE  D    C| retries=1 result=3584", "failed and was tried again after 3.00 ms (transport disrupted)");
    check(
        "|IE  D    C| errno=5 retries=1 timeouts=2 result=393984",
        "timed out and was tried again after 3.00 ms, then timed out and failed with EIO (timed out, its disk is \
         offline)",
    );
}

/// Another process uses the disk all the time in which it fails.
#[test]
fn a_task_that_used_a_disk_did_not_make_it_fail() {
    for (request, expected) in [("|ID       C|", Some(9)), ("|IE       C| retries=1 timeouts=1", None)] {
        let drawing = format!("call:read 7 |==========|\noff 7 |sssssssss | request=3\nrequest 3 {request}");
        let mut stage = stage(&drawing);
        stage.usage.push(UsageRecord {
            device: Some(DeviceNumber::new(8, 0)),
            pid: Some(9),
            count: 1,
            busy_ns: 10 * MS,
            ..UsageRecord::new(Resource::DeviceRead, 0, 10 * MS)
        });
        let explanation = stage.explain();
        assert_eq!(explanation.culprits[0].task.as_ref().map(|task| task.tid), expected, "{:?}", explanation.culprits);
    }
}
