//! Real loads in a temporary directory; nothing here needs root.

mod running;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use load::catalogue::find;
use load::clock;
use load::conductor::LoadEvent;
use load::data::remove;
use load::recipe::Recipe;
use model::operation::{OperationKind, OperationRecord};
use running::{RunReport, executable, plan, start, start_in};

const SMALL_SIMOOP: [(&str, &str); 10] = [
    ("threads", "2"),
    ("working_set", "8m"),
    ("allocation", "4m"),
    ("files", "4"),
    ("file_size", "4m"),
    ("subthreads", "4"),
    ("warmup", "500ms"),
    ("runtime", "2s"),
    ("report_interval", "500ms"),
    ("du_pause", "50ms"),
];

#[test]
fn a_small_simoop_runs_its_phases_and_keeps_its_files() {
    let home = tempfile::tempdir().unwrap();
    let recipe = find("simoop").unwrap();
    // Long enough for something of each class to end in it, also while the disk is busy.
    let plan = plan(&recipe, home.path(), &[&SMALL_SIMOOP[..], &[("warmup", "2s")]].concat());
    let data = plan.data_directories[0].clone();
    let report = RunReport::all(start(plan));
    assert_eq!(report.end, Some(LoadEvent::Finished));
    assert_eq!(report.phases, ["fill", "warmup", "run"]);
    assert_eq!((report.errors(), report.reused), (0, 0));
    let rounds = report.count("run", "round");
    assert!(rounds > 4, "{rounds} rounds");
    for class in ["read", "write", "allocation"] {
        assert!(report.count("run", class).abs_diff(rounds) <= 4, "{class}: as many as rounds");
        assert!(report.count("warmup", class) > 0);
    }
    let bytes = |class| report.of("run", class).map(|record| record.bytes).sum::<u64>();
    // Counters are read in sequence while the load runs: of an operation that ends in between, the count may
    // fall into one phase and the bytes into the next. That is one operation for each of the two workers at most.
    for (class, each) in [("read", 4 * (2 << 20)), ("write", 4 * (1 << 20))] {
        let (moved, counted) = (bytes(class), report.count("run", class) * each);
        assert!(moved.is_multiple_of(each) && moved.abs_diff(counted) <= 2 * each, "{class}: {moved} of {counted}");
    }
    assert!(report.count("run", "walk") > 0);
    assert!(report.of("run", "read").count() >= 3, "one record per interval");

    let again =
        RunReport::all(start(self::plan(&recipe, home.path(), &[&SMALL_SIMOOP[..], &[("runtime", "100ms")]].concat())));
    assert_eq!((again.end, again.reused), (Some(LoadEvent::Finished), 1));
    remove::data_directory("simoop", &data).unwrap();
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn the_final_interval_comes_with_the_first_look_after_a_stop_and_the_end_follows() {
    let home = tempfile::tempdir().unwrap();
    let settings = [&SMALL_SIMOOP[..], &[("runtime", "1h"), ("report_interval", "1h")]].concat();
    let mut conductor = start(plan(&find("simoop").unwrap(), home.path(), &settings));
    let mut report = RunReport::default();
    report.poll_until(&mut conductor, |report| report.phases.iter().any(|phase| phase == "run"));
    report.poll_until_one_has_ended(&mut conductor, "read");
    assert_eq!(report.count("run", "read"), 0, "the interval lasts an hour");
    let stopped = Instant::now();
    conductor.stop();
    report.poll(&mut conductor);
    assert!(report.count("run", "read") > 0, "statistics at once, whether or not the load has obeyed");
    report.poll_until(&mut conductor, |_| false);
    assert_eq!(report.end, Some(LoadEvent::Finished));
    println!("stopped within {:?}", stopped.elapsed());
}

#[test]
fn a_fill_is_stopped_in_the_middle() {
    let home = tempfile::tempdir().unwrap();
    let settings = [&SMALL_SIMOOP[..], &[("files", "2000"), ("file_size", "1m")]].concat();
    let plan = plan(&find("simoop").unwrap(), home.path(), &settings);
    let (data, set) = (plan.data_directories[0].clone(), plan.file_sets[0].clone());
    let mut conductor = start(plan);
    let mut report = RunReport::default();
    report.poll_until(&mut conductor, |report| !report.phases.is_empty());
    conductor.stop();
    report.poll_until(&mut conductor, |_| false);
    assert_eq!((report.end, report.phases.len()), (Some(LoadEvent::Finished), 1));
    let made = (0..set.files).filter(|&file| load::data::file_path(&data, &set, file).exists()).count() as u64;
    assert!(made < set.files, "it went on to the end");
}

#[test]
fn a_paced_load_keeps_its_rate() {
    let home = tempfile::tempdir().unwrap();
    let settings = [("runtime", "2s"), ("rate", "500"), ("threads", "3"), ("file_size", "1m")];
    let mut plan = plan(&find("paced-writer").unwrap(), home.path(), &settings);
    // Each write is kept, with the moment when it was due.
    plan.slower_than_ns = 0;
    let report = RunReport::all(start(plan));
    let count = report.count("run", "write");
    println!("{count} writes in 2 s at 500/s");
    assert!((100..=1100).contains(&count), "{count} writes in 2 s at 500/s");
    let gaps = gaps_ns(&report, "write");
    // However late they came: each thread's writes were due each 6 ms.
    assert!(gaps.len() > 90 && gaps.iter().all(|gap| gap.abs_diff(6_000_000) <= 1), "{gaps:?}");
}

/// From when an operation of the class was due to when the next in the same thread was; of those that have ended.
fn gaps_ns(report: &RunReport, class: &str) -> Vec<u64> {
    let is_meant = |one: &&OperationRecord| one.class == class && one.kind == OperationKind::Slow;
    let mut begun: Vec<_> = report.operations.iter().filter(is_meant).map(|one| (one.tid, one.start_ns)).collect();
    begun.sort_unstable();
    begun.windows(2).filter(|two| two[0].0 == two[1].0).map(|two| two[1].1 - two[0].1).collect()
}

#[test]
fn new_files_replace_old_ones_and_fsync_is_a_class_of_its_own() {
    let text = r#"name = "replacer"
about = "a"
[[phase]]
name = "fill"
kind = "fill"
[[phase]]
name = "run"
kind = "run"
duration = "2s"
[files.set]
count = 5
size = "10k"
[[actor]]
name = "replacer"
count = 2
rate = 200
pacing = "poisson"
[[actor.step]]
do = "create"
from = "set"
sync = "fdatasync"
fork = 2
[[actor.step]]
do = "fsync"
[[actor.step]]
do = "read"
from = "set"
at = "sequential"
"#;
    let home = tempfile::tempdir().unwrap();
    let recipe = Recipe::parse("replacer.toml", text).unwrap();
    let plan = plan(&recipe, home.path(), &[]);
    let set = plan.data_directories[0].join("set/0000");
    let report = RunReport::all(start(plan));
    assert_eq!((report.end.as_ref(), report.errors()), (Some(&LoadEvent::Finished), 0));
    for class in ["create", "fsync", "read"] {
        let (count, creates) = (report.count("run", class), report.count("run", "create"));
        assert!(count > 4 && count.abs_diff(creates) <= 4, "{class}: {count}, as many as there are creates: {creates}");
    }
    assert_eq!(std::fs::read_dir(set).unwrap().count(), 5, "as many files as before");
}

#[test]
fn killing_the_program_kills_its_load() {
    let home = tempfile::tempdir().unwrap();
    let mut program = Command::new(executable())
        .args(["simoop", &home.path().display().to_string(), "working_set=8m", "files=2", "file_size=2m", "warmup=1h"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let children = format!("/proc/{0}/task/{0}/children", program.id());
    let started = Instant::now();
    let child = loop {
        let pid = std::fs::read_to_string(&children).unwrap_or_default().trim().to_owned();
        if !pid.is_empty() {
            break pid;
        }
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    };
    std::thread::sleep(Duration::from_millis(500));
    program.kill().unwrap();
    program.wait().unwrap();
    let gone = || match std::fs::read_to_string(format!("/proc/{child}/stat")) {
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    };
    let killed = Instant::now();
    while !gone() {
        assert!(killed.elapsed() < Duration::from_secs(60), "the load process outlives the program");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_load_is_reported_and_its_figures_are_kept() {
    let home = tempfile::tempdir().unwrap();
    let settings = [&SMALL_SIMOOP[..], &[("runtime", "1h"), ("report_interval", "1h")]].concat();
    let mut conductor = start(plan(&find("simoop").unwrap(), home.path(), &settings));
    let mut report = RunReport::default();
    report.poll_until(&mut conductor, |report| report.phases.iter().any(|phase| phase == "run"));
    report.poll_until_one_has_ended(&mut conductor, "read");
    let kill = Command::new("kill").args(["-9", &conductor.pid().to_string()]).status().unwrap();
    assert!(kill.success());
    report.poll_until(&mut conductor, |_| false);
    let Some(LoadEvent::Died { signal: Some(9), message, .. }) = &report.end else { panic!("{:?}", report.end) };
    assert!(message.contains("out of memory"), "{message}");
    assert!(report.count("run", "read") > 0);
}

#[test]
fn a_box_that_cannot_be_entered_is_a_clear_failure() {
    let home = tempfile::tempdir().unwrap();
    let plan = plan(&find("simoop").unwrap(), home.path(), &SMALL_SIMOOP);
    let report = RunReport::all(start_in(plan, vec![home.path().join("absent/cgroup.procs")]));
    let Some(LoadEvent::Died { code: Some(1), message, .. }) = &report.end else { panic!("{:?}", report.end) };
    assert!(message.contains("cannot enter the memory cgroup through"), "{message}");
}

#[test]
fn memory_that_cannot_be_had_is_counted_as_an_error() {
    let text = r#"name = "greedy"
about = "a"
[[phase]]
name = "run"
kind = "run"
duration = "300ms"
[[actor]]
name = "greedy"
count = 1
[[actor.step]]
do = "allocate"
size = "900000g"
"#;
    let recipe = Recipe::parse("greedy.toml", text).unwrap();
    let home = tempfile::tempdir().unwrap();
    let facts = load::facts::MachineFacts::gather("greedy", &[home.path().to_owned()], Some(u64::MAX)).unwrap();
    let plan = load::plan::Plan::resolve(&recipe, &facts, &Default::default()).unwrap();
    let report = RunReport::all(start(plan));
    assert_eq!(report.end, Some(LoadEvent::Finished));
    let failed = report.operations.iter().find(|record| record.errno.is_some()).unwrap();
    assert_eq!((failed.class.as_str(), failed.errno), ("allocation", Some(12)));
    assert!(report.errors() > 0 && report.errors() < 100, "it backs off after an error");
    assert!(failed.start_ns < clock::now_ns());
}
