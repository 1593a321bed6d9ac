//! Random reads and writes: each engine does what it is asked, counts it, and finds data that is not right.

mod running;

use std::fs::File;
use std::os::unix::fs::FileExt;

use load::catalogue::find;
use load::conductor::LoadEvent;
use load::plan::{Plan, PlanRequest};
use model::operation::{Fault, OperationKind};
use running::{RunReport, plan, start};

const SMALL: [(&str, &str); 2] = [("runtime", "300ms"), ("file_size", "1m")];

fn planned(settings: &[(&str, &str)]) -> (tempfile::TempDir, Plan) {
    let home = tempfile::tempdir().unwrap();
    let plan = plan(&find("randrw").unwrap(), home.path(), &[&SMALL[..], settings].concat());
    (home, plan)
}

fn report(settings: &[(&str, &str)]) -> RunReport {
    let (_home, plan) = planned(settings);
    let report = RunReport::all(start(plan));
    assert_eq!((report.end.as_ref(), report.errors()), (Some(&LoadEvent::Finished), 0), "{settings:?}");
    report
}

/// Lets it run for as long as three operations of the class take, which on a busy disk may be long.
fn report_of_three(class: &str, settings: &[(&str, &str)]) -> RunReport {
    let (_home, mut plan) = planned(&[settings, &[("runtime", "1h")]].concat());
    plan.report_interval_ns = 100_000_000;
    let (mut conductor, mut report) = (start(plan), RunReport::default());
    report.poll_until(&mut conductor, |report| report.count("run", class) > 2);
    conductor.stop();
    report.poll_until(&mut conductor, |_| false);
    assert_eq!((report.end.as_ref(), report.errors()), (Some(&LoadEvent::Finished), 0), "{settings:?}");
    report
}

/// Counters are read in sequence while the load runs: an operation that ends in between is in one and not in the other.
fn is_about(one: u64, other: u64) -> bool {
    one.abs_diff(other) <= 20 + other / 20
}

#[test]
fn each_engine_reads_and_writes_whole_blocks() {
    for engine in [&[("engine", "sync")][..], &[("engine", "io_uring"), ("depth", "8")], &[("engine", "null")]] {
        let report = report(&[engine, &[("threads", "2"), ("mix", "70"), ("block_size", "8k")]].concat());
        let (reads, writes) = (report.count("run", "read"), report.count("run", "write"));
        let bytes: u64 = ["read", "write"].iter().flat_map(|class| report.of("run", class)).map(|r| r.bytes).sum();
        let moved = (reads + writes) * 8192;
        assert!(bytes.is_multiple_of(8192) && is_about(bytes, moved), "{engine:?}: {bytes} of {moved}");
        let share = reads as f64 / (reads + writes) as f64;
        assert!(reads + writes > 100 && (0.5..0.9).contains(&share), "{engine:?}: {reads} reads, {writes} writes");
        // Who does not end within a moment, as on a busy machine, is left out of the job's threads.
        let whole = report.job_threads.last().filter(|(_, members)| members.len() == 2);
        let items = whole.map(|(_, members)| members.iter().map(|member| member.items).sum::<u64>());
        println!("{engine:?}: {reads} reads, {writes} writes; {items:?} by members that reported");
        assert!(items.is_none_or(|items| is_about(items, reads + writes)), "{items:?} of {}", reads + writes);
    }
}

#[test]
fn a_mix_is_a_word_or_a_percentage() {
    assert_eq!(report(&[("mix", "read")]).count("run", "write"), 0);
    assert_eq!(report(&[("mix", "write")]).count("run", "read"), 0);
    let (_home, plan) = planned(&[("mix", "25%")]);
    assert_eq!(plan.variables.iter().find(|(name, _)| name == "mix").unwrap().1, 0.25);
}

#[test]
fn writes_are_made_durable_as_often_as_asked() {
    for engine in ["sync", "io_uring"] {
        for sync in ["fsync", "fdatasync", "sync_file_range"] {
            let report =
                report_of_three(sync, &[("mix", "write"), ("engine", engine), ("sync", sync), ("fsync", "10")]);
            let (writes, syncs) = (report.count("run", "write"), report.count("run", sync));
            assert!(syncs > 2 && is_about(syncs * 10, writes), "{engine}, {sync}: {writes} writes, {syncs} calls");
        }
    }
    let report = report_of_three("fsync", &[("mix", "write"), ("fsync", "1")]);
    assert!(is_about(report.count("run", "write"), report.count("run", "fsync")), "a number alone means fsync");
    for sync in ["o_sync", "o_dsync"] {
        assert!(report_of_three("write", &[("mix", "write"), ("sync", sync)]).count("run", "write") > 2);
    }
}

