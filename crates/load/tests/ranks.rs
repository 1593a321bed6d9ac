//! Ranks that share a file or have one each: verifies the file contents with an independent layout.

mod running;

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use load::catalogue::find;
use model::operation::{Fault, OperationKind};
use running::{RunReport, plan, start};

const SETTINGS: [(&str, &str); 4] = [("ranks", "3"), ("transfer", "1k"), ("block", "4k"), ("segments", "5")];
/// Transfers of all ranks.
const ALL: u64 = 3 * 4 * 5;

fn run(directory: &Path, more: &[(&str, &str)]) -> RunReport {
    RunReport::all(start(plan(&find("ior").unwrap(), directory, &[&SETTINGS, more].concat())))
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if !path.file_name().unwrap().to_string_lossy().starts_with('.') {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Offsets that the stamps in a file name, in their order: byte 8 of each 512 is the offset, in little-endian words.
fn offsets(file: &Path) -> Vec<u64> {
    let bytes = std::fs::read(file).unwrap();
    let units = bytes.chunks(512);
    units.map(|unit| u64::from_le_bytes(unit[8..16].try_into().unwrap())).collect()
}

#[test]
fn a_shared_file_is_whole_and_each_rank_wrote_its_part() {
    for random in ["false", "true"] {
        let folder = tempfile::tempdir().unwrap();
        let report = run(folder.path(), &[("check_write", "true"), ("random", random), ("repetitions", "2")]);
        let phases = ["prepare", "fresh", "write", "check-write", "fresh", "write", "check-write"];
        assert_eq!((report.phases.as_slice(), report.errors()), (&phases.map(str::to_owned)[..], 0));
        assert_eq!((report.count("write", "write"), report.count("check-write", "check")), (2 * ALL, 2 * ALL));
        assert_eq!((report.count("write", "open"), report.count("write", "close")), (2 * 3, 2 * 3));
        let files = files_below(folder.path());
        let [file] = &files[..] else { panic!("{files:?}") };
        assert_eq!(offsets(file), (0..ALL * 1024).step_by(512).collect::<Vec<u64>>());
        let (_, members) = report.job_threads.iter().find(|(phase, _)| phase == "write").unwrap();
        assert!(members.iter().all(|member| member.items == ALL / 3 && member.bytes == ALL / 3 * 1024));
    }
}

#[test]
fn a_file_for_each_rank_in_one_directory_or_apart() {
    for (apart, parents) in [("false", 1), ("true", 3)] {
        let folder = tempfile::tempdir().unwrap();
        let settings =
            [("file_per_process", "true"), ("unique_directory", apart), ("check_read", "true"), ("reorder", "true")];
        let report = run(folder.path(), &settings);
        assert_eq!(
            report.phases,
            ["prepare", "unmeasured-write", "read", "check-read"],
            "there is nothing to read before"
        );
        assert_eq!((report.count("read", "read"), report.count("check-read", "check"), report.errors()), (ALL, ALL, 0));
        let files = files_below(folder.path());
        assert_eq!(files.len(), 3, "{files:?}");
        let mut of_parent: HashMap<&Path, u32> = HashMap::new();
        for file in &files {
            assert_eq!(offsets(file), (0..ALL / 3 * 1024).step_by(512).collect::<Vec<u64>>());
            *of_parent.entry(file.parent().unwrap()).or_default() += 1;
        }
        assert_eq!(of_parent.len(), parents, "{files:?}");
    }
}

#[test]
fn reordered_ranks_read_what_the_next_one_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("file_per_process", "true"), ("write", "true"), ("read", "true"), ("reorder", "true")];
    let mut plan = plan(&find("ior").unwrap(), folder.path(), &[&SETTINGS, &settings[..]].concat());
    // Each operation is kept, with its thread and its file.
    plan.slower_than_ns = 0;
    let report = RunReport::all(start(plan));
    let path_of = |phase: &str, ordinal: u64| {
        let (_, members) = report.job_threads.iter().find(|(name, _)| name == phase).unwrap();
        let tid = members.iter().find(|member| member.ordinal == ordinal).unwrap().tid;
        let its = report.operations.iter().filter(|operation| operation.class == phase && operation.tid == tid);
        let mut paths: Vec<_> = its.map(|operation| operation.path.clone().unwrap()).collect();
        paths.dedup();
        assert_eq!(paths.len(), 1, "{phase} {ordinal}");
        paths.remove(0)
    };
    for rank in 0..3 {
        assert_eq!(path_of("read", rank), path_of("write", (rank + 1) % 3));
    }
    assert_eq!((report.errors(), report.count("read", "read")), (0, ALL));
}

