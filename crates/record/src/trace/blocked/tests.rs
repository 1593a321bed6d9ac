use model::stall::StallKind;

use super::BlockedPoller;
use crate::fake::Kernel;

const MS: u64 = 1_000_000;

fn set(kernel: &Kernel, tid: u32, stat: &str, switches: u64) {
    kernel.write(&format!("proc/7/task/{tid}/stat"), stat);
    let status = format!("Name:\tx\nvoluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t1\n");
    kernel.write(&format!("proc/7/task/{tid}/status"), status);
}

#[test]
fn a_wait_is_emitted_once_with_its_stack_when_it_ends() {
    let kernel = Kernel::new();
    set(&kernel, 8, "8 (a) b (c) D 1 1", 5);
    set(&kernel, 9, "9 (kworker) I 2 0", 5);
    kernel.write("proc/7/task/8/stack", "[<0>] io_schedule+0x46/0x70\n[<0>] folio_wait_bit_common.isra.0+0x1/0x2\n");
    let mut poller = BlockedPoller::new(kernel.roots().proc, 1, 100 * MS);
    assert!(poller.poll(1000 * MS).is_empty() && poller.blocked().is_empty());
    let ongoing = poller.poll(1200 * MS);
    assert_eq!((ongoing.len(), ongoing[0].row.kind), (1, StallKind::StillBlocked));
    assert!(poller.poll(1210 * MS).is_empty(), "its row was just emitted");
    let blocked = poller.blocked();
    assert_eq!((blocked.len(), blocked[0].tid, blocked[0].pid, blocked[0].since_ns), (1, 8, 7, 1000 * MS));
    assert_eq!(blocked[0].name, "a) b (c");
    assert_eq!(blocked[0].frames, ["io_schedule", "folio_wait_bit_common"]);
    set(&kernel, 8, "8 (a) b (c) S 1 1", 6);
    let waited = poller.poll(1300 * MS);
    assert_eq!((waited.len(), waited[0].row.kind), (1, StallKind::Blocked));
    assert_eq!((waited[0].row.start_ns, waited[0].row.duration_ns, waited[0].row.tid), (1000 * MS, 210 * MS, 8));
    assert!(poller.poll(1400 * MS).is_empty() && poller.blocked().is_empty());
}

#[test]
fn the_call_of_a_hanging_thread_is_named_with_its_file() {
    for (line, expected) in [
        ("74 0x3 0x1 0x0 0x0 0x0 0x0 0x7ffc0f1d5a28 0x7f32c1b13e94\n", Some(("fsync", Some("/mnt/file")))),
        ("74 0x4 0x1 0x0 0x0 0x0 0x0 0x7ffc0f1d5a28 0x7f32c1b13e94\n", Some(("fsync", None))),
        ("257 0x3 0x1 0x0 0x0 0x0 0x0 0x7ffc0f1d5a28 0x7f32c1b13e94\n", Some(("openat", None))),
        ("74 0x3 0x1 0x0 0x0 0x0 0x0 0xffc0f1d8 0xf7c1be94\n", None),
        ("74 0x3\n", None),
        ("-1 0x7ffc0f1d5a28 0x7f32c1b13e94\n", None),
        ("running\n", None),
    ] {
        let kernel = Kernel::new();
        set(&kernel, 8, "8 (dd) D 1 1", 5);
        kernel.write("proc/7/task/8/syscall", line);
        let folder = kernel.roots().proc.join("7/task/8/fd");
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink("/mnt/file", folder.join("3")).unwrap();
        let mut poller = BlockedPoller::new(kernel.roots().proc, 1, 0);
        poller.poll(MS);
        let blocked = &poller.blocked()[0];
        let found = blocked.call.map(|call| (call, blocked.path.as_deref()));
        assert_eq!(found, expected.filter(|_| cfg!(target_arch = "x86_64")), "{line}");
        let row = &poller.poll(2 * MS)[0].row;
        assert_eq!((row.call.as_deref(), row.path.clone()), (blocked.call, blocked.path.clone()));
    }
}

#[test]
fn rows_of_an_ongoing_wait_become_rarer() {
    let kernel = Kernel::new();
    set(&kernel, 8, "8 (dd) D 1 1", 5);
    let mut poller = BlockedPoller::new(kernel.roots().proc, 1, 1000 * MS);
    let rows = (0..3600).filter(|second| !poller.poll(second * 1000 * MS).is_empty()).count();
    assert!((100..200).contains(&rows), "{rows}");
}

#[test]
fn a_thread_that_ran_in_between_is_in_another_wait() {
    let kernel = Kernel::new();
    set(&kernel, 8, "8 (dd) D 1 1", 5);
    kernel.write("proc/7/task/8/wchan", "xlog_wait_on_iclog");
    let mut poller = BlockedPoller::new(kernel.roots().proc, 1, 0);
    poller.poll(MS);
    set(&kernel, 8, "8 (dd) D 1 1", 6);
    assert_eq!(poller.poll(2 * MS)[0].row.duration_ns, 0);
    assert_eq!(poller.blocked()[0].since_ns, 2 * MS);
    assert_eq!(poller.finish()[0].frames, ["xlog_wait_on_iclog"]);
    assert!(poller.finish().is_empty());
}

#[test]
fn a_task_that_is_gone_is_emitted_and_the_recorder_is_not_seen() {
    let kernel = Kernel::new();
    set(&kernel, 8, "8 (dd) D 1 1", 5);
    let mut own = BlockedPoller::new(kernel.roots().proc, 7, 0);
    assert!(own.poll(MS).is_empty() && own.blocked().is_empty());
    let mut poller = BlockedPoller::new(kernel.roots().proc, 1, 10 * MS);
    poller.poll(MS);
    assert_eq!(poller.poll(20 * MS).len(), 1);
    kernel.remove_folder("proc/7");
    assert_eq!(poller.poll(30 * MS).len(), 1);
}

#[test]
fn expensive_polls_are_followed_by_long_pauses() {
    let mut poller = BlockedPoller::new("/nonexistent".into(), 1, 0);
    assert!(poller.is_due(0));
    poller.pace(0, 5 * MS, true);
    poller.pace(1000 * MS, 5 * MS, true);
    assert!(!poller.is_due(1999 * MS) && poller.is_due(2000 * MS));
    let mut patient = BlockedPoller::new("/nonexistent".into(), 1, 8000 * MS);
    patient.pace(1000 * MS, 5 * MS, true);
    assert!(!patient.is_due(2999 * MS) && patient.is_due(3000 * MS));
    patient.pace(1000 * MS, 5 * MS, false);
    assert!(patient.is_due(2000 * MS), "without a tracer only polls see waits");
}
