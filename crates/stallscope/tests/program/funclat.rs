//! `funclat` on this kernel: known sleeps and syncs between tracepoints, and functions where they can be timed.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::stage::{Ended, Running, folder, is_root, number, run};

const SLEEPS: &str = "--pair syscalls:sys_enter_clock_nanosleep..sys_exit_clock_nanosleep";
const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_millis(60);
/// Threshold for --above and --below, between the two.
const BORDER: Duration = Duration::from_millis(30);

/// Starts timing, and waits until it is attached.
fn start(words: &str) -> Running {
    let mut timing = Running::start(&format!("funclat {words}"));
    timing.wait_until("the timing begins", |program| program.stderr().contains("press Ctrl-C to stop"));
    timing
}

fn stop(timing: Running) -> Ended {
    timing.signal(Signal::INT);
    timing.wait()
}

/// Sleeps in a thread of that name, 40 short and 5 long sleeps; returns their durations as measured there.
fn sleep_as(name: &str) -> Vec<Duration> {
    let sleeper = std::thread::Builder::new().name(name.to_owned()).spawn(|| {
        let lengths = [SHORT; 40].into_iter().chain([LONG; 5]);
        let timed = |length| {
            let began = Instant::now();
            std::thread::sleep(length);
            began.elapsed()
        };
        lengths.map(timed).collect()
    });
    sleeper.unwrap().join().unwrap()
}

/// The group of the thread with that name.
fn group<'a>(document: &'a Value, name: &str) -> &'a Value {
    let groups = document["groups"].as_array().unwrap();
    let named = |group: &&Value| group["name"].as_str().is_some_and(|found| found.starts_with(&format!("{name}/")));
    groups.iter().find(named).unwrap_or_else(|| panic!("no {name} in {document:#}"))
}

fn rows_of(group: &Value) -> f64 {
    group["log2"].as_array().unwrap().iter().map(|row| row["count"].as_f64().unwrap()).sum()
}

#[test]
fn known_sleeps_are_counted_and_timed_by_task() {
    if !is_root("funclat") {
        return;
    }
    let timing = start(&format!("{SLEEPS} --by task --json --pid {}", std::process::id()));
    let seen = sleep_as("naps-all");
    let ended = stop(timing).expect_code(0);
    let document = ended.document();
    let naps = group(&document, "naps-all");
    println!("{naps}");
    assert_eq!((number(naps, "/count"), rows_of(naps)), (45.0, 45.0));
    let slept = (SHORT * 40 + LONG * 5).as_nanos() as f64;
    let sum_ns = number(naps, "/sum_ns");
    assert!(sum_ns >= slept && sum_ns <= seen.iter().sum::<Duration>().as_nanos() as f64, "{sum_ns}");
    assert!(number(naps, "/min_ns") >= SHORT.as_nanos() as f64);
    assert!(number(naps, "/p99_ns") >= LONG.as_nanos() as f64);
    assert!(number(naps, "/p50_ns") < number(naps, "/p99_ns"));
    assert_eq!(document["calls"]["forgotten"], 0);
    assert!(ended.stderr.contains("usecs               : count     distribution"), "{}", ended.stderr);
}

#[test]
fn above_and_below_divide_the_calls() {
    if !is_root("funclat") {
        return;
    }
    let pid = std::process::id();
    let common = format!("{SLEEPS} --by task --json --pid {pid}");
    let above = start(&format!("{common} --above {}ms", BORDER.as_millis()));
    let below = start(&format!("{common} --below {}ms", BORDER.as_millis()));
    let seen = sleep_as("naps-part");
    let (above, below) = (stop(above).expect_code(0).document(), stop(below).expect_code(0).document());
    let (long, short) = (group(&above, "naps-part"), group(&below, "naps-part"));
    println!("above {}, below {}", long["count"], short["count"]);
    // A busy machine lengthens some short sleeps.
    let at_most = seen.iter().filter(|took| **took >= BORDER).count() as f64;
    assert!(number(long, "/count") >= 5.0 && number(long, "/count") <= at_most, "{long} {at_most}");
    assert_eq!(number(long, "/count") + number(short, "/count"), 45.0);
    assert!(
        number(long, "/min_ns") >= BORDER.as_nanos() as f64 && number(short, "/max_ns") <= BORDER.as_nanos() as f64
    );
    assert!(number(&above, "/calls/filtered") >= number(short, "/count"));
}

