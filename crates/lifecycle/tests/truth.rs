//! The lifecycle compared with the truth: a simulated block layer knows the real times of each bio.

mod generated;

use std::collections::HashMap;

use generated::{Form, encode};
use lifecycle::{BlockReport, Certainty, FinishedBio, Lifecycle, Phase, PhaseTimes, Settings};
use model::block::{Action, BlockEvent};
use proptest::prelude::*;
use simulate::block::damage::{lose, step_clock};
use simulate::block::{TrueBio, Workload, trace_and_truth};
use simulate::random::Random;

fn analyse(events: &[BlockEvent]) -> (BlockReport, Vec<FinishedBio>) {
    let mut lifecycle = Lifecycle::with_observer(Settings::default(), Vec::new());
    lifecycle.feed_all(events);
    lifecycle.finish()
}

fn read(parts: Vec<(String, Vec<u8>)>) -> (Vec<BlockEvent>, blktrace::Notes) {
    read_holding_back(parts, blktrace::Trace::HELD_BACK)
}

fn read_holding_back(parts: Vec<(String, Vec<u8>)>, held_back: usize) -> (Vec<BlockEvent>, blktrace::Notes) {
    let readers = parts.into_iter().map(|(name, bytes)| (name, std::io::Cursor::new(bytes)));
    let mut trace = blktrace::Trace::from_readers(readers, held_back).expect("a trace");
    let mut events = Vec::new();
    while let Some(batch) = trace.next_batch().expect("memory can be read") {
        events.extend_from_slice(batch);
    }
    (events, trace.notes().clone())
}

fn true_phases(bio: &TrueBio) -> PhaseTimes {
    let mut phases = PhaseTimes::default();
    for (phase, time_ns) in [
        (Phase::Q2G, bio.q2g_ns),
        (Phase::G2I, bio.g2i_ns),
        (Phase::G2D, bio.g2d_ns),
        (Phase::Q2M, bio.q2m_ns),
        (Phase::I2D, bio.i2d_ns),
        (Phase::M2D, bio.m2d_ns),
        (Phase::D2C, bio.d2c_ns),
        (Phase::Q2C, Some(bio.completed_ns - bio.queued_ns)),
        (Phase::Q2A, bio.q2a_ns),
        (Phase::A2C, bio.a2c_ns),
    ] {
        if let Some(time_ns) = time_ns {
            phases.set(phase, time_ns);
        }
    }
    phases
}

type Key = (u32, u64, u32, u32, u64);

fn truth_by_key(truth: &[TrueBio]) -> HashMap<Key, &TrueBio> {
    truth.iter().map(|bio| ((bio.device.0, bio.sector, bio.sectors, bio.pid, bio.queued_ns), bio)).collect()
}

fn key(bio: &FinishedBio) -> Key {
    (bio.device.0, bio.sector, bio.sectors, bio.pid, bio.queued_ns)
}

/// Every bio is found, and all its times are true.
fn assert_equals_truth(bios: &[FinishedBio], truth: &[TrueBio]) {
    let truths = truth_by_key(truth);
    assert_eq!(truths.len(), truth.len(), "keys are unique");
    for bio in bios {
        let truth = truths.get(&key(bio)).unwrap_or_else(|| panic!("no such bio: {bio:?}"));
        assert_eq!(bio.phases, true_phases(truth), "{bio:?}\n{truth:?}");
        assert_eq!((bio.completed_ns, bio.kind, bio.cgroup), (truth.completed_ns, truth.kind, truth.cgroup));
        assert_eq!(bio.certainty, Certainty::Exact);
    }
    assert_eq!(bios.len(), truth.len());
}

/// The tables' sums are true, and the phases sum to the whole.
fn assert_tables(report: &BlockReport, truth: &[TrueBio]) {
    for phase in Phase::ALL.into_iter().filter(|phase| *phase != Phase::Q2Q) {
        let times: Vec<u64> = truth.iter().filter_map(|bio| true_phases(bio).get(phase)).collect();
        let table = &report.phases[phase];
        assert_eq!(table.count(), times.len() as u64, "{phase:?}");
        assert_eq!(table.sum(), times.iter().map(|&time| u128::from(time)).sum::<u128>(), "{phase:?}");
        assert_eq!((table.min(), table.max()), (times.iter().min().copied(), times.iter().max().copied()));
    }
    for device in &report.devices {
        let tables = &device.tables;
        let parts: u128 = Phase::PARTS.iter().map(|&part| tables.overhead_ns[part]).sum();
        assert_eq!(parts + tables.undivided_ns, tables.overhead_ns[Phase::Q2C], "{}", device.device);
        assert_eq!(tables.undivided_ns, 0);
    }
}

fn assert_clean(report: &BlockReport) {
    for (name, count) in report.anomalies.counts() {
        assert_eq!(count, 0, "{name}");
    }
    assert_eq!(report.clock.jump_count, 0);
}