/// Blocks overwritten behind the load's back are found and reported with their offset.
#[test]
fn a_block_of_another_place_is_found() {
    let folder = tempfile::tempdir().unwrap();
    // The first check may end before the file is damaged; the second does not.
    let settings = [("check_write", "true"), ("check_read", "true"), ("repetitions", "1"), ("segments", "3000")];
    let mut conductor = start(plan(&find("ior").unwrap(), folder.path(), &[&SETTINGS, &settings[..]].concat()));
    let mut report = RunReport::default();
    let mut damaged = false;
    report.poll_until(&mut conductor, |report| {
        if !damaged && report.phases.iter().any(|phase| phase == "check-write") {
            let file = files_below(folder.path()).remove(0);
            let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
            let mut unit = [0; 512];
            let end = file.metadata().unwrap().len();
            file.read_exact_at(&mut unit, 0).unwrap();
            file.write_all_at(&unit, end - 1024).unwrap();
            damaged = true;
        }
        false
    });
    assert!(damaged);
    let failed: Vec<_> = report.operations.iter().filter(|operation| operation.kind == OperationKind::Failed).collect();
    let last = failed.last().expect("it is found");
    let end = 3 * 4096 * 3000;
    assert_eq!((last.fault, last.offset_bytes), (Some(Fault::Misplaced), Some(end - 1024)));
    assert!(last.path.as_ref().unwrap().ends_with("stallscope-ior/shared/0000/000"));
}

#[test]
fn a_stonewall_ends_each_rank_and_reads_go_as_far_as_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("stonewall", "200ms"), ("block", "1g"), ("file_per_process", "true"), ("sync_each", "true")];
    let report = run(folder.path(), &settings);
    let (_, writers) = &report.job_threads[0];
    assert!(writers.iter().all(|member| member.end_ns - member.start_ns >= 200_000_000 && member.items > 0));
    assert_eq!(report.errors(), 0);
    let written: u64 = writers.iter().map(|member| member.bytes).sum();
    assert!(report.of("read", "read").map(|record| record.bytes).sum::<u64>() <= written);
}

/// What the time cut off was not written, and is not missed; what was written is verified, all of it and nothing else.
#[test]
fn what_was_written_for_a_time_is_verified_as_far_as_it_goes() {
    for (random, own) in [("false", "false"), ("true", "false"), ("true", "true")] {
        let folder = tempfile::tempdir().unwrap();
        let more = [("check_write", "true"), ("read", "true"), ("check_read", "true"), ("reorder", "true")];
        let cut = [("stonewall", "200ms"), ("block", "16m"), ("sync_each", "true"), ("segments", "3")];
        let report = run(folder.path(), &[&more[..], &cut, &[("random", random), ("file_per_process", own)]].concat());
        let (phase, writers) = &report.job_threads[if own == "true" { 0 } else { 1 }];
        let written: u64 = writers.iter().map(|member| member.items).sum();
        assert_eq!((phase.as_str(), report.errors()), ("write", 0), "{random} {own}");
        assert!(written > 0 && written < 3 * 3 * (16 << 10), "{written} were not cut off");
        for class in ["check-write", "check-read"] {
            assert_eq!(report.count(class, "check"), written, "{random} {own}");
        }
        assert!(report.count("read", "read") <= written);
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let refuse = |settings: &[(&str, &str)], why: &str| {
        let facts = load::facts::MachineFacts::gather("ior", &[std::env::temp_dir()], None).unwrap();
        let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let request = load::plan::PlanRequest { settings, ..Default::default() };
        let error = load::plan::Plan::resolve(&find("ior").unwrap(), &facts, &request).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refuse(&[("transfer", "3k"), ("block", "4k")], "not a multiple of a transfer");
    refuse(&[("transfer", "100"), ("block", "1000"), ("check_write", "true")], "multiple of 512 bytes");
    refuse(&[("api", "MPIIO")], "known are POSIX");
}
