//! Latencies of a paced load count from the intended start of an operation, even while none can start.
//! Needs root and loop devices.

mod running;
mod temporary;

use load::catalogue::find;
use load::clock;
use model::operation::OperationKind;
use running::{RunReport, plan, start};
use temporary::{Disk, Frozen, disk};

/// Operations each second, one each millisecond.
const RATE_PER_S: f64 = 1000.0;
const STEP_NS: u64 = 1_000_000;
const COUNT: u64 = 10_000;
/// Intervals in which operations are counted, for the truth.
const LOOK_NS: u64 = 10_000_000;

/// Figures of the writes of a run: as its histogram has them, and as they must be.
#[derive(Debug)]
struct Figures {
    p50_s: f64,
    p90_s: f64,
    p99_s: f64,
    true_p90_s: f64,
    true_p99_s: f64,
    /// Operations that ended more than 20 ms after they should have begun.
    late: usize,
}

/// Of 10,000 writes the 2,000 that were due while the file system was frozen for 2 s waited for the thaw, and those
/// that came while they were caught up with waited too: p90 is 1 s where the disk catches up at once, and follows from
/// the count of late writes otherwise. Counted from the real start nearly all would take microseconds.
///
/// The truth is computed without the histogram: from the schedule, and from how many writes had ended at each moment.
/// So it holds however slow the disk and however busy the machine is.
fn check(recipe: &str, settings: &[(&str, &str)]) {
    let Some(disk) = disk(&["mkfs.xfs", "-q"], 512 << 20) else { return };
    let figures = writes_around_a_freeze(&disk, recipe, settings);
    println!("{recipe} {settings:?}: {figures:.3?}");
    let is_about = |measured: f64, truth: f64, share: f64| (measured - truth).abs() <= truth * share;
    assert!(figures.late >= 1_990, "{figures:?}");
    assert!(figures.true_p90_s > 0.95 && figures.true_p99_s > 1.85, "the file system was frozen: {figures:?}");
    assert!(is_about(figures.p90_s, figures.true_p90_s, 0.2), "{figures:?}");
    assert!(is_about(figures.p99_s, figures.true_p99_s, 0.1), "{figures:?}");
    assert!(figures.late > 4_500 || figures.p50_s < 0.02, "most writes were not held up: {figures:?}");
}

fn writes_around_a_freeze(disk: &Disk, recipe: &str, settings: &[(&str, &str)]) -> Figures {
    let settings = [&[("runtime", "10s"), ("file_size", "16m"), ("rate", "1000")], settings].concat();
    let mut plan = plan(&find(recipe).unwrap(), &disk.mount, &settings);
    plan.report_interval_ns = LOOK_NS;
    let mut conductor = start(plan);
    let mut report = RunReport::default();
    report.poll_until(&mut conductor, |report| report.of("run", "write").any(|record| record.count > 0));
    let began_ns = report.of("run", "write").next().unwrap().start_ns;
    report.poll_until(&mut conductor, |_| clock::now_ns() >= began_ns + 4_000_000_000);
    let frozen = Frozen::new(disk);
    let until_ns = clock::now_ns() + 2_000_000_000;
    report.poll_until(&mut conductor, |_| clock::now_ns() >= until_ns);
    drop(frozen);
    report.poll_until(&mut conductor, |_| false);
    let count = report.count("run", "write");
    assert!((9_500..=COUNT + 100).contains(&count), "{count} writes");
    assert!(
        report.operations.iter().any(|operation| operation.kind == OperationKind::Stuck),
        "seen while it was stuck"
    );
    let seconds = |percent| report.percentile_ns("run", "write", percent) as f64 / 1e9;
    let truth = true_latencies_s(&report, began_ns);
    let of_truth =
        |percent: f64| truth[((truth.len() as f64 * percent / 100.0).ceil() as usize - 1).min(truth.len() - 1)];
    Figures {
        p50_s: seconds(50.0),
        p90_s: seconds(90.0),
        p99_s: seconds(99.0),
        true_p90_s: of_truth(90.0),
        true_p99_s: of_truth(99.0),
        late: truth.iter().filter(|latency| **latency > 0.02).count(),
    }
}

/// Write number `n` was due `n` milliseconds after the start, and had ended when `n + 1` writes had: between two
/// samples of the count. Ascending.
fn true_latencies_s(report: &RunReport, began_ns: u64) -> Vec<f64> {
    let mut latencies = Vec::new();
    for record in report.of("run", "write") {
        for nth in 1..=record.count {
            let ended_ns = record.start_ns + (record.end_ns - record.start_ns) * nth / record.count;
            let due_ns = began_ns + latencies.len() as u64 * STEP_NS;
            latencies.push(ended_ns.saturating_sub(due_ns) as f64 / 1e9);
        }
    }
    assert!((latencies.len() as f64) < 1.02 * COUNT as f64 && STEP_NS as f64 * RATE_PER_S == 1e9);
    latencies.sort_by(f64::total_cmp);
    latencies
}

#[test]
fn paced_latencies_count_from_the_intended_start() {
    check("paced-writer", &[]);
}

#[test]
fn those_of_random_writes_by_system_calls_do_too() {
    check("randrw", &[("mix", "write")]);
}

#[test]
fn those_of_random_writes_through_an_io_uring_do_too() {
    check("randrw", &[("mix", "write"), ("engine", "io_uring"), ("depth", "16")]);
}