/// Loses events, and returns the counted bios with a wrong time. The completed and given-up bios must add up.
fn wrongly_counted(workload: &Workload, of_1000: u64, longest: u64, form: Form) -> Vec<FinishedBio> {
    let (wrong, late) = wrongly_counted_holding_back(workload, of_1000, longest, form, blktrace::Trace::HELD_BACK);
    assert_eq!(late, 0);
    wrong
}

/// The same, with the number of losses noticed too late.
fn wrongly_counted_holding_back(
    workload: &Workload,
    of_1000: u64,
    longest: u64,
    form: Form,
    held_back: usize,
) -> (Vec<FinishedBio>, u64) {
    let (events, truth) = trace_and_truth(workload);
    let (kept, lost) = lose(&events, of_1000, longest, &mut Random::new(workload.seed));
    let (events, notes) = read_holding_back(encode(&kept, form), held_back);
    assert_eq!((notes.lost_events(), notes.missing_at_start), (lost, 0));
    let (report, mut bios) = analyse(&events);
    let queued = events.iter().filter(|event| event.action == Action::Queue).count() as u64;
    let sum = |count: fn(&lifecycle::DeviceTables) -> u64| -> u64 {
        report.devices.iter().map(|device| count(&device.tables)).sum()
    };
    let anomalies = &report.anomalies;
    let pieces = sum(|tables| tables.splits) - anomalies.unmatched_split + anomalies.implicit_splits;
    let entered = queued + pieces - anomalies.remainders_queued_again;
    assert_eq!(sum(|tables| tables.completed) + anomalies.unmatched_queue, entered);

    let truths = truth_by_key(&truth);
    bios.retain(|bio| bio.certainty.is_certain());
    bios.retain(|bio| {
        let Some(truth) = truths.get(&key(bio)) else {
            // A bio whose split event was lost appears whole.
            return bio.certainty != Certainty::Part;
        };
        Phase::ALL.into_iter().any(|phase| {
            let time_ns = bio.phases.get(phase);
            time_ns.is_some() && time_ns != true_phases(truth).get(phase)
        })
    });
    (bios, notes.noticed_late)
}

