//! Hand-written timelines, and events in any order.

use model::block::{Action, BlockEvent, DeviceNumber, Kind};
use proptest::prelude::*;

use super::{FinishedBio, Lifecycle};
use crate::{BlockReport, Certainty, Phase, Settings};

/// Reads a timeline: `TIME ACTION RWBS SECTOR+LENGTH`, one event each; after `X` and `A` the argument; a device may
/// stand in front as `MINOR:`.
fn events(timeline: &str) -> Vec<BlockEvent> {
    timeline
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (minor, time) = words[0].split_once(':').unwrap_or(("0", words[0]));
            let (sector, sectors) = words[3].split_once('+').unwrap();
            BlockEvent {
                sector: sector.parse().unwrap(),
                bytes: sectors.parse::<u32>().unwrap() * 512,
                kind: Kind::from_rwbs(words[2].as_bytes()).unwrap(),
                argument: words.get(4).map_or(0, |argument| argument.parse().unwrap()),
                from_device: DeviceNumber::new(8, words.get(5).map_or(0, |from| from.parse().unwrap())),
                pid: 1,
                ..BlockEvent::new(
                    time.parse().unwrap(),
                    Action::from_letters(words[1].as_bytes()).unwrap(),
                    DeviceNumber::new(8, minor.parse().unwrap()),
                )
            }
        })
        .collect()
}

fn run(timeline: &str) -> (BlockReport, Vec<FinishedBio>) {
    let mut lifecycle = Lifecycle::with_observer(Settings::default(), Vec::new());
    lifecycle.feed_all(&events(timeline));
    lifecycle.finish()
}

/// Each bio as `SECTOR+LENGTH phase time ...`, in order of completion.
fn check(timeline: &str, expected: &[&str]) -> BlockReport {
    let (report, bios) = run(timeline);
    let shown: Vec<String> = bios
        .iter()
        .map(|bio| {
            let mut line = format!("{}+{}", bio.sector, bio.sectors);
            for phase in Phase::PARTS {
                if let Some(time_ns) = bio.phases.get(phase) {
                    line += &format!(" {} {time_ns}", phase.key());
                }
            }
            line
        })
        .collect();
    assert_eq!(shown, expected);
    report
}

#[test]
fn a_request_merged_at_both_ends() {
    let report = check(
        "100 Q W 100+8
         110 G W 100+8
         120 Q W 108+8
         130 M W 108+8
         140 Q W 92+8
         150 F W 92+8
         200 I W 92+24
         300 D W 92+24
         500 C W 92+24",
        &["108+8 q2m 10 m2d 170 d2c 200", "92+8 q2m 10 m2d 150 d2c 200", "100+8 q2g 10 g2i 90 i2d 100 d2c 200"],
    );
    assert_eq!((report.devices[0].tables.bios, report.devices[0].tables.requests), (3, 1));
}

#[test]
fn requests_merged_with_and_without_an_event() {
    let bios = &["108+8 q2g 10 g2d 170 d2c 200", "100+8 q2g 10 g2i 90 i2d 100 d2c 200"];
    let start = "100 Q W 100+8
                 110 G W 100+8
                 120 Q W 108+8
                 130 G W 108+8\n";
    let end = "200 I W 100+16
               300 D W 100+16
               500 C W 100+16";
    for merge in ["", "140 M W 108+8\n"] {
        let report = check(&format!("{start}{merge}{end}"), bios);
        assert_eq!(report.devices[0].tables.request_merges, 1);
        assert_eq!(report.anomalies, Default::default());
    }
}

#[test]
fn pieces_of_a_split_bio_are_tracked_separately() {
    check(
        "100 Q R 0+24
         110 X R 0+8 8
         120 G R 0+8
         125 X R 8+8 16
         130 G R 8+8
         140 G R 16+8
         200 D R 0+8
         210 D R 8+8
         220 D R 16+8
         300 C R 8+8
         400 C R 0+8
         500 C R 16+8",
        &["8+8 q2g 30 g2d 80 d2c 90", "0+8 q2g 20 g2d 80 d2c 200", "16+8 q2g 40 g2d 80 d2c 280"],
    );
}

#[test]
fn the_second_piece_queued_again_by_older_kernels_is_the_same_bio() {
    let report = check(
        "100 Q R 0+16
         110 X R 0+8 8
         120 Q R 8+8
         130 G R 0+8
         140 G R 8+8
         200 D R 0+8
         210 D R 8+8
         300 C R 0+8
         310 C R 8+8",
        &["0+8 q2g 30 g2d 70 d2c 100", "8+8 q2g 40 g2d 70 d2c 100"],
    );
    assert_eq!((report.devices[0].tables.bios, report.anomalies.remainders_queued_again), (2, 1));
}

