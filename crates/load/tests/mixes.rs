//! The workload of several sources, and its siblings, for real.

mod running;

use std::path::Path;

use load::catalogue::find;
use load::conductor::LoadEvent;
use running::{RunReport, plan, start};

const SMALL: [(&str, &str); 9] = [
    ("files", "300"),
    ("file_size", "4k"),
    ("pack", "1m"),
    ("mails", "70"),
    ("mail_size", "2k"),
    ("batch", "20"),
    ("times", "2"),
    ("revisions", "3"),
    ("drop", "fadvise"),
];

/// Files below a directory, and directories that hold nothing.
fn count(directory: &Path) -> (u64, u64) {
    let entries: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()).collect();
    let (mut files, mut empty) = (0, u64::from(entries.is_empty()));
    for entry in entries {
        if entry.file_type().unwrap().is_dir() {
            let inside = count(&entry.path());
            (files, empty) = (files + inside.0, empty + inside.1);
        } else {
            files += 1;
        }
    }
    (files, empty)
}

#[test]
fn revisions_are_checked_out_over_each_other_beside_a_mail_reader() {
    let home = tempfile::tempdir().unwrap();
    let report = RunReport::all(start(plan(&find("multi-source").unwrap(), home.path(), &SMALL)));
    assert_eq!((report.end.as_ref(), report.errors()), (Some(&LoadEvent::Finished), 0), "{:#?}", report.operations);
    assert_eq!(report.phases, ["fill", "prepare", "run"]);
    assert_eq!((report.count("prepare", "checkout"), report.count("prepare", "write")), (1, 70));
    assert_eq!((report.count("run", "checkout"), report.count("run", "sync"), report.count("run", "find")), (6, 6, 1));
    let data = home.path().join("stallscope-multi-source");
    let made = report.count("prepare", "create") + report.count("run", "create");
    let (files, empty) = count(&data.join("tree"));
    assert_eq!(made - report.count("run", "unlink"), files, "each created file is removed or exists");
    assert_eq!(empty, 0, "directories go with their last file");
    // The last revision is an old one, without the files that only new ones have.
    assert!((100..200).contains(&files), "{files}");
    assert_eq!(report.count("run", "read"), report.count("run", "create"), "each new file comes from the pack");
    assert_eq!(count(&data.join("mails")), (70, 0));
    let (mails, batches) = (report.count("run", "mail"), report.count("run", "batch_of_mails"));
    assert!(mails >= batches * 20 && (batches > 0 || mails < 20), "{mails} mails in {batches} batches");
}

#[test]
fn the_same_seed_makes_the_same_trees() {
    let checked_out = || {
        let home = tempfile::tempdir().unwrap();
        let report = RunReport::all(start(plan(&find("multi-source").unwrap(), home.path(), &SMALL)));
        (report.count("run", "create"), report.count("run", "unlink"), report.count("run", "stat"))
    };
    assert_eq!(checked_out(), checked_out());
}

#[test]
fn probes_come_at_their_rate_beside_a_writer() {
    for (name, class) in [("read-latency", "read"), ("write-latency", "write"), ("sync-latency", "sync")] {
        let home = tempfile::tempdir().unwrap();
        let settings = [("runtime", "1s"), ("pause", "100ms"), ("stream_size", "1m"), ("writers", "1")];
        let report = RunReport::all(start(plan(&find(name).unwrap(), home.path(), &settings)));
        assert_eq!((report.end.as_ref(), report.errors()), (Some(&LoadEvent::Finished), 0), "{name}");
        // A probe that takes longer than the run is not counted.
        let probes = report.count("run", class);
        assert!(probes <= 12 && report.count("run", "stream") > 0, "{name}: {probes}");
        assert_eq!(report.of("run", class).map(|record| record.bytes).sum::<u64>() > 0, class != "sync" && probes > 0);
    }
}

/// A long checkout is no stall and is not reported as stuck.
#[test]
fn what_is_made_of_others_is_not_stuck() {
    let home = tempfile::tempdir().unwrap();
    let mut plan = plan(&find("multi-source").unwrap(), home.path(), &SMALL);
    plan.slower_than_ns = 1;
    let report = RunReport::all(start(plan));
    assert_eq!(report.end, Some(LoadEvent::Finished));
    let stuck = |class: &str| {
        let of_class = |operation: &&model::operation::OperationRecord| operation.class == class;
        report.operations.iter().filter(of_class).filter(|o| o.kind == model::operation::OperationKind::Stuck).count()
    };
    assert_eq!((stuck("checkout"), stuck("batch_of_mails")), (0, 0));
}
