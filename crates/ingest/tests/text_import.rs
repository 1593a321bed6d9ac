//! Text of ftrace, trace-cmd and perf → a run.

use std::io::Cursor;

use access::Sharing;
use ingest::{RunWriter, TextContents, import_text};
use model::detail::Detail;
use model::operation::{OperationKind, OperationRecord};
use model::run::RunDescription;
use model::stall::{StallKind, StallRecord, TraceSettings};
use model::time::Moment;
use proptest::prelude::*;

const PERF: &str = "\
dd   7/7   [000]    10.000000: syscalls:sys_enter_fsync: fd: 0x3
dd   7/7   [000]    10.000100: sched:sched_switch: prev_comm=dd prev_pid=7 prev_prio=120 prev_state=D ==> \
next_comm=swapper/0 next_pid=0 next_prio=120
\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])
\tffffffff821f94c3 schedule+0x23 ([kernel.kallsyms])
\tffffffffc0381234 jbd2_log_wait_commit+0x61 ([jbd2])
\t           ee137 fsync+0x7 (/usr/lib/libc.so.6)

jbd2/sda-8  9/9  [001]    10.700100: sched:sched_waking: comm=dd pid=7 prio=120 target_cpu=000
swapper  0/0   [000]    10.700200: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
next_comm=dd next_pid=7 next_prio=120
dd   7/7   [000]    10.700300: syscalls:sys_exit_fsync: 0x0
";
const TRACE_CMD: &str = "\
cpus=2
              dd-7     [000]    10.000100: sched_switch:         dd:7 [120] D ==> swapper/0:0 [120]
              dd-7     [000]    10.000100: kernel_stack:         <stack trace >
=> __schedule (ffffffff821f8b58)
=> jbd2_log_wait_commit (ffffffffc0381234)
      jbd2/sda-8-9     [001]    10.700100: sched_waking:         dd:7 [120] CPU:000
          <idle>-0     [000]    10.700200: sched_switch:         swapper/0:0 [120] R ==> dd:7 [120]
";

fn imported(text: &str) -> archive::Run {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let trace = TraceSettings { slow_ns: 100_000_000, interval_ns: 1_000_000, all_requests: false };
    let description = RunDescription {
        sample_interval_ns: 1_000_000_000,
        slower_than_ns: trace.slow_ns,
        trace: Some(trace),
        ..RunDescription::new("import", Moment::default())
    };
    let contents = TextContents::of(Cursor::new(text)).unwrap();
    let mut run = RunWriter::new(&directory, Sharing::PRIVATE, &description, false);
    import_text(Cursor::new(text), &contents, &[], &mut run).unwrap();
    let _ = run.close(contents.last_ns - contents.first_ns.unwrap_or(0), Vec::new()).unwrap();
    let read = archive::Run::open(&directory).unwrap();
    // The rows are read while the directory is there.
    assert!(read.stalls().flatten().count() < usize::MAX);
    std::mem::forget(folder);
    read
}

fn long_waits(run: &archive::Run) -> Vec<StallRecord> {
    run.stalls().flatten().flatten().filter(|stall| stall.duration_ns >= 100_000_000).collect()
}

#[test]
fn a_wait_has_its_stack_and_its_waker_and_belongs_to_the_call() {
    for (text, class) in [(PERF, "fsync"), (TRACE_CMD, "wait")] {
        let run = imported(text);
        let [wait] = &long_waits(&run)[..] else { panic!("{class}") };
        let woken_ns = wait.woken_ns.map(|woken_ns| woken_ns - wait.start_ns);
        assert_eq!(
            (wait.tid, wait.duration_ns, wait.waker_tid, woken_ns),
            (7, 700_100_000, Some(9), Some(700_000_000))
        );
        let stacks: Vec<_> = run.stacks().flatten().flatten().collect();
        assert_eq!(stacks[wait.stack.unwrap() as usize].frames, ["jbd2_log_wait_commit"]);
        let operations: Vec<_> = run.operations().flatten().flatten().collect();
        assert_eq!((operations.len(), operations[0].class.as_str(), operations[0].tid), (1, class, 7));
        std::fs::remove_dir_all(run.dir().parent().unwrap()).unwrap();
    }
}

/// A switch of other tasks that contradicts an earlier one ends no sleep.
#[test]
fn a_contradiction_elsewhere_does_not_cut_a_sleep() {
    let elsewhere = "x   5/5   [001]    10.300000: sched:sched_switch: prev_comm=x prev_pid=5 prev_prio=1 prev_state=S \
                     ==> next_comm=y next_pid=6 next_prio=1\n\
                     z   8/8   [001]    10.400000: sched:sched_switch: prev_comm=z prev_pid=8 prev_prio=1 prev_state=S \
                     ==> next_comm=y next_pid=6 next_prio=1\n";
    let at = PERF.find("jbd2/sda-8").unwrap();
    let run = imported(&format!("{}{elsewhere}{}", &PERF[..at], &PERF[at..]));
    assert_eq!(
        long_waits(&run).iter().filter(|wait| wait.tid == 7).map(|wait| wait.duration_ns).sum::<u64>(),
        700_100_000
    );
    std::fs::remove_dir_all(run.dir().parent().unwrap()).unwrap();
}