#[test]
fn a_requeue_is_inside_i2d_and_its_time_at_the_driver_is_known() {
    let report = check(
        "100 Q W 0+8
         110 G W 0+8
         120 I W 0+8
         130 D W 0+8
         180 R W 0+8
         190 I W 0+8
         200 D W 0+8
         300 C W 0+8",
        &["0+8 q2g 10 g2i 10 i2d 80 d2c 100"],
    );
    assert_eq!((report.devices[0].tables.requeues, report.devices[0].tables.requeued_ns), (1, 50));
    assert_eq!(report.devices[0].tables.requests, 1);
}

#[test]
fn parts_of_a_request_complete_one_after_the_other() {
    check(
        "100 Q W 0+8
         110 G W 0+8
         120 Q W 8+8
         130 M W 8+8
         200 D W 0+16
         300 C W 0+12
         400 C W 12+4",
        &["0+8 q2g 10 g2d 90 d2c 100", "8+8 q2m 10 m2d 70 d2c 200"],
    );
}

#[test]
fn a_completed_part_leaves_no_member_under_a_removed_head() {
    // 8+8 heads 16+8 until both merge into an unrecorded request. Then 8+8 completes first, and 800+8 reuses its
    // memory.
    let report = check(
        "100 Q W 16+8
         110 Q W 8+8
         120 G W 8+8
         130 M W 16+8
         140 G W 0+8
         150 M W 8+16
         200 D W 0+24
         300 C W 0+16
         310 Q W 800+8",
        &["8+8 q2g 10 g2d 80 d2c 100"],
    );
    assert_eq!(report.anomalies.unmatched_queue, 2);
}

#[test]
fn a_flush_without_sectors_takes_the_time_of_the_flush_that_carried_it() {
    let report = check(
        "100 Q FWS 0+0
         110 G FWS 0+0
         200 D FN 0+0
         250 Q FWS 0+0
         260 G FWS 0+0
         400 C FN 0+0
         410 C WS 0+0
         420 D FN 0+0
         600 C FN 0+0
         610 C WS 0+0",
        &["0+0 q2g 10 g2d 90 d2c 210", "0+0 q2g 10 g2d 160 d2c 190"],
    );
    assert_eq!(report.devices[0].tables.flushes.sum(), 200 + 180);
}

#[test]
fn a_durable_write_ends_with_its_last_flush() {
    check(
        "100 Q FWFSM 80+4
         110 G FWFSM 80+4
         200 D FN 0+0
         300 C FN 0+0
         310 I WSM 80+4
         320 D WSM 80+4
         400 C WSM 80+4
         410 D FN 0+0
         500 C FN 0+0
         510 C WSM 80+0",
        &["80+4 q2g 10 g2i 200 i2d 10 d2c 190"],
    );
}

#[test]
fn a_kernel_that_does_not_complete_the_sequence_again_is_understood() {
    let report = check(
        "100 Q FWS 80+4
         110 G FWS 80+4
         320 D WS 80+4
         400 C WS 80+4",
        &["80+4 q2g 10 g2d 210 d2c 80"],
    );
    assert_eq!((report.anomalies.flushes_without_end, report.anomalies.unmatched_queue), (1, 0));
}

#[test]
fn a_stacked_device_and_a_partition() {
    let report = check(
        "1:100 Q R 0+8
         0:110 A R 1000+8 0 1
         0:120 Q R 1000+8
         0:130 G R 1000+8
         0:140 D R 1000+8
         0:200 C R 1000+8
         1:210 C R 0+8
         0:300 A R 3048+8 1000 5
         0:310 Q R 3048+8",
        &["1000+8 q2g 10 g2d 10 d2c 60", "0+8 q2a 10 a2c 100"],
    );
    let from = &report.devices.iter().find(|device| device.device == DeviceNumber::new(8, 0)).unwrap().tables;
    assert_eq!(from.remapped_from, [(DeviceNumber::new(8, 1), 1), (DeviceNumber::new(8, 5), 1)]);
}

#[test]
fn ranges_of_a_discard_need_not_touch() {
    let report = check(
        "100 Q D 0+8
         110 G D 0+8
         120 Q D 800+8
         130 M D 800+8
         140 Q D 80+16
         150 M D 80+16
         200 D D 0+32
         300 C D 0+32",
        &["800+8 q2m 10 m2d 70 d2c 100", "80+16 q2m 10 m2d 50 d2c 100", "0+8 q2g 10 g2d 90 d2c 100"],
    );
    assert_eq!(report.anomalies, Default::default());
}