#[test]
fn a_rate_is_kept_by_each_engine_and_pacing() {
    for (engine, depth) in [("sync", "1"), ("io_uring", "16")] {
        for pacing in ["fixed", "poisson"] {
            let rate = [("rate", "500"), ("runtime", "1s"), ("threads", "2"), ("pacing", pacing)];
            let (_home, mut plan) = planned(&[&rate[..], &[("engine", engine), ("depth", depth)]].concat());
            // Each operation is kept, with the moment when it was due.
            plan.slower_than_ns = 0;
            let report = RunReport::all(start(plan));
            let count = report.count("run", "read") + report.count("run", "write");
            assert!((50..=650).contains(&count), "{engine}, {pacing}: {count} operations at 500/s");
            let ended = report.operations.iter().filter(|operation| operation.kind == OperationKind::Slow);
            let due_ns: Vec<u64> = ended.map(|operation| operation.start_ns).collect();
            let span_ns = due_ns.iter().max().unwrap() - due_ns.iter().min().unwrap();
            let rate_per_s = (due_ns.len() - 1) as f64 / (span_ns as f64 / 1e9);
            println!("{engine}, {pacing}: {count} operations at 500/s, due at {rate_per_s}/s");
            // However late they came.
            assert!((350.0..650.0).contains(&rate_per_s), "{engine}, {pacing}: they were due at {rate_per_s}/s");
        }
    }
}

#[test]
fn direct_operations_are_aligned_or_refused() {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let recipe = find("randrw").unwrap();
    for engine in ["sync", "io_uring"] {
        let settings = [&SMALL[..], &[("direct", "true"), ("engine", engine)]].concat();
        let report = RunReport::all(start(plan(&recipe, home.path(), &settings)));
        if let Some(LoadEvent::Died { message, .. }) = &report.end {
            assert!(message.contains("omit --direct"), "{message}");
            println!("skipped: {message}");
            return;
        }
        assert_eq!((report.end.as_ref(), report.errors()), (Some(&LoadEvent::Finished), 0), "{engine}");
    }
    let error = refused(&[("direct", "true"), ("block_size", "1000")]);
    assert!(error.contains("--block-size") && error.contains("multiples of 512"), "{error}");
}

fn refused(settings: &[(&str, &str)]) -> String {
    let home = tempfile::tempdir().unwrap();
    let facts = load::facts::MachineFacts::gather("randrw", &[home.path().to_owned()], None).unwrap();
    let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let request = PlanRequest { settings, ..PlanRequest::default() };
    Plan::resolve(&find("randrw").unwrap(), &facts, &request).expect_err("it cannot be done").to_string()
}

#[test]
fn what_cannot_be_is_refused_with_the_flag() {
    assert!(refused(&[("depth", "4")]).contains("--depth"));
    assert!(refused(&[("mix", "101")]).contains("--mix"));
    assert!(refused(&[("mix", "raed")]).contains("--mix"));
    assert!(refused(&[("verify", "true"), ("block_size", "1000")]).contains("--block-size"));
    assert!(refused(&[("verify", "true"), ("engine", "null")]).contains("--verify"));
    assert!(refused(&[("block_size", "2m"), ("file_size", "1m")]).contains("--file-size"));
}

#[test]
fn what_is_verified_is_right_with_each_engine_and_read_back_at_the_end() {
    for engine in [&[("engine", "sync")][..], &[("engine", "io_uring"), ("depth", "16"), ("fsync", "7")]] {
        let report = report(&[engine, &[("verify", "true"), ("threads", "2"), ("warmup", "100ms")]].concat());
        assert_eq!(report.phases, ["fill", "warmup", "run", "verify"]);
        let verified: u64 = report.of("verify", "verify").map(|record| record.bytes).sum();
        assert_eq!(verified, 2 << 20, "{engine:?}");
    }
}

/// Changes blocks of the file while the load reads and writes others: each change must be named, with its place.
#[test]
fn damage_is_named_with_file_and_offset() {
    let (_home, plan) = planned(&[("verify", "true"), ("mix", "read"), ("runtime", "1s"), ("file_size", "64k")]);
    let path = load::data::file_path(&plan.data_directories[0], &plan.file_sets[0], 0);
    let mut conductor = start(plan);
    let mut report = RunReport::default();
    report.poll_until(&mut conductor, |report| report.phases.iter().any(|phase| phase == "run"));
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let mut block = [0; 4096];
    file.read_exact_at(&mut block, 8192).unwrap();
    file.write_all_at(&block, 12288).unwrap();
    file.write_all_at(&[9; 100], 20480 + 600).unwrap();
    file.set_len(60 << 10).unwrap();
    report.poll_until(&mut conductor, |_| false);
    assert_eq!(report.end, Some(LoadEvent::Finished));
    let failed = |class: &str| {
        let of_class = report.operations.iter().filter(|o| o.class == class && o.kind == OperationKind::Failed);
        let mut failed: Vec<_> = of_class.map(|o| (o.offset_bytes.unwrap(), o.fault.unwrap())).collect();
        assert!(report.operations.iter().all(|o| o.path.as_deref() == Some(path.to_str().unwrap())));
        failed.sort_by_key(|(offset, _)| *offset);
        failed.dedup();
        failed
    };
    let expected = [(12288, Fault::Misplaced), (20480 + 512, Fault::Wrong), (60 << 10, Fault::ShortRead)];
    assert_eq!(failed("read"), expected, "while it runs");
    let at_the_end = failed("verify");
    assert!(expected.iter().all(|damage| at_the_end.contains(damage)), "{at_the_end:?}");
}