fn workloads() -> impl Strategy<Value = Workload> {
    (any::<u64>(), 1_u32..24, 1_u32..8, 1_u32..4, 1_u32..40, 0_u64..1000, 0_u64..1000, 1_000_u64..600_000).prop_map(
        |(seed, tasks, cpus, disks, depth, contiguous, scheduler, think_ns)| Workload {
            seed,
            bios: 1500,
            tasks,
            cpus,
            disks,
            depth,
            contiguous,
            scheduler,
            think_ns,
            split: 60,
            requeue: 40,
            partial: 40,
            flush: 60,
            durable: 60,
            ..Workload::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_bio_is_exact_where_nothing_is_lost(workload in workloads()) {
        let (events, truth) = trace_and_truth(&workload);
        let (report, bios) = analyse(&events);
        assert_equals_truth(&bios, &truth);
        assert_tables(&report, &truth);
        let ambiguous = report.anomalies.ambiguous;
        assert_clean(&BlockReport {
            anomalies: lifecycle::Anomalies { ambiguous: 0, ..report.anomalies.clone() },
            ..report
        });
        // Only flushes without data are indistinguishable.
        let flushes = events.iter().filter(|event| event.bytes == 0 && event.action == Action::Queue).count() as u64;
        prop_assert!(ambiguous <= flushes * 3);
    }

    #[test]
    fn with_losses_every_time_counted_is_true(workload in workloads(), of_1000 in 1_u64..60, longest in 1_u64..4) {
        let wrong = wrongly_counted(&workload, of_1000, longest, Form::PerCpu);
        prop_assert!(wrong.is_empty(), "{:?}", wrong);
    }

    /// In this form a loss is only noticed at the CPU's next event, which may be much later.
    #[test]
    fn with_losses_in_a_merged_dump_every_time_counted_is_true(
        workload in workloads(), of_1000 in 1_u64..60, longest in 1_u64..4, text in any::<bool>()
    ) {
        let form = if text { Form::Text } else { Form::Dump };
        let wrong = wrongly_counted(&workload, of_1000, longest, form);
        prop_assert!(wrong.is_empty(), "{:?}", wrong);
    }

    /// With almost nothing held back some losses are noticed too late, and only then is a time wrong.
    #[test]
    fn where_a_time_counted_is_wrong_a_loss_was_noticed_late(
        workload in workloads(), of_1000 in 1_u64..60, longest in 1_u64..4, held_back in 0_usize..500
    ) {
        let (wrong, late) = wrongly_counted_holding_back(&workload, of_1000, longest, Form::Dump, held_back);
        prop_assert!(wrong.is_empty() || late > 0, "{:?}", wrong);
    }

    #[test]
    fn a_step_of_the_clock_changes_no_time_that_is_counted(workload in workloads(), back in any::<bool>(),
        at in 0.1..0.9_f64) {
        let (mut events, truth) = trace_and_truth(&workload);
        let at = (events.len() as f64 * at) as usize;
        let by_ns = if back { -900_000_000 } else { 3_600_000_000_000 };
        let step_ns = events[at].time_ns;
        step_clock(&mut events, at, by_ns);
        let (report, bios) = analyse(&events);
        let spanning = truth.iter().filter(|bio| bio.queued_ns < step_ns && bio.completed_ns >= step_ns).count();
        let out = bios.iter().filter(|bio| bio.certainty == Certainty::AcrossJump).count();
        if spanning > 0 {
            prop_assert_eq!(report.clock.jump_count, 1);
            prop_assert!((report.clock.jumps[0].by_ns - by_ns).abs() < 1_000_000_000);
            // With the clock an hour ahead, bios in flight age out.
            prop_assert!(out as u64 + report.anomalies.aged_out >= spanning as u64);
        }
        let moved = |time_ns: u64| if time_ns < step_ns { time_ns } else { time_ns.saturating_add_signed(by_ns) };
        let truths: HashMap<Key, &TrueBio> =
            truth_by_key(&truth).into_iter().map(|(key, bio)| ((key.0, key.1, key.2, key.3, moved(key.4)),
                bio)).collect();
        for bio in bios.iter().filter(|bio| bio.certainty.is_certain()) {
            let truth = truths.get(&key(bio));
            prop_assert!(truth.is_some_and(|truth| true_phases(truth) == bio.phases), "{:?} {:?}", bio, truth);
        }
    }
}

/// Found by proptest: discards merged with a discard whose events were lost, the same after the discard was gone, and a
/// flush without data that took another's completion.
#[test]
fn losses_that_once_made_times_wrong() {
    let workload = |seed, tasks, disks, depth, think_ns, contiguous, scheduler| Workload {
        seed,
        bios: 1500,
        tasks,
        cpus: 1,
        disks,
        depth,
        contiguous,
        scheduler,
        think_ns,
        split: 60,
        requeue: 40,
        partial: 40,
        flush: 60,
        durable: 60,
        ..Workload::default()
    };
    for (workload, of_1000, longest) in [
        (workload(6502582083595330821, 21, 2, 12, 120_233, 365, 0), 49, 3),
        (workload(17779200585169441615, 18, 3, 14, 456_408, 576, 0), 53, 1),
        (workload(9305910878899176178, 11, 1, 10, 325_673, 190, 36), 3, 3),
    ] {
        for form in [Form::PerCpu, Form::Dump, Form::Text] {
            let wrong = wrongly_counted(&workload, of_1000, longest, form);
            assert!(wrong.is_empty(), "{form:?}: {wrong:?}");
        }
    }
}

#[test]
fn all_forms_of_a_trace_give_the_same_report() {
    let workload = Workload { bios: 4000, cgroups: 0, ..Workload::default() };
    let (events, truth) = trace_and_truth(&workload);
    let mut sequencer = simulate::block::damage::Sequencer::default();
    let numbered: Vec<_> = events.iter().map(|event| (sequencer.number(event), *event)).collect();
    for form in Form::ALL {
        let (read, notes) = read(encode(&numbered, form));
        assert_eq!(read.len(), events.len(), "{form:?}");
        assert_eq!((notes.gaps(), notes.missing_at_start), (0, 0), "{form:?}");
        for (read, event) in read.iter().zip(&events) {
            assert_eq!(*read, form.seen(event), "{form:?}");
        }
        let (_, bios) = analyse(&read);
        assert_equals_truth(&bios, &truth);
        assert_eq!(notes.names().get(1000), Some("task-1000"), "{form:?}");
    }
}

#[test]
fn cgroups_survive_the_binary_forms() {
    let (events, truth) = trace_and_truth(&Workload { bios: 1000, ..Workload::default() });
    let mut sequencer = simulate::block::damage::Sequencer::default();
    let numbered: Vec<_> = events.iter().map(|event| (sequencer.number(event), *event)).collect();
    for form in [Form::PerCpu, Form::Dump, Form::DumpBig, Form::DumpV8] {
        let (read, _) = read(encode(&numbered, form));
        let (report, bios) = analyse(&read);
        assert_equals_truth(&bios, &truth);
        assert_eq!(report.cgroups.len(), 3);
        let queued: u64 = report.cgroups.iter().map(|cgroup| cgroup.queued).sum();
        assert_eq!(queued, events.iter().filter(|event| event.action == Action::Queue).count() as u64);
    }
}

#[test]
fn another_thread_counts_the_same_times() {
    let (events, truth) = trace_and_truth(&Workload { bios: 5000, split: 20, flush: 20, ..Workload::default() });
    let report = |threads_after: u64| {
        let mut lifecycle = Lifecycle::new(Settings { threads_after, ..Settings::default() });
        lifecycle.feed_all(&events);
        lifecycle.finish().0
    };
    let apart = report(1);
    assert_tables(&apart, &truth);
    assert!(apart == report(u64::MAX), "the reports differ");
}
