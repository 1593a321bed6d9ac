//! Traces as people have them: some kinds of events only, block tracepoints as text, lines out of order.

use std::io::Cursor;
use std::path::Path;

use lifecycle::{BlockReport, Lifecycle, Phase, Settings};
use model::block::Action;
use proptest::prelude::*;

fn follow(mut trace: blktrace::Trace) -> BlockReport {
    let mut lifecycle = Lifecycle::new(Settings { slower_than_ns: 1_000_000_000, ..Settings::default() });
    while let Some(events) = trace.next_batch().unwrap() {
        lifecycle.feed_all(events);
    }
    assert_eq!((trace.notes().gaps(), trace.notes().count(blktrace::AnomalyKind::UnreadableLine)), (0, 0));
    lifecycle.finish().0
}

fn text_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../blktrace/tests/data").join(format!("{name}.zst"));
    String::from_utf8(zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()).unwrap()
}

fn analyse(text: String) -> BlockReport {
    follow(blktrace::Trace::from_reader("test", Cursor::new(text.into_bytes())).unwrap())
}

/// Count, minimum, mean and maximum.
fn figures(report: &BlockReport, phase: Phase) -> Option<(u64, u64, u64, u64)> {
    let times = &report.phases[phase];
    Some((times.count(), times.min()?, times.mean()?, times.max()?))
}

#[test]
fn issues_and_completions_pair_without_queue_events() {
    let report = analyse(text_of("issue-complete-only"));
    assert_eq!(figures(&report, Phase::D2C), Some((200, 90_122, 9_244_847, 1_800_000_000)));
    assert_eq!((figures(&report, Phase::Q2C), figures(&report, Phase::Q2Q)), (None, None), "absent is not zero");
    assert_eq!((report.slow.count, report.slow.kept[0].phases.get(Phase::D2C)), (1, Some(1_800_000_000)));
    assert_eq!(report.anomalies, lifecycle::Anomalies::default());
}

#[test]
fn completions_alone_are_counted_without_times() {
    let report = analyse(text_of("completions-only"));
    assert_eq!((report.devices[0].tables.bios, report.anomalies.unmatched_complete), (300, 0));
    assert!(Phase::ALL.iter().all(|phase| report.phases[*phase].count() == 0));
}

/// An append to a zone completes where the device put it.
#[test]
fn appends_to_a_zone_complete_elsewhere() {
    let report = analyse(text_of("zone-append-ext"));
    assert_eq!(figures(&report, Phase::D2C), Some((1, 57_909, 57_909, 57_909)));
    assert_eq!(figures(&report, Phase::Q2C).unwrap().1, 478_498);
    assert_eq!(report.anomalies, lifecycle::Anomalies::default());
}

/// 400 writes in batches, CPU after CPU; the times of what precedes the zero wrap.
#[test]
fn a_live_trace_is_ordered_by_time() {
    let report = analyse(text_of("live-btrace"));
    let (count, least, _, most) = figures(&report, Phase::D2C).unwrap();
    assert!(
        count == 400 && least >= 60_000 && (1_500_000_000..1_500_200_000).contains(&most),
        "{count} {least} {most}"
    );
    assert_eq!((report.slow.count, report.clock.jump_count), (1, 0));
}

#[test]
fn tracepoints_as_text() {
    for name in ["events-ftrace", "events-perf-script", "events-trace-cmd-report"] {
        let report = analyse(text_of(name));
        let (count, least, mean, most) = figures(&report, Phase::D2C).unwrap();
        assert_eq!((count, least, most), (40, 191_000, 1_249_991_000), "{name}");
        assert_eq!(mean / 1_000_000, 31, "{name}");
        assert_eq!(figures(&report, Phase::Q2C).unwrap().0, 40, "{name}");
    }
}

#[test]
fn other_events_between_block_events_are_skipped() {
    let between = "  reader-42 [001] d..2. 5000.1: sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b next_pid=2\n";
    let text: String = text_of("events-ftrace").lines().map(|line| format!("{line}\n{between}")).collect();
    assert_eq!(figures(&analyse(text), Phase::D2C).unwrap().0, 40);
}