#[test]
fn a_read_and_a_write_of_one_sector_do_not_mix() {
    check(
        "100 Q R 0+8
         110 Q W 0+8
         120 G W 0+8
         130 G R 0+8
         140 D W 0+8
         150 D R 0+8
         200 C R 0+8
         300 C W 0+8",
        &["0+8 q2g 30 g2d 20 d2c 50", "0+8 q2g 10 g2d 20 d2c 160"],
    );
}

#[test]
fn duplicate_and_unmatched_completions_are_distinguished() {
    let report = check(
        "100 Q R 0+8
         110 G R 0+8
         120 D R 0+8
         130 C R 0+8
         140 C R 0+8
         150 C R 800+8",
        &["0+8 q2g 10 g2d 10 d2c 10"],
    );
    assert_eq!((report.anomalies.duplicate_complete, report.anomalies.unmatched_complete), (1, 1));
}

#[test]
fn a_clock_jump_of_an_hour_is_excluded_from_all_figures() {
    let hour = 3_600_000_000_000_u64;
    let timeline = format!(
        "100 Q R 0+8
         110 G R 0+8
         120 D R 0+8
         {} C R 0+8",
        hour + 130
    );
    let (report, bios) = run(&timeline);
    assert_eq!(bios[0].certainty, Certainty::AcrossJump);
    assert_eq!(report.phases[Phase::Q2C].count(), 0);
    assert_eq!(report.clock.jumps[0].by_ns, hour as i64 + 10);
    assert_eq!((report.slow.count, report.slow.across_clock_jump), (0, 1));
}

#[test]
fn a_bio_that_never_completes_ages_out() {
    let timeline: String =
        (0..700_u64).map(|second| format!("{} Q R {}+8\n", second * 1_000_000_000, second * 8)).collect();
    let (report, _) = run(&timeline);
    assert_eq!(report.anomalies.aged_out, 99);
    assert_eq!(report.anomalies.oldest_age_ns, 601_000_000_000);
    assert_eq!(report.anomalies.unmatched_queue, 700);
}

fn any_event() -> impl Strategy<Value = BlockEvent> {
    let action = (0_u32..21).prop_map(|number| Action::from_number(number).unwrap_or(Action::Lost));
    let small = (0_u64..6, 0_u32..4, 0_u32..3, 0_u32..3, 0_u64..8);
    let wild = (any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>());
    let numbers = prop_oneof![
        20 => small.prop_map(|(sector, length, minor, pid, argument)| {
            (sector * 8, length * 4096, DeviceNumber::new(8, minor), pid, argument * 8)
        }),
        1 => wild.prop_map(|(sector, bytes, device, pid, argument)| (sector, bytes, DeviceNumber(device), pid,
            argument)),
    ];
    let time = prop_oneof![20 => 0_u64..1_000_000, 1 => any::<u64>()];
    (action, numbers, time, any::<u8>(), 0_u32..3).prop_map(|(action, numbers, time_ns, kind, from)| {
        let (sector, bytes, device, pid, argument) = numbers;
        let kind = if kind % 4 == 0 { kind } else { kind % 4 };
        BlockEvent {
            sector,
            bytes,
            pid,
            argument,
            kind: Kind::from_number(kind),
            from_device: DeviceNumber::new(8, from),
            ..BlockEvent::new(time_ns, action, device)
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_order_of_events_is_survived_in_bounded_memory(events in proptest::collection::vec(any_event(), 0..1500)) {
        let settings = Settings { max_in_flight: 64, slower_than_ns: 1000, max_slow: 8, ..Settings::default() };
        let mut lifecycle = Lifecycle::with_observer(settings, Vec::new());
        let mut most = 0;
        for event in &events {
            lifecycle.feed(event);
            most = most.max(lifecycle.bios.len());
        }
        prop_assert!(most <= 64 + 2);
        let (report, bios) = lifecycle.finish();
        prop_assert!(report.slow.kept.len() <= 8);
        let tables = report.devices.iter().map(|device| &device.tables);
        let entered: u64 = tables.clone().map(|tables| tables.bios).sum();
        let completed: u64 = tables.map(|tables| tables.completed).sum();
        prop_assert_eq!(completed, bios.len() as u64);
        prop_assert_eq!(entered, completed + report.anomalies.unmatched_queue);
    }
}
