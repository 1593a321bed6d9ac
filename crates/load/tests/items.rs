//! Ranks that create, visit and remove files and directories: what they leave, and what they count.

mod running;

use std::path::Path;

use load::catalogue::find;
use load::data::file_path;
use model::operation::OperationKind;
use running::{RunReport, plan, start};

const SETTINGS: [(&str, &str); 2] = [("ranks", "3"), ("items", "20")];
const ALL: u64 = 3 * 20;

fn run(directory: &Path, more: &[(&str, &str)]) -> RunReport {
    RunReport::all(start(plan(&find("mdtest").unwrap(), directory, &[&SETTINGS, more].concat())))
}

/// Paths below the set's directory, directories with a slash at the end.
fn tree(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, top: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(top).unwrap().display().to_string();
            if path.is_dir() {
                found.push(name + "/");
                walk(&path, top, found);
            } else {
                found.push(name);
            }
        }
    }
    let (top, mut found) = (folder.join("stallscope-mdtest/items"), Vec::new());
    walk(&top, &top, &mut found);
    found.sort();
    found
}

#[test]
fn all_phases_of_all_iterations_act_on_each_item_once() {
    for unique in ["false", "true"] {
        let folder = tempfile::tempdir().unwrap();
        let more = [("iterations", "2"), ("unique_directory", unique), ("write_bytes", "3k"), ("read_bytes", "3k")];
        let report =
            run(folder.path(), &[&more[..], &[("stride", "1"), ("random", "true"), ("fsync", "true")]].concat());
        assert_eq!(report.errors(), 0, "{unique}");
        let iteration = ["tree-creation", "directory-creation", "directory-stat", "directory-removal"];
        let files = ["file-creation", "file-stat", "file-read", "file-removal", "tree-removal"];
        let phases = [&["prepare"][..], &iteration, &files, &iteration, &files].concat();
        assert_eq!(report.phases, phases);
        for (phase, class) in [
            ("directory-creation", "mkdir"),
            ("directory-stat", "stat"),
            ("directory-removal", "rmdir"),
            ("file-creation", "create"),
            ("file-creation", "write"),
            ("file-creation", "fsync"),
            ("file-creation", "close"),
            ("file-stat", "stat"),
            ("file-read", "open"),
            ("file-read", "read"),
            ("file-removal", "unlink"),
        ] {
            assert_eq!(report.count(phase, class), 2 * ALL, "{phase} {class}");
        }
        let trees = if unique == "true" { 3 } else { 1 };
        assert_eq!(
            (report.count("tree-creation", "mkdir"), report.count("tree-removal", "rmdir")),
            (2 * trees, 2 * trees)
        );
        for (phase, members) in &report.job_threads {
            let items: u64 = members.iter().map(|member| member.items).sum();
            assert_eq!(items, if phase.starts_with("tree") { trees } else { ALL }, "{phase}");
        }
        assert_eq!(tree(folder.path()), Vec::<String>::new());
    }
}

#[test]
fn a_tree_holds_what_mdtest_would_create() {
    let folder = tempfile::tempdir().unwrap();
    let more = [("create", "true"), ("depth", "1"), ("branch", "2"), ("leaves", "true"), ("write_bytes", "100b")];
    let report = run(folder.path(), &[&more[..], &[("per_directory", "2")]].concat());
    assert_eq!((report.errors(), report.count("file-creation", "create")), (0, 3 * 4));
    let mut expected = vec!["test-dir.0-0/".to_owned(), "test-dir.0-0/mdtest_tree.0/".to_owned()];
    for leaf in 1..=2 {
        let directory = format!("test-dir.0-0/mdtest_tree.0/mdtest_tree.{leaf}/");
        for (rank, item) in (0..3).flat_map(|rank| (0..2).map(move |item| (rank, leaf * 2 + item))) {
            expected.push(format!("{directory}dir.mdtest.{rank}.{item}/"));
            expected.push(format!("{directory}file.mdtest.{rank}.{item}"));
        }
        expected.push(directory);
    }
    expected.sort();
    assert_eq!(tree(folder.path()), expected);
    let file = folder.path().join("stallscope-mdtest/items/test-dir.0-0/mdtest_tree.0/mdtest_tree.2/file.mdtest.2.5");
    assert_eq!(std::fs::metadata(file).unwrap().len(), 100);
}

#[test]
fn a_selected_phase_has_what_it_needs_created_unmeasured() {
    let folder = tempfile::tempdir().unwrap();
    let report = run(folder.path(), &[("stat", "true"), ("files_only", "true"), ("iterations", "2")]);
    let iteration = ["unmeasured-tree", "unmeasured-files", "file-stat"];
    assert_eq!(report.phases, [&["prepare"][..], &iteration, &iteration].concat());
    assert_eq!((report.errors(), report.count("file-stat", "stat")), (0, 2 * ALL));
    assert_eq!(tree(folder.path()).iter().filter(|path| path.contains("file.mdtest")).count() as u64, 2 * ALL);
}

/// A file that is missing fails its operations, under its path.
#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let more = [("stat", "true"), ("files_only", "true"), ("items", "3000"), ("iterations", "4"), ("ranks", "1")];
    let plan = plan(&find("mdtest").unwrap(), folder.path(), &more);
    let last = file_path(&plan.data_directories[0], &plan.file_sets[0], 0);
    assert!(last.ends_with("test-dir.0-0/mdtest_tree.0/dir.mdtest.0.0"), "{}", last.display());
    let mut conductor = start(plan);
    let mut report = RunReport::default();
    let victim = folder.path().join("stallscope-mdtest/items/test-dir.0-3/mdtest_tree.0/file.mdtest.0.7");
    report.poll_until(&mut conductor, |_| std::fs::remove_file(&victim).is_ok());
    report.poll_until(&mut conductor, |_| false);
    let failed: Vec<_> = report.operations.iter().filter(|operation| operation.kind == OperationKind::Failed).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].path.as_ref().unwrap().ends_with("test-dir.0-3/mdtest_tree.0/file.mdtest.0.7"), "{failed:?}");
}
