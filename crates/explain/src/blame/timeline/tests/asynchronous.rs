//! Asynchronous operations: what they waited for, whatever their task did.

use crate::blame::tests::stage::{chain, shares, stage};

fn check(drawing: &str, expected: &str) {
    assert_eq!(shares(&stage(drawing).explain()), expected, "of {drawing}");
}

#[test]
fn it_takes_the_stages_of_its_request_and_not_the_sleeps_of_its_task() {
    check(
        "async:io_uring_read 7 |====================| request=3
         request           3 |  Q  I    D     C   | tid=7
         off               7 |     sssssssssss    | stack=hrtimer_nanosleep",
        "device 6, running 6, scheduler_queue 5, request_wait 3",
    );
}

/// It was `device`, whatever limit held the disk's requests.
#[test]
fn its_request_at_a_loop_device_takes_the_causes_below() {
    let drawing = "
        async:io_uring_read 7 |====================| request=2
        request             1 |            DC      | tid=3 device=8,0 throttled
        request             2 |  D             C   | tid=7 device=7,0 lower=1";
    let explanation = stage(drawing).explain();
    assert_eq!(shares(&explanation), "io_throttle 10, running 6, device 4");
    assert!(explanation.culprits.iter().any(|culprit| culprit.device.unwrap().to_string() == "8,0"));
    let worker = "
        task 5 |    | name=kworker
        off  5 |   ssssssss | stack=percpu_rwsem_wait,lo_rw_aio,loop_process_work work=loop0";
    assert_eq!(shares(&stage(&format!("{drawing}{worker}")).explain()), "frozen 8, running 6, device 4, io_throttle 2");
}

#[test]
fn its_worker_explains_it() {
    let drawing = "
        async:io_uring_fsync 7 |====================| worker=9
        off                9 |  ssssssssssssssss  | stack=jbd2_log_wait_commit waker=11
        off                11 |   sssssssssssssss  | stack=submit_bio_wait";
    let explanation = stage(drawing).explain();
    assert_eq!(shares(&explanation), "journal 16, io_worker 4");
    assert_eq!(chain(&explanation.stalls[0]), "thread 7: journal 16 < thread 9: journal 16 < thread 11: device 15");
}

#[test]
fn a_wait_for_completions_is_explained_by_the_operation_and_counts_once() {
    check(
        "async:aio_pread       7 |==========          | request=3
         request             3 | Q        C         | tid=7
         off                 7 |  ssssssss          | stack=read_events
         call:io_getevents   7 |  ========          |",
        "device 9, running 1",
    );
}

#[test]
fn a_load_that_waits_for_its_ring_takes_the_causes_of_the_operation() {
    check(
        "op:read             7 |==========          |
         async:io_uring_read 7 |==========          | request=3
         request           3 |I    D    C         | tid=7
         off               7 | ssssssss           | stack=io_cqring_wait",
        "scheduler_queue 4, device 4, running 2",
    );
}

#[test]
fn without_request_or_worker_only_the_kernel_knows() {
    check("async:io_uring_read 7 |==========| ", "io_worker 10");
}

#[test]
fn of_two_rows_of_one_operation_the_longer_counts() {
    check(
        "async:aio_pwrite 7 |======    | request=3
         async:aio_pwrite 7 |==========| request=3
         request        3 |Q    C    | tid=7",
        "device 5, running 5",
    );
}
