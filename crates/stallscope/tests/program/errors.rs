//! Failing operations are counted by kind, with the first file and offset of each, and set the exit code.

use std::fs::File;
use std::path::Path;

use serde_json::Value;

use crate::stage::disk::{Tmpfs, fill_up};
use crate::stage::{Disk, Ended, Running, folder, is_root, run};

/// Two threads read or write eight files at random, for long enough to damage them on a busy machine.
fn recipe(folder: &Path, steps: &str) -> String {
    let text = format!(
        r#"
name = "errors"
about = "works on files that somebody spoils"

[[phase]]
name = "fill"
kind = "fill"

[[phase]]
name = "run"
kind = "run"
duration = "8s"

[files.set]
count = 8
size = "1m"

[[actor]]
name = "actor"
count = 2
{steps}
"#
    );
    let path = folder.join("errors.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// The kinds of failure of a class, most frequent first.
fn of_class<'a>(document: &'a Value, class: &str) -> Vec<&'a Value> {
    document["failures"].as_array().unwrap().iter().filter(|failure| failure["class"] == class).collect()
}

/// Counts by kind add up to the count of the class.
fn add_up(document: &Value) {
    for (class, figures) in document["operations"].as_object().unwrap() {
        let kinds = of_class(document, class);
        let sum: u64 =
            kinds.iter().filter(|kind| kind["measured"] == true).map(|kind| kind["count"].as_u64().unwrap()).sum();
        assert_eq!(sum, figures["errors"].as_u64().unwrap(), "{class}: {:#}", document["failures"]);
    }
}

const WRITE_AND_SYNC: &str = r#"
[[actor.step]]
do = "write"
from = "set"
size = "64k"

[[actor.step]]
do = "fsync"
"#;

/// Runs the recipe on a disk, and damages the disk when its files exist.
fn spoiled(disk: &Path, steps: &str, spoil: impl FnOnce()) -> (Ended, Value) {
    let folder = folder();
    let recipe = recipe(folder.path(), steps);
    let out = folder.path().join("run");
    let words = format!("run {recipe} --no-trace --json --out {} {}", out.display(), disk.display());
    let mut program = Running::start(&words);
    filled(&mut program, &disk.join("stallscope-errors"));
    // Run undamaged for a moment.
    std::thread::sleep(std::time::Duration::from_millis(300));
    spoil();
    let ended = program.wait().expect_code(1);
    let document = ended.document();
    assert_eq!(document["ended"], "done", "{}", ended.stderr);
    add_up(&document);
    (ended, document)
}

fn filled(program: &mut Running, data: &Path) {
    let marker = data.join(".stallscope");
    program.wait_until("the set is filled", |_| {
        std::fs::read_to_string(&marker).is_ok_and(|text| text.contains("complete"))
    });
}

#[test]
fn short_reads_are_reported_with_file_and_offset() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let steps = "[[actor.step]]\ndo = \"read\"\nfrom = \"set\"\nsize = \"64k\"";
    let recipe = recipe(folder.path(), steps);
    let out = folder.path().join("run");
    let mut program =
        Running::start(&format!("run {recipe} --no-trace --json --out {} {}", out.display(), data.path().display()));
    let set = data.path().join("stallscope-errors");
    filled(&mut program, &set);
    File::options().write(true).open(set.join("set/0000/003")).unwrap().set_len(100_000).unwrap();
    let document = program.wait().expect_code(1).document();
    add_up(&document);
    let kinds = of_class(&document, "read");
    assert_eq!((kinds.len(), &kinds[0]["error"], &kinds[0]["files"]), (1, &"short_read".into(), &1.into()));
    assert!(kinds[0]["errno"].is_null());
    let first = &kinds[0]["first"];
    assert!(first["path"].as_str().unwrap().ends_with("stallscope-errors/set/0000/003"), "{first}");
    let offset = first["offset_bytes"].as_u64().unwrap();
    assert!(offset == 100_000 || offset > 100_000 && offset.is_multiple_of(65536), "{offset}");
}

