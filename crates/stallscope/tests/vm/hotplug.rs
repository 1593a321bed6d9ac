//! CPUs that go offline and come back under a recording, and a wall clock that is set: what one does only to a machine
//! without other programs.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};

use crate::stage::{Running, checked, folder, shown};

const SWITCH: &str = "/sys/devices/system/cpu/cpu1/online";
const DAY_S: i64 = 86_400;

/// A recording of 20 s with a disturbance in the middle, and what is shown of it.
fn recorded(disturb: impl FnOnce()) -> serde_json::Value {
    let folder = folder();
    let out = folder.path().join("run");
    let mut program = Running::start(&format!("record -q --interval 200ms --runtime 20s --out {}", out.display()));
    program.wait_for_the_archive(&out);
    std::thread::sleep(Duration::from_secs(2));
    disturb();
    program.wait().expect_code(0);
    let check = checked(&out);
    assert_eq!((&check["whole"], &check["state"]), (&true.into(), &"closed".into()), "{check:#}");
    let document = shown(&out);
    let duration_s = document["duration_s"].as_f64().unwrap();
    assert!((19.0..90.0).contains(&duration_s), "{document:#}");
    document
}

#[test]
fn a_cpu_that_goes_and_comes_back_ends_no_recording() {
    if !std::path::Path::new(SWITCH).exists() {
        println!("skipped: this machine has one CPU, or cannot switch the second off");
        return;
    }
    recorded(|| {
        for state in ["0", "1", "0", "1"] {
            fs::write(SWITCH, state).unwrap();
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    assert_eq!(fs::read_to_string(SWITCH).unwrap().trim(), "1");
}

#[test]
fn a_day_forward_and_back_changes_no_duration() {
    let step = |seconds: i64| {
        let now = clock_gettime(ClockId::Realtime);
        clock_settime(ClockId::Realtime, Timespec { tv_sec: now.tv_sec + seconds, ..now }).unwrap();
        std::thread::sleep(Duration::from_secs(2));
    };
    let document = recorded(|| [DAY_S, -2 * DAY_S, DAY_S].into_iter().for_each(step));
    let steps = document["remarks"].as_array().unwrap().iter().filter(|remark| remark["event"] == "clock_step").count();
    assert!(steps >= 3, "{document:#}");
}
