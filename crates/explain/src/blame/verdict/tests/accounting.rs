//! For any rows: no panic, and causes sum exactly to the operations' durations.

use model::block::{DeviceNumber, Kind};
use model::detail::{DETAIL_TYPES, Detail};
use model::event::RunEvent;
use model::operation::{OperationKind, OperationRecord};
use model::stall::{
    Awaits, RequestFailures, RequestParts, RequestRecord, StackRecord, StallKind, StallRecord, TaskRecord,
};
use model::usage::{Resource, UsageRecord};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::blame::tests::stage::{Stage, description};
use crate::blame::{Accounting, CauseTime, Culprit, Evidence, EvidenceTimes, Explanation, Piece};

/// Mostly overlapping times, some beyond the range of any clock.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 0..200_u64, 2 => 0..u64::MAX, 1 => Just(u64::MAX), 1 => Just(u64::MAX - 3)]
}

fn tid() -> impl Strategy<Value = u32> {
    0..5_u32
}

const AWAITS: &[Awaits] =
    &[Awaits::Answer, Awaits::AnswerOfChild, Awaits::Message, Awaits::Thread, Awaits::Interrupt, Awaits::Lock];
const TRACEPOINTS: &[&str] = &[
    "mm_vmscan_direct_reclaim",
    "mm_shrink_slab",
    "balance_dirty_pages",
    "folio_wait_writeback",
    "contention_begin",
    "unknown_tracepoint",
];
const STACKS: &[&[&str]] = &[
    &["schedule", "jbd2_log_wait_commit"],
    &["futex_do_wait", "do_futex", "do_syscall_64"],
    &["folio_wait_bit_common", "filemap_fault", "asm_exc_page_fault"],
    &["percpu_rwsem_wait", "vfs_write"],
    &["worker_thread", "kthread"],
    &[],
];

/// Details of each type, of few devices and cgroups, with any numbers.
fn detail() -> impl Strategy<Value = Detail> {
    let types: Vec<&str> = DETAIL_TYPES.iter().map(|known| known.name).chain(["timer", "fifo"]).collect();
    let names = prop_oneof![Just("/a".to_owned()), Just("7:0".to_owned()), ".{0,5}"];
    let numbers = vec(any::<u64>(), 5);
    let device = prop_oneof![Just(DeviceNumber::new(7, 0)), any::<u32>().prop_map(DeviceNumber)];
    (proptest::sample::select(types), device, numbers, vec(names, 3))
        .prop_filter_map("a detail", |(kind, device, numbers, names)| {
            Detail::of_stored(kind, Some(device), &numbers, &names)
        })
}

prop_compose! {
    fn row()(
        kind in proptest::sample::select(&StallKind::ALL[..]),
        (tid, waker_tid, behind_tid) in (tid(), option::of(tid()), option::of(tid())),
        (start_ns, duration_ns, busy_ns) in (time(), time(), time()),
        (state, woken_ns) in (option::of(prop_oneof![Just(0), Just(2), Just(4), any::<u32>()]), option::of(time())),
        (stack, waker_stack, request) in (option::of(0..8_u32), option::of(0..8_u32), option::of(0..6_u32)),
        tracepoint in option::of(proptest::sample::select(TRACEPOINTS)),
        detail in option::of(detail()),
        (count, call) in (any::<u64>(), option::of(Just("read".to_owned()))),
        (lock, holder_tid, worker_tid) in (option::of(0..3_u32), option::of(tid()), option::of(tid())),
        (cpu, cpu_ns, flags) in (option::of(0..3_u32), option::of(time()), option::of(any::<u32>())),
        (awaits, asked_ns, call_start_ns) in (option::of(proptest::sample::select(AWAITS)), option::of(time()),
            option::of(time())),
        work in option::of(prop_oneof![Just("loop0".to_owned()), ".{0,5}"]),
    ) -> StallRecord {
        StallRecord {
            duration_ns, busy_ns, count, state, woken_ns, waker_tid, behind_tid, stack, waker_stack, request,
            tracepoint: tracepoint.map(str::to_owned), detail, call, lock, holder_tid, worker_tid, cpu, cpu_ns, flags,
            awaits, asked_ns, call_start_ns, work,
            ..StallRecord::new(kind, tid, start_ns, start_ns)
        }
    }
}

prop_compose! {
    fn operation()(
        kind in proptest::sample::select(vec![OperationKind::Slow, OperationKind::Stuck, OperationKind::Failed]),
        class in proptest::sample::select(vec!["read", "write", "round"]),
        tid in tid(), start_ns in time(), duration_ns in time(),
    ) -> OperationRecord {
        OperationRecord { kind, class: class.into(), tid, start_ns, duration_ns, bytes: None, errno: None, path: None,
            offset_bytes: None, fault: None }
    }
}

