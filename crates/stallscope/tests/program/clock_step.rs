//! The wall clock is set during a run: the step is reported, and no duration changes.

use model::event::RunEvent;
use model::time::Moment;
use record::ClockWatch;
use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use serde_json::Value;

use crate::stage::{Running, SMALL, folder, is_root, number, shown};

const HOUR_S: i64 = 3600;

/// How the recorder handles each sample's time, without setting the machine's clock.
#[test]
fn a_clock_step_is_reported_once_and_both_clocks_continue() {
    let at = |monotonic_s: u64, wall_s: i64| Moment {
        monotonic_ns: monotonic_s * 1_000_000_000,
        wall_ns: wall_s * 1_000_000_000,
    };
    let mut watch = ClockWatch::new(at(10, 1000), ClockWatch::DEFAULT_THRESHOLD_NS);
    assert_eq!(watch.observe(at(11, 1001)), None);
    let by_ns = HOUR_S * 1_000_000_000;
    assert_eq!(watch.observe(at(12, 1002 + HOUR_S)), Some(RunEvent::ClockStep { at_ns: 12_000_000_000, by_ns }));
    assert_eq!(watch.observe(at(13, 1003 + HOUR_S)), None);
    assert_eq!(watch.observe(at(14, 1004)), Some(RunEvent::ClockStep { at_ns: 14_000_000_000, by_ns: -by_ns }));
}

/// The machine's wall clock, ahead for as long as this lives.
struct Stepped {
    wall_minus_monotonic_ns: i128,
}

impl Stepped {
    fn ahead(by_ns: i128) -> Stepped {
        let stepped = Stepped { wall_minus_monotonic_ns: now(ClockId::Realtime) - now(ClockId::Monotonic) };
        set_wall(now(ClockId::Realtime) + by_ns);
        stepped
    }
}

impl Drop for Stepped {
    fn drop(&mut self) {
        set_wall(now(ClockId::Monotonic) + self.wall_minus_monotonic_ns);
    }
}

fn now(clock: ClockId) -> i128 {
    let time = clock_gettime(clock);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

fn set_wall(ns: i128) {
    let (tv_sec, tv_nsec) = ((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as _);
    clock_settime(ClockId::Realtime, Timespec { tv_sec, tv_nsec }).unwrap();
}

/// Steps as little as a time service might, which other programs tolerate. With STALLSCOPE_TEST_CLOCK_STEP=1, for a
/// machine without other programs, the step is an hour.
#[test]
fn a_clock_step_forward_and_back_changes_no_duration() {
    let hour = std::env::var("STALLSCOPE_TEST_CLOCK_STEP").is_ok_and(|value| value == "1");
    let by_ns = if hour { i128::from(HOUR_S) * 1_000_000_000 } else { 300_000_000 };
    if !is_root("setting the clock") {
        return;
    }
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let load = SMALL.replace("-r 3", "-r 8");
    let words = format!("run simoop {load} --json --out {} {}", out.display(), data.path().display());
    let mut program = Running::start(&words);
    program.wait_for_the_run();
    let stepped = Stepped::ahead(by_ns);
    program.wait_until("the step is reported", |_| shown(&out)["remarks"].to_string().contains("clock_step"));
    drop(stepped);
    let document = program.wait().expect_code(0).document();
    // A sampler that is preempted between reading the two clocks sees a small step.
    let is_step =
        |remark: &&Value| remark["event"] == "clock_step" && number(remark, "/by_ns").abs() > by_ns as f64 / 2.0;
    let steps: Vec<_> = document["remarks"].as_array().unwrap().iter().filter(is_step).collect();
    println!("{steps:?}");
    assert_eq!(steps.len(), 2, "{:#}", document["remarks"]);
    for (step, expected) in steps.iter().zip([by_ns, -by_ns]) {
        assert!((number(step, "/by_ns") - expected as f64).abs() < 100e6, "{step}");
    }
    assert!((7.9..60.0).contains(&number(&document, "/duration_s")), "{document:#}");
    for class in ["read", "write", "allocation"] {
        assert!(number(&document, &format!("/operations/{class}/max_ns")) < 60e9);
    }
}
