//! Streams: what is on the disk afterwards, and what is counted where the disk gives less than it should.

mod running;

use std::path::Path;

use load::catalogue::find;
use load::recipe::Recipe;
use model::operation::{Fault, OperationKind};
use running::{RunReport, plan, start};

fn shipped(name: &str, directory: &Path, settings: &[(&str, &str)]) -> RunReport {
    RunReport::all(start(plan(&find(name).unwrap(), directory, settings)))
}

fn run(recipe: &str, directory: &Path) -> RunReport {
    RunReport::all(start(plan(&Recipe::parse("streams.toml", recipe).unwrap(), directory, &[])))
}

/// A recipe of phases of one process each, all with one set; each phase is a name and the keys of its job.
fn recipe(size: &str, phases: &[(&str, &str)]) -> String {
    let mut text = format!(
        "name = \"streams\"\nabout = \"a\"\n[files.set]\ncount = 1\nsize = \"{size}\"\nfill = false\n[[phase]]\nname \
         = \"prepare\"\nkind = \"fill\"\n"
    );
    for (name, keys) in phases {
        text += &format!("[[phase]]\nname = \"{name}\"\nkind = \"run\"\n");
        text += &format!("[[actor]]\nname = \"{name}\"\ncount = 1\nphases = [\"{name}\"]\n");
        text += &format!("[actor.job]\ndo = \"stream\"\nset = \"set\"\n{keys}\n");
    }
    text
}

#[test]
fn a_rewrite_changes_one_byte_of_each_block_and_no_other() {
    for descriptors in ["one", "two"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stallscope-rewrite/file/0000/000");
        let settings =
            |runtime| [("size", "100k"), ("processes", "1"), ("descriptors", descriptors), ("runtime", runtime)];
        // The second run finds the file as the first left it.
        shipped("rewrite", folder.path(), &settings("0s"));
        let before = std::fs::read(&file).unwrap();
        let report = shipped("rewrite", folder.path(), &settings("0s"));
        let after = std::fs::read(&file).unwrap();
        assert_eq!((report.reused, report.count("rewrite", "rewrite"), report.errors()), (1, 13, 0));
        let changed: Vec<usize> = (0..before.len()).filter(|&byte| before[byte] != after[byte]).collect();
        // 12 blocks of 8 KiB, and 4 KiB at the end, whose number counts in its own length.
        let expected: Vec<usize> = (0..12).map(|block| block * 8192 + block).chain([96 * 1024 + 24]).collect();
        assert_eq!(changed, expected, "{descriptors} descriptors");
        assert!(changed.iter().all(|&byte| after[byte] == before[byte].wrapping_add(1)));
        assert_eq!(report.of("rewrite", "rewrite").map(|record| record.bytes).sum::<u64>(), 100 << 10);
    }
}

#[test]
fn a_rewrite_with_a_runtime_goes_through_its_file_again_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let report = shipped("rewrite", folder.path(), &[("size", "64k"), ("processes", "2"), ("runtime", "300ms")]);
    let [(_, members)] = &report.job_threads[..] else { panic!("{:?}", report.job_threads) };
    assert!(members.iter().all(|member| member.items > 8 && member.end_ns - member.start_ns >= 300_000_000));
    assert!(members.iter().all(|member| member.cpu_ns.is_some_and(|ns| ns > 0)));
    assert_eq!(report.errors(), 0);
}

#[test]
fn a_phase_that_is_not_wanted_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let phases = [("write", "action = \"write\""), ("again", "action = \"write\"")];
    let text = recipe("64k", &phases)
        .replace("name = \"write\"\nkind = \"run\"", "name = \"write\"\nkind = \"run\"\nwhen = 0");
    assert_eq!(run(&text, folder.path()).phases, ["prepare", "again"]);
    let none = text.replace("name = \"again\"\nkind = \"run\"", "name = \"again\"\nkind = \"run\"\nwhen = \"1 - 1\"");
    let facts = load::facts::MachineFacts::gather("streams", &[folder.path().to_owned()], None).unwrap();
    let request = load::plan::PlanRequest::default();
    let error =
        load::plan::Plan::resolve(&Recipe::parse("streams.toml", &none).unwrap(), &facts, &request).unwrap_err();
    assert!(error.to_string().contains("these settings skip every phase"), "{error}");
}

#[test]
fn a_file_that_ends_too_early_is_a_short_read_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let short = "action = \"write\"\nsize = \"97k\"\nblock = \"1k\"";
    let phases = [("write", short), ("rewrite", "action = \"rewrite\"\nblock = \"8k\"")];
    let report = run(&recipe("128k", &phases), folder.path());
    assert_eq!((report.count("write", "write"), report.count("rewrite", "rewrite")), (97, 16));
    let failed: Vec<_> = report.operations.iter().filter(|operation| operation.kind == OperationKind::Failed).collect();
    assert_eq!(failed.len(), 4);
    assert!(failed.iter().all(|operation| operation.fault == Some(Fault::ShortRead) && operation.errno.is_none()));
    let places: Vec<_> = failed.iter().map(|operation| operation.offset_bytes.unwrap()).collect();
    assert_eq!(places, [97 << 10, 104 << 10, 112 << 10, 120 << 10]);
    assert!(failed[0].path.as_ref().unwrap().ends_with("stallscope-streams/set/0000/000"));
}

#[test]
fn a_missing_file_is_counted_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let report = run(&recipe("128k", &[("read", "action = \"read\"")]), folder.path());
    let [failed] = &report.operations[..] else { panic!("{:?}", report.operations) };
    assert_eq!((failed.errno, report.errors()), (Some(libc::ENOENT), 1));
}

#[test]
fn seeks_read_and_some_of_them_change_a_byte() {
    let folder = tempfile::tempdir().unwrap();
    let seeks = "action = \"seek\"\nblock = \"1k\"\nseeks = 400\nupdate = \"50%\"\nfsync = true";
    let phases = [("write", "action = \"write\"\nblock = \"1m\""), ("seek", seeks)];
    let report = run(&recipe("1m", &phases), folder.path());
    assert_eq!((report.count("seek", "seek"), report.count("seek", "fsync"), report.errors()), (400, 1, 0));
    let bytes = std::fs::read(folder.path().join("stallscope-streams/set/0000/000")).unwrap();
    assert_eq!(bytes.len(), 1 << 20);
}

#[test]
fn files_lie_in_turn_in_the_directories_and_hold_what_they_should() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let paths: Vec<_> = folders.iter().map(|folder| folder.path().to_owned()).collect();
    let recipe = find("sequential-write").unwrap();
    let facts = load::facts::MachineFacts::gather(&recipe.name, &paths, None).unwrap();
    let settings = [("processes", "3"), ("size", "300k"), ("block", "64k"), ("sync_each", "true")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let request = load::plan::PlanRequest { settings, seed: 1, force: true, ..Default::default() };
    let report = RunReport::all(start(load::plan::Plan::resolve(&recipe, &facts, &request).unwrap()));
    assert_eq!((report.count("write", "write"), report.count("write", "fsync"), report.errors()), (15, 15, 0));
    let size = |folder: usize, name: &str| {
        let file = folders[folder].path().join("stallscope-sequential-write/file/0000").join(name);
        std::fs::metadata(file).map(|metadata| metadata.len()).ok()
    };
    assert_eq!(
        [size(0, "000"), size(0, "001"), size(1, "000"), size(1, "001")],
        [Some(307_200), Some(307_200), Some(307_200), None]
    );
}
