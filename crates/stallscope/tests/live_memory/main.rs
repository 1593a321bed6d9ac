//! Memory at 50,000 rows a second, with a look each second.
//!
//!     cargo test -p stallscope --test live_memory -- --nocapture

use explain::blame::Scope;
use explain::live::{Bounds, Live};
use explain::snapshot::Window;
use model::metric::SampleHeader;
use model::run::RunDescription;
use model::stall::{StallKind, StallRecord, TraceSettings, Traced};
use model::time::Moment;

const S: u64 = 1_000_000_000;
const ROWS_PER_S: u64 = 50_000;
const MOST_BYTES: u64 = 64 << 20;

fn kib(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// A call of 2 ms that slept in it, of one of 400 threads.
fn rows(second: u64, at: u64) -> [StallRecord; 2] {
    let (tid, start_ns) = (1000 + (at % 400) as u32, second * S + at * (S / ROWS_PER_S));
    let row = |kind, from: u64, to: u64| StallRecord {
        call: Some("fsync".into()),
        path: Some(format!("/data/{tid}")),
        ..StallRecord::new(kind, tid, start_ns + from, start_ns + to)
    };
    let sleep = StallRecord {
        state: Some(2),
        woken_ns: Some(start_ns + 1_900_000),
        ..row(StallKind::OffCpu, 100_000, 1_950_000)
    };
    [sleep, row(StallKind::SystemCall, 0, 2_000_000)]
}

/// Alone in its process, whose peak it measures.
#[test]
fn memory_at_50_000_rows_a_second_is_at_most_64_mib() {
    let mut run = RunDescription::new("record", Moment { monotonic_ns: S, wall_ns: 0 });
    run.slower_than_ns = 1_000_000;
    run.trace = Some(TraceSettings { slow_ns: 1_000_000, interval_ns: 1_000_000, all_requests: false });
    let mut live = Live::new(1_000_000, Bounds::default());
    let before = kib("VmRSS:");
    for second in 1..=15 {
        // As they come: a hand-over each twentieth of a second.
        for part in 0..20 {
            let of_part = (part * ROWS_PER_S / 40)..((part + 1) * ROWS_PER_S / 40);
            let stalls = of_part.flat_map(|at| rows(second, at * 2)).collect();
            live.traced(&Traced { stalls, ..Traced::default() });
        }
        let at = Moment { monotonic_ns: (second + 1) * S, wall_ns: 0 };
        live.sample(&SampleHeader { sample: 0, at, late_ns: 0, cpu_ns: 0, took_ns: 0 }, &[], &[]);
        let window = Window { from_ns: at.monotonic_ns.saturating_sub(10 * S), to_ns: at.monotonic_ns };
        let look = live.look(&run, &Scope::default(), window);
        let kept_ms = live.first_ns().map_or(0, |first_ns| (at.monotonic_ns - first_ns) / 1_000_000);
        let peak = kib("VmHWM:") - before;
        println!(
            "second {second}: {} operations in the look, {kept_ms} ms and {} KiB kept, peak {peak} KiB",
            look.snapshot.explanation.slow_operations,
            live.bytes() >> 10
        );
    }
    let peak = (kib("VmHWM:") - before) << 10;
    assert!(peak <= MOST_BYTES, "{} MiB", peak >> 20);
}
