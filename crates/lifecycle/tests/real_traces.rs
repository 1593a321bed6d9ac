//! Real traces: everything pairs, and the figures equal those of btt where btt's are right.

use std::path::Path;

use lifecycle::{Anomalies, BlockReport, Lifecycle, Phase, Settings};

fn analyse(name: &str) -> BlockReport {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../blktrace/tests/data").join(name);
    let mut trace = blktrace::Trace::open([path]).unwrap();
    let mut lifecycle = Lifecycle::new(Settings::default());
    while let Some(events) = trace.next_batch().unwrap() {
        lifecycle.feed_all(events);
    }
    lifecycle.finish().0
}

/// Count, minimum, mean and maximum.
fn figures(report: &BlockReport, phase: Phase) -> (u64, u64, u64, u64) {
    let times = &report.phases[phase];
    (times.count(), times.min().unwrap(), times.mean().unwrap(), times.max().unwrap())
}

fn assert_adds_up(report: &BlockReport) {
    for device in &report.devices {
        let tables = &device.tables;
        let parts: u128 = Phase::PARTS.iter().map(|&part| tables.overhead_ns[part]).sum();
        assert_eq!((parts, tables.undivided_ns), (tables.overhead_ns[Phase::Q2C], 0));
    }
}

#[test]
fn nvme_device() {
    let report = analyse("nvme-merged.blktrace.0");
    assert_eq!(report.anomalies, Anomalies::default());
    // btt: Q2Q 0.000060735 0.000359135 0.130342651 962, and so on; it has no G2D.
    assert_eq!(figures(&report, Phase::Q2Q), (962, 60_735, 359_135, 130_342_651));
    assert_eq!(figures(&report, Phase::Q2G), (963, 205, 287, 1_393));
    assert_eq!(figures(&report, Phase::D2C), (963, 52_471, 55_949, 102_460));
    assert_eq!(figures(&report, Phase::Q2C), (963, 53_029, 56_609, 103_591));
    assert_eq!(figures(&report, Phase::G2D), (963, 252, 374, 1_316));
    assert_adds_up(&report);
}

#[test]
fn loop_device_with_splits_flushes_and_durable_writes() {
    let report = analyse("loop-xfs.bin.zst");
    // Flushes without data wait in parallel; nothing else is ambiguous, and nothing remains.
    assert!(report.anomalies.ambiguous < 10);
    assert_eq!(Anomalies { ambiguous: 0, ..report.anomalies.clone() }, Anomalies::default());
    let tables = &report.devices[0].tables;
    // 44,739 bios with data, 1,737 flushes without, 143 splits.
    assert_eq!((tables.bios, tables.splits, tables.requests), (44_739 + 1_737 + 143, 143, 44_882));
    assert_eq!((tables.flushes.count(), tables.plugs.plugs, tables.plugs.unplugs), (3_717, 43_868, 43_868));
    assert_eq!(report.phases[Phase::Q2C].count(), tables.bios);
    // btt: G2I 0.000000701 0.000018760 0.033424893 44882; its minimum mixes up two pieces.
    assert_eq!(figures(&report, Phase::G2I), (44_882, 1_002, 18_766, 33_424_893));
    assert_adds_up(&report);
}

#[test]
fn classic_text_ends_within_a_flush() {
    let report = analyse("loop-xfs.classic.txt.zst");
    assert_eq!(report.anomalies.in_flight_at_end, 1);
    assert_eq!(report.anomalies.unmatched_complete, 0);
    assert_eq!(report.clock.backward_steps, 1);
    assert_adds_up(&report);
}