/// An event out of order, before a sleep that goes on, does not end it.
#[test]
fn an_older_event_ends_no_sleep() {
    let older = "z   8/8   [001]    10.000050: sched:sched_switch: prev_comm=z prev_pid=8 prev_prio=1 prev_state=S ==> \
                 next_comm=dd next_pid=7 next_prio=1\n";
    let at = PERF.find("jbd2/sda-8").unwrap();
    let run = imported(&format!("{}{older}{}", &PERF[..at], &PERF[at..]));
    assert_eq!(long_waits(&run).iter().map(|wait| wait.duration_ns).sum::<u64>(), 700_100_000);
    std::fs::remove_dir_all(run.dir().parent().unwrap()).unwrap();
}

/// Text of ftrace: a mutex that two tasks wait for, reclaim within a call, and a task that ends.
const SIGNALS: &str = "\
dd-7 [000] ..... 10.000000: sys_enter: NR 1 (1, 2, 3)
dd-7 [000] ..... 10.000050: contention_begin: 00000000aa (flags=SPIN|MUTEX)
dd-7 [000] ..... 10.000060: contention_begin: 00000000aa (flags=MUTEX)
dd-7 [000] d..2. 10.000100: sched_switch: prev_comm=dd prev_pid=7 prev_prio=120 prev_state=D ==> \
next_comm=cp next_pid=8 next_prio=120
cp-8 [000] ..... 10.000150: contention_begin: 00000000aa (flags=MUTEX)
cp-8 [000] d..2. 10.000200: sched_switch: prev_comm=cp prev_pid=8 prev_prio=120 prev_state=D ==> \
next_comm=swapper/0 next_pid=0 next_prio=120
mv-9 [001] d..2. 10.700100: sched_waking: comm=dd pid=7 prio=120 target_cpu=000
<idle>-0 [000] d..2. 10.700200: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
next_comm=dd next_pid=7 next_prio=120
dd-7 [000] ..... 10.700300: contention_end: 00000000aa (ret=0)
dd-7 [000] ..... 10.700400: mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=GFP_KERNEL
dd-7 [000] d..2. 10.700500: sched_switch: prev_comm=dd prev_pid=7 prev_prio=120 prev_state=D ==> \
next_comm=swapper/0 next_pid=0 next_prio=120
<idle>-0 [000] d..2. 10.900000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
next_comm=dd next_pid=7 next_prio=120
dd-7 [000] ..... 10.900100: mm_vmscan_direct_reclaim_end: nr_reclaimed=32
dd-7 [000] ..... 10.900200: sys_exit: NR 1 = 3
dd-7 [000] ..... 10.900300: sys_enter: NR 3 (1)
dd-7 [000] d..2. 11.200000: sched_switch: prev_comm=dd prev_pid=7 prev_prio=120 prev_state=X ==> \
next_comm=swapper/0 next_pid=0 next_prio=120
<idle>-0 [000] d..2. 12.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
next_comm=cp next_pid=8 next_prio=120
dd-7 [000] ..... 12.000100: jbd2_start_commit: dev 8,0
";

#[test]
fn locks_and_reclaim_are_rows_as_the_recorder_has_them() {
    let run = imported(SIGNALS);
    let waits = long_waits(&run);
    let of = |stall: &StallRecord| (stall.kind, stall.tid, stall.tracepoint.clone(), stall.lock);
    let lock = Some("contention_begin".to_owned());
    let reclaim = Some("mm_vmscan_direct_reclaim".to_owned());
    let expected = [
        (StallKind::OffCpu, 7, lock.clone(), Some(0)),
        (StallKind::OffCpu, 7, None, None),
        (StallKind::Span, 7, reclaim, None),
        (StallKind::OffCpu, 8, lock, Some(0)),
    ];
    assert_eq!(waits.iter().map(of).collect::<Vec<_>>(), expected);
    assert_eq!(waits[0].detail, Some(Detail::LockFlags(32)));
    assert_eq!((waits[2].duration_ns, &waits[2].detail), (199_700_000, &Some(Detail::PagesReclaimed(32))));
    // A call by which a task ends has ended with it.
    let operations: Vec<OperationRecord> = run.operations().flatten().flatten().collect();
    let ended = |operation: &OperationRecord| (operation.kind, operation.duration_ns / 1_000_000);
    assert_eq!(
        operations.iter().map(ended).collect::<Vec<_>>(),
        [(OperationKind::Slow, 900), (OperationKind::Slow, 299)]
    );
    let contents = TextContents::of(Cursor::new(SIGNALS)).unwrap();
    assert_eq!(contents.unused(), ["jbd2_start_commit"]);
}

proptest! {
    /// Whatever lines a source has, in whatever order, there is a run.
    #[test]
    fn any_lines_make_a_run(order in prop::collection::vec((0..9_usize, "\\PC{0,12}"), 0..40)) {
        let lines: Vec<&str> = PERF.lines().collect();
        let text: String = order.iter().map(|(at, end)| format!("{}{end}\n", lines[at % lines.len()])).collect();
        let run = imported(&text);
        std::fs::remove_dir_all(run.dir().parent().unwrap()).unwrap();
    }
}