prop_compose! {
    fn request()(
        request in 0..6_u32, tid in tid(), times in vec(option::of(time()), 4), completed_ns in time(),
        throttled in any::<bool>(), overtaken in any::<u32>(), parts in option::of(vec(option::of(time()), 4)),
        errno in option::of(Just(5)), lower in option::of(0..6_u32), kind in proptest::sample::select(vec!["R", "FWFS",
            "FN"]),
    ) -> RequestRecord {
        RequestRecord {
            request, device: DeviceNumber::new(7, 0), sector: 0, bytes: 0,
                kind: Kind::from_rwbs(kind.as_bytes()).unwrap(), tid, merges: 0,
            queued_ns: times[0], got_ns: times[1], inserted_ns: times[2], issued_ns: times[3], completed_ns,
            errno, throttled,
            parts: parts.map(|times| {
                let failures = RequestFailures { first_issued_ns: times[3], ..RequestFailures::default() };
                Box::new(RequestParts { preflush_ns: times[0], data_ns: times[1], postflush_ns: times[2], lower,
                    failures })
            }),
            in_flight: Vec::new(), overtaken_by: vec![(Kind::default(), overtaken)],
        }
    }
}

prop_compose! {
    fn usage()(
        resource in proptest::sample::select(&Resource::ALL[..]), device in option::of(Just(DeviceNumber::new(7, 0))),
        (cpu, pid, thread, waiting) in (option::of(0..3_u32), option::of(tid()), option::of(tid()), option::of(tid())),
            (start_ns, end_ns) in (time(), time()),
        (count, bytes, busy_ns, throttled) in (time(), time(), time(), time()),
        (cgroup, limit) in (option::of(Just("/a".to_owned())), option::of(Just("/".to_owned()))),
    ) -> UsageRecord {
        UsageRecord { resource, device, cpu, pid, thread, waiting, start_ns, end_ns, count, bytes, busy_ns, throttled,
            cgroup, limit }
    }
}

prop_compose! {
    fn event()(at_ns in time(), which in 0..4_u8) -> RunEvent {
        match which {
            0 => RunEvent::Loss { what: "stalls".into(), count: u64::MAX, at_ns },
            1 => RunEvent::PhaseStarted { phase: "run".into(), measured: true, at_ns },
            2 => RunEvent::PhaseEnded { phase: "run".into(), at_ns, bytes: 0 },
            _ => RunEvent::TableDropped { table: "stalls".into(), why: "full".into(), at_ns },
        }
    }
}

prop_compose! {
    fn any_stage()(
        stalls in vec(row(), 0..40), operations in vec(operation(), 0..12), requests in vec(request(), 0..6),
        events in vec(event(), 0..3), seen in vec((tid(), tid(), time()), 0..5), usage in vec(usage(), 0..12),
    ) -> Stage {
        let stacks = STACKS.iter().zip(0..).map(|(frames, stack)| StackRecord {
            stack, frames: frames.iter().map(|frame| (*frame).to_owned()).collect(),
        });
        let tasks = seen.into_iter().map(|(tid, pid, seen_ns)| TaskRecord {
            tid, pid, name: format!("task{pid}"), cgroup: None, io_cgroup: None, started_by: None, role: None,
                container: None, seen_ns,
        });
        Stage { stalls, operations, requests, tasks: tasks.collect(), stacks: stacks.collect(), events, usage }
    }
}

fn sum(causes: &[CauseTime]) -> u64 {
    for cause in causes {
        assert_eq!(cause.evidence.total_ns(), cause.time_ns);
        assert!(cause.time_ns > 0 && cause.operations > 0);
        assert!(Evidence::ALL.into_iter().all(|evidence| cause.again.of(evidence) <= cause.evidence.of(evidence)));
    }
    causes.iter().map(|cause| cause.time_ns).sum()
}