#[test]
fn syncs_are_reported_by_cgroup() {
    if !is_root("funclat") {
        return;
    }
    let pid = std::process::id();
    let timing = start(&format!("--pair syscalls:sys_enter_fsync..sys_exit_fsync --by cgroup --json --pid {pid}"));
    let mut file = File::create(folder().path().join("synced")).unwrap();
    for _ in 0..7 {
        file.write_all(b"x").unwrap();
        file.sync_all().unwrap();
    }
    let document = stop(timing).expect_code(0).document();
    let memberships = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let in_memory = memberships.lines().find(|line| line.split(':').nth(1).unwrap().split(',').any(|c| c == "memory"));
    let membership = in_memory.or_else(|| memberships.lines().find(|line| line.starts_with("0::"))).unwrap();
    let own = membership.splitn(3, ':').nth(2).unwrap();
    let group = document["groups"].as_array().unwrap().iter().find(|group| group["name"] == own);
    let group = group.unwrap_or_else(|| panic!("no {own} in {document:#}"));
    println!("{own}: {}", group["count"]);
    assert!(number(group, "/count") >= 7.0, "other tests of this process may sync, too");
}

#[test]
fn reclaim_in_a_memory_cgroup_is_timed() {
    if !is_root("funclat") {
        return;
    }
    let (home, out) = (tempfile::tempdir().unwrap(), folder());
    let timing = start("--pair vmscan:mm_vmscan_memcg_reclaim_begin..end --json --unit us");
    let file = home.path().join("file");
    let limited = format!("record --memory 16m --quiet --out {} -- dd if=/dev/zero", out.path().join("run").display());
    run(&format!("{limited} of={} bs=1M count=64 status=none", file.display())).expect_code(0);
    let document = stop(timing).expect_code(0).document();
    println!("{:#}", document["calls"]);
    let all = &document["groups"][0];
    assert!(number(all, "/count") > 0.0 && number(all, "/sum_ns") > 0.0, "{document:#}");
    assert_eq!(number(all, "/count"), rows_of(all));
    assert_eq!(document["what"], "vmscan:mm_vmscan_memcg_reclaim_begin..mm_vmscan_memcg_reclaim_end");
}

#[test]
fn a_function_is_timed_or_the_error_says_what_is_needed() {
    if !is_root("funclat") {
        return;
    }
    let ended = run("funclat do_shrink_slab --runtime 200ms --json");
    println!("{:?} {}", ended.code, ended.stderr);
    if ended.code == Some(0) {
        assert!(
            ended.document()["method"] == "fentry and fexit" || ended.document()["method"] == "kprobe and kretprobe"
        );
        return;
    }
    let error = ended.expect_code(3);
    for part in ["do_shrink_slab", "fexit", "kprobe", "It needs", "--pair vmscan:mm_shrink_slab_start..end"] {
        assert!(error.error().contains(part), "{part}: {}", error.error());
    }
}

#[test]
fn invalid_arguments_are_one_clear_error() {
    if !is_root("funclat") {
        return;
    }
    for (words, parts) in [
        ("vfs_fsync_rang", ["no function 'vfs_fsync_rang'", "vfs_fsync_range"]),
        ("--pair vmscan:mm_shrink_slab_strt..end", ["no tracepoint 'vmscan:mm_shrink_slab_strt'", "slab_start"]),
        ("--pair vmscan:mm_shrink_slab_start..done", ["no tracepoint 'vmscan:mm_shrink_slab_done'", ""]),
        ("--pair nonsense", ["'nonsense' is not a pair", "SUBSYSTEM:BEGIN..END"]),
        ("vfs_read --above 2s --below 1s", ["--above", "--below"]),
        ("vfs_read --pid 4194399", ["--pid 4194399", "no such process"]),
    ] {
        let ended = run(&format!("funclat {words}")).expect_code(2);
        println!("{}", ended.error());
        assert!(parts.iter().all(|part| ended.error().contains(part)), "{}", ended.error());
    }
    run("funclat").expect_code(2);
    run("funclat vfs_read --pair a:b..c").expect_code(2);
    run("funclat vfs_read --by colour").expect_code(2);
}

#[test]
fn an_interrupt_ends_it_with_a_summary() {
    if !is_root("funclat") {
        return;
    }
    let ended = stop(start(&format!("{SLEEPS} --interval 50ms"))).expect_code(0);
    assert!(ended.stdout.contains(", by tracepoints"), "{}", ended.stdout);
    assert!(ended.took < Duration::from_secs(120));
    let ended = stop(start(&format!("{SLEEPS} --runtime 10m"))).expect_code(130);
    assert!(ended.stdout.contains(", by tracepoints"), "{}", ended.stdout);
}