#[test]
fn lines_with_a_cgroups_name_and_old_completions() {
    assert_eq!(figures(&analyse(text_of("ftrace-cgname")), Phase::Q2C).unwrap(), (20, 420_000, 420_000, 420_000));
    assert_eq!(analyse(text_of("barrier-writes")).devices[0].tables.errors, 0, "[1] is up to date");
}

/// Without Q, the remap from the partition stands for it, of both threads of a CPU.
#[test]
fn a_remap_stands_for_a_missing_queue_event() {
    let with_queue = "\
8,0 0 1 0.000001000 7 A WS 2304 + 8 <- (8,1) 256
8,0 0 2 0.000001000 7 Q WS 2304 + 8 [a]
8,0 0 3 0.000003000 7 G WS 2304 + 8 [a]
8,0 0 4 0.000004000 9 A WS 4304 + 8 <- (8,1) 2256
8,0 0 5 0.000004000 9 Q WS 4304 + 8 [b]
8,0 0 6 0.000006000 7 D WS 2304 + 8 [a]
8,0 0 7 0.000007000 9 G WS 4304 + 8 [b]
8,0 0 8 0.000008000 9 D WS 4304 + 8 [b]
8,0 0 9 0.000100000 0 C WS 2304 + 8 [0]
8,0 0 10 0.000110000 0 C WS 4304 + 8 [0]
";
    let mut number = 0;
    let without: String = with_queue
        .lines()
        .filter(|line| !line.contains(" Q "))
        .map(|line| {
            number += 1;
            let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            words[2] = number.to_string();
            words.join(" ") + "\n"
        })
        .collect();
    let (with, without) = (analyse(with_queue.to_owned()), analyse(without));
    for phase in [Phase::Q2G, Phase::D2C, Phase::Q2C] {
        assert_eq!(figures(&with, phase), figures(&without, phase));
    }
    assert_eq!((with.devices[0].tables.bios, without.devices[0].tables.bios), (2, 2));
}

proptest! {
    /// Whichever kinds of events a trace lacks, its D2C are those of the whole trace.
    #[test]
    fn times_at_the_device_need_no_other_events(kept in prop::collection::vec(any::<bool>(), 4)) {
        let letters = [Action::Queue, Action::GetRequest, Action::Insert, Action::Remap].map(Action::letters);
        let dropped: Vec<&str> = letters.iter().zip(&kept).filter(|(_, kept)| !**kept).map(|(letter,
            _)| *letter).collect();
        let whole = text_of("live-btrace");
        let mut numbers = [0_u32; 4];
        let part: String = whole
            .lines()
            .filter(|line| !dropped.contains(&line.split_whitespace().nth(5).unwrap()))
            .map(|line| {
                // The kernel numbers what it writes.
                let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
                let cpu: usize = words[1].parse().unwrap();
                numbers[cpu] += 1;
                words[2] = numbers[cpu].to_string();
                words.join(" ") + "\n"
            })
            .collect();
        let (whole, part) = (analyse(whole), analyse(part));
        prop_assert_eq!(figures(&whole, Phase::D2C), figures(&part, Phase::D2C));
    }
}

/// Rows by completion, as biosnoop prints them, and rows by issue, as published traces have them.
#[test]
fn rows_of_tables_and_published_traces() {
    let snoop = "\
TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)
0.000000    a              10     sda     R 100        4096   2.00
0.001000    b              11     sdb     W 200        8192   0.50
0.002000    a              10     sda     R 300        4096   1500.00
";
    let report = analyse(snoop.to_owned());
    assert_eq!(figures(&report, Phase::D2C), Some((3, 500_000, 500_833_333, 1_500_000_000)));
    assert_eq!((report.devices.len(), report.slow.count), (2, 1));
    let msr = "\
128166372003061629,hm,1,Write,2096128,1024,20000000
128166372003061630,hm,1,Read,4096,4096,1000
";
    let report = analyse(msr.to_owned());
    assert_eq!(figures(&report, Phase::D2C), Some((2, 100_000, 1_000_050_000, 2_000_000_000)));
    let alibaba = "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360867\n";
    let report = analyse(alibaba.to_owned());
    assert_eq!((report.devices.len(), report.phases[Phase::D2C].count()), (2, 0));
}
