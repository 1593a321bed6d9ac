//! Waits of the recorded command below the threshold, which is 5 ms.

use crate::blame::tests::stage::{MS, stage};
use crate::blame::{CauseTime, Explanation};

fn explained(drawing: &str) -> Explanation {
    stage(drawing).explain()
}

/// `device 6 of 2` for 6 ms in 2 waits, the most time first.
fn causes(explanation: &Explanation) -> String {
    let of = |time: &CauseTime| format!("{} {} of {}", time.cause.name(), time.time_ns / MS, time.operations);
    explanation.short_waits.causes.iter().map(of).collect::<Vec<_>>().join(", ")
}

#[test]
fn many_waits_are_one_finding() {
    let explanation = explained(
        "off 7 |sss ssww sss sss   | stack=jbd2_log_wait_commit call=fsync watched waker=9
         off 7 |                 ss| stack=jbd2_log_wait_commit call=fsync watched waker=9
         off 9 |sss ssss sss sss   | stack=submit_bio_wait",
    );
    let waits = &explanation.short_waits;
    assert_eq!((explanation.slow_operations, waits.count, waits.time_ns / MS, waits.running_ns / MS), (0, 5, 15, 4));
    assert_eq!((waits.shortest_ns / MS, waits.longest_ns / MS, waits.recorded), (2, 4, 5));
    assert_eq!(causes(&explanation), "journal 13 of 5, cpu_wait 2 of 1");
    assert_eq!((waits.calls.len(), waits.calls[0].class.as_str(), waits.calls[0].operations), (1, "fsync", 5));
    assert_eq!(waits.culprits.iter().map(|culprit| culprit.time_ns / MS).sum::<u64>(), 15);
    assert!(explanation.short_waits_matter());
}

/// Those of operations, of neighbours, and long ones, which are listed with the sleeps.
#[test]
fn others_do_not_count() {
    let explanation = explained(
        "call:fsync 7 |========             |
         off        7 | sss ss    ssssss    | stack=jbd2_log_wait_commit call=fsync watched
         off        8 |sss sss sss sss sss  | stack=jbd2_log_wait_commit call=fsync",
    );
    assert_eq!((explanation.slow_operations, explanation.short_waits.count, explanation.sleeps.count), (1, 0, 1));
    assert!(!explanation.short_waits_matter());
}

/// Where it is not known that a task waited for something, it may have had no work.
#[test]
fn what_may_idle_is_counted_apart() {
    let explanation = explained(
        "off    7 |sss sss            | stack=do_nanosleep call=clock_nanosleep state=1 watched
         off    7 |        sss        | stack=futex_do_wait,do_futex call=futex state=1 watched awaits=work waker=8
         off    7 |           ss      | stack=do_wait call=wait4 state=1 watched awaits=child waker=8
         off    7 |             sss   | stack=locks_lock_inode_wait call=flock state=1 watched waker=8
         sleeps 7 |                == | stack=pipe_read busy=1 watched",
    );
    let waits = &explanation.short_waits;
    assert_eq!(causes(&explanation), "lock 3 of 1");
    assert_eq!((waits.unknown, waits.unknown_ns / MS), (4 + 10, 12));
}

/// The answer of a server counts by what the server did.
#[test]
fn a_client_of_a_server_that_waits() {
    let explanation = explained(
        "off 7 |ssss ssss ssss     | stack=unix_stream_data_wait call=recvfrom state=1 awaits=answer waker=9 watched
         off 9 |ssss               | stack=submit_bio_wait
         off 9 |     ssss ssss     | stack=do_nanosleep state=1",
    );
    assert_eq!(causes(&explanation), "device 4 of 1");
    assert_eq!((explanation.short_waits.unknown, explanation.short_waits.unknown_ns / MS), (2, 8));
}

#[test]
fn sums_of_waits_count() {
    let explanation = explained(
        "sleeps    7 |==========          | stack=jbd2_log_wait_commit busy=8 watched
         cpu_waits 7 |          ==========| busy=4 watched
         off       7 |                    sss| stack=jbd2_log_wait_commit watched",
    );
    let waits = &explanation.short_waits;
    assert_eq!(causes(&explanation), "journal 11 of 11, cpu_wait 4 of 10");
    assert_eq!((waits.count, waits.recorded, waits.time_ns / MS), (21, 1, 15));
}

#[test]
fn few_waits_of_a_busy_program_do_not_matter() {
    let busy = " ".repeat(60);
    let explanation = explained(&format!("off 7 |sss sss{busy}s| stack=jbd2_log_wait_commit watched"));
    assert_eq!(explanation.short_waits.time_ns / MS, 7);
    assert!(!explanation.short_waits_matter());
}

/// Another process reads each time, of which nothing is known before.
#[test]
fn a_wait_for_room_counts_whatever_is_known_of_the_reader() {
    let explanation =
        explained("off 7 | ssss  sss | call=write stack=anon_pipe_write,vfs_write state=1 awaits=room waker=9 watched");
    assert_eq!(causes(&explanation), "peer 7 of 2");
}

/// A recording of nobody in particular. Task 8 computes between its waits, and 9 idles.
#[test]
fn a_process_that_waits_for_most_of_its_time_is_named() {
    let explanation = explained(
        "off  7 |ssss ssss ssss ssss | call=write stack=io_schedule,folio_wait_bit_common
         off  8 |sss       sss    ss | call=write stack=io_schedule,folio_wait_bit_common
         off  9 |ssss ssss ssss ssss | call=read stack=pipe_read state=1 awaits=message waker=8
         task 7 |n                   | name=tar pid=6",
    );
    assert_eq!(explanation.slow_operations, 0);
    let most = explanation.most_short_waits.unwrap();
    assert_eq!((most.process.to_string().as_str(), most.waits.count, most.waits.time_ns / MS), ("thread 6", 4, 16));
    let of_command = explained("off 7 |ssss ssss ssss | call=write stack=io_schedule,folio_wait_bit_common watched");
    assert_eq!(of_command.most_short_waits, None);
}