fn check_sums(explanation: &Explanation) {
    assert_eq!(sum(&explanation.causes), explanation.wall_ns);
    assert_eq!(explanation.classes.iter().map(|class| class.wall_ns).sum::<u64>(), explanation.wall_ns);
    assert_eq!(explanation.classes.iter().map(|class| class.operations).sum::<u64>(), explanation.slow_operations);
    assert_eq!(explanation.causes.iter().map(|cause| cause.most_of).sum::<u64>(), explanation.slow_operations);
    for class in &explanation.classes {
        assert_eq!(sum(&class.causes), class.wall_ns);
    }
    let again_ns: u64 = explanation.causes.iter().map(|cause| cause.again.total_ns()).sum();
    assert_eq!(explanation.processes.iter().map(|group| group.again_ns).sum::<u64>(), again_ns);
    assert_eq!(explanation.stalls.len() as u64, explanation.slow_operations);
    for stall in &explanation.stalls {
        let times = stall.causes.iter().map(|cause| (cause.time_ns, &cause.evidence));
        assert!(times.clone().all(|(ns, evidence): (u64, &EvidenceTimes)| ns == evidence.total_ns()));
        assert_eq!(times.map(|(ns, _)| ns).sum::<u64>(), stall.duration_ns, "of {stall:?}");
        assert!(stall.chain.len() < 12);
        assert!(stall.duration_ns >= explanation.slower_than_ns);
    }
    let short = &explanation.short_waits;
    assert_eq!(sum(&short.causes), short.time_ns);
    assert!(short.calls.iter().map(|call| call.wall_ns).sum::<u64>() <= short.time_ns && short.recorded <= short.count);
    assert!(short.culprits.iter().map(|culprit| culprit.time_ns).sum::<u64>() <= short.time_ns);
    let blamed = |waited: bool| -> u64 {
        let culprits = explanation.culprits.iter().filter(|culprit| culprit.cause.is_wait() == waited);
        culprits.map(|culprit| culprit.time_ns).sum()
    };
    let lost = |waited: bool| -> u64 {
        explanation.causes.iter().filter(|time| time.cause.is_wait() == waited).map(|time| time.time_ns).sum()
    };
    assert_eq!(blamed(true), lost(true));
    // Of what ran, that of others.
    assert!(blamed(false) <= lost(false));
}

/// The lane of an operation's own task has all of its time; root blockers of the classes cost what those of all do.
fn check_accounting(explanation: &Explanation, accounting: &Accounting) {
    let numbers: Vec<usize> = (0..accounting.len()).collect();
    for (_, stall, lanes) in accounting.stalls_with_lanes(&numbers) {
        let end_ns = stall.start_ns + stall.duration_ns;
        let tasks = lanes.tasks.iter().map(|lane| &lane.pieces);
        for pieces in tasks.chain(lanes.requests.iter().map(|lane| &lane.pieces)) {
            let is_ordered = |pair: &[Piece]| pair[0].end_ns <= pair[1].start_ns;
            assert!(pieces.iter().all(|piece| piece.start_ns < piece.end_ns) && pieces.windows(2).all(is_ordered));
            assert!(pieces.iter().all(|piece| stall.start_ns <= piece.start_ns && piece.end_ns <= end_ns));
        }
        let own = &lanes.tasks[0];
        assert_eq!(own.task.tid, stall.task.tid);
        assert_eq!(own.pieces.iter().map(|piece| piece.end_ns - piece.start_ns).sum::<u64>(), stall.duration_ns);
    }
    let of_classes = accounting.culprits_by_class().into_values().flatten().map(|culprit| culprit.time_ns).sum::<u64>();
    assert_eq!(of_classes, explanation.culprits.iter().map(|culprit| culprit.time_ns).sum::<u64>());
    let stalls = accounting.stalls(&numbers);
    for (blocker, (_, stall)) in accounting.root_blockers(&numbers).into_iter().zip(stalls) {
        let waited: u64 = stall.causes.iter().filter(|time| time.cause.is_wait()).map(|time| time.time_ns).sum();
        let of =
            |blocker: &Culprit| stall.causes.iter().find(|time| time.cause == blocker.cause).map(|time| time.time_ns);
        assert!(blocker.is_some() || waited == 0, "of {stall:?}");
        assert!(blocker.is_none_or(|blocker| Some(blocker.time_ns) <= of(&blocker)), "of {stall:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn of_any_rows(stage in any_stage(), traced in any::<bool>(), slower_than_ns in 1..50_u64) {
        let mut run = description(traced);
        run.slower_than_ns = slower_than_ns;
        run.sample_interval_ns = 10;
        let (explanation, accounting) = stage.account_run(&run, None);
        check_sums(&explanation);
        check_accounting(&explanation, &accounting);
    }

    #[test]
    fn the_order_of_rows_does_not_matter(mut stage in any_stage()) {
        let mut run = description(true);
        run.slower_than_ns = 20;
        // Phases are read in journal order; of two requests or tasks with the same number the last counts.
        stage.events.clear();
        stage.requests.sort_by_key(|request| request.request);
        stage.requests.dedup_by_key(|request| request.request);
        stage.tasks.clear();
        stage.operations.dedup_by_key(|operation| (operation.tid, operation.start_ns));
        let forward = stage.explain_run(&run, None);
        stage.stalls.reverse();
        stage.stacks.reverse();
        stage.requests.reverse();
        let backward = stage.explain_run(&run, None);
        prop_assert_eq!(forward.causes, backward.causes);
    }
}