/// Buffered writes succeed; only fsync reports that they did not reach the disk: with the error of the disk, or of the
/// journal that could not be written either.
#[test]
fn errors_that_only_fsync_reports_are_operations_too() {
    if !is_root("a disk that takes no more") {
        return;
    }
    let memory = Tmpfs::new(96);
    let disk = Disk::ext4_in(memory.path(), 64 << 20);
    let (_, document) = spoiled(disk.path(), WRITE_AND_SYNC, || {
        disk.fail_beyond(1 << 20);
        fill_up(memory.path());
    });
    let kinds = of_class(&document, "fsync");
    println!("{:#}", document["failures"]);
    assert!(kinds.iter().any(|kind| kind["error"] == "EIO" || kind["error"] == "ENOSPC"), "{:#}", document["failures"]);
    assert!(kinds[0]["first"]["path"].as_str().unwrap().contains("stallscope-errors/set/"));
}

#[test]
fn a_file_system_that_shuts_down_fails_everything_with_eio() {
    if !is_root("XFS on a loop device") {
        return;
    }
    let disk = Disk::xfs();
    let (ended, document) = spoiled(disk.path(), WRITE_AND_SYNC, || disk.shut_down());
    println!("{:#}\n{}", document["failures"], ended.stderr);
    assert!(of_class(&document, "write").iter().all(|kind| kind["error"] == "EIO"), "{:#}", document["failures"]);
    assert!(!of_class(&document, "write").is_empty());
}

#[test]
fn a_file_system_that_turns_read_only_fails_writes_with_erofs() {
    if !is_root("ext4 on a loop device") {
        return;
    }
    let disk = Disk::ext4(64 << 20);
    let (ended, document) = spoiled(disk.path(), WRITE_AND_SYNC, || disk.find_an_error());
    println!("{:#}\n{}", document["failures"], ended.stderr);
    let kinds = of_class(&document, "write");
    assert!(kinds.iter().any(|kind| kind["error"] == "EROFS"), "{:#}", document["failures"]);
}

#[test]
fn enospc_fails_only_the_operations_without_space() {
    if !is_root("a disk that fills up") {
        return;
    }
    // In memory, where it fills up at once.
    let memory = folder();
    let disk = Disk::ext4_in(memory.path(), 48 << 20);
    std::fs::write(disk.path().join("precious"), "somebody's").unwrap();
    let steps = "[[actor.step]]\ndo = \"create\"\nfrom = \"set\"";
    let (_, document) = spoiled(disk.path(), steps, || {
        fill_up(disk.path());
    });
    let kinds = of_class(&document, "create");
    assert_eq!(kinds[0]["error"], "ENOSPC", "{:#}", document["failures"]);
    assert!(kinds[0]["first"]["path"].is_string());
    assert_eq!(std::fs::read_to_string(disk.path().join("precious")).unwrap(), "somebody's");
    assert!(!disk.path().join("stallscope-errors").exists(), "ours is gone");
}

#[test]
fn foreign_files_are_left_alone() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let recipe = recipe(folder.path(), WRITE_AND_SYNC);
    let foreign = data.path().join("stallscope-errors");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("precious"), "somebody's").unwrap();
    let ended = run(&format!("run {recipe} --out {} {}", folder.path().join("run").display(), data.path().display()));
    let ended = ended.expect_code(3);
    assert!(ended.error().contains("not touched"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(foreign.join("precious")).unwrap(), "somebody's");
}

/// Failures before the measurement window fail the run, too.
#[test]
fn a_tree_that_does_not_fit_is_an_error_of_the_preparation() {
    if !is_root("a disk that fills up") {
        return;
    }
    // ext4 takes 10 ms to find that it is full: only the last of the files may not fit.
    let (folder, disk) = (folder(), Disk::ext4(8 << 20));
    let words = format!(
        "run multi-source --force --no-trace --drop none --seed 1 --files 450 --mails 10 --pack 1m -t 1 --revisions 2 \
         --json --out {} {}",
        folder.path().join("run").display(),
        disk.path().display()
    );
    let ended = run(&words).expect_code(1);
    let document = ended.document();
    let failures = document["failures"].as_array().unwrap();
    let unmeasured = failures.iter().find(|kind| kind["measured"] == false).unwrap();
    assert_eq!((&unmeasured["class"], &unmeasured["error"]), (&"create".into(), &"ENOSPC".into()));
    assert!(unmeasured["first"]["path"].as_str().unwrap().contains("stallscope-multi-source/tree/"));
    assert_eq!(disk.names(), Vec::<String>::new());
}
