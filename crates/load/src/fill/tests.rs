use std::fs;
use std::path::Path;

use super::fill;
use crate::LoadError;
use crate::board::{Board, LoadCommand};
use crate::data::{DataDirectoryStatus, FileSet, FillState, MARKER, Marker, data_directory_status, file_path, remove};
use crate::facts::MachineFacts;
use crate::plan::{Plan, PlanRequest};
use crate::recipe::Recipe;

const RECIPE: &str = r#"name = "r"
about = "a"
[variables.n]
kind = "count"
default = 3
help = ""
[variables.bytes]
kind = "size"
default = "5000b"
help = ""
[[phase]]
name = "fill"
kind = "fill"
[[phase]]
name = "run"
kind = "run"
duration = "1s"
[files.a]
count = "n"
size = "bytes"
[files.b]
count = 1001
size = "1b"
[[actor]]
name = "x"
count = 1
[[actor.step]]
do = "read"
from = "a"
"#;

fn plan(directory: &Path, settings: &[(&str, &str)]) -> Plan {
    let recipe = Recipe::parse("x.toml", RECIPE).unwrap();
    let facts = MachineFacts::gather("r", &[directory.to_owned()], None).unwrap();
    let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Plan::resolve(&recipe, &facts, &PlanRequest { settings, ..PlanRequest::default() }).unwrap()
}

/// Fills and returns the bytes written and the directories reused.
fn filled(plan: &Plan) -> (u64, u64) {
    let board = Board::create(plan.board_shape()).unwrap().1;
    fill(&plan.data_set(), &board).unwrap();
    (board.fill_progress().0, board.reused_directories())
}

fn sizes_are_right(directory: &Path, sets: &[FileSet]) -> bool {
    sets.iter().all(|set| {
        (0..set.files).all(|file| fs::metadata(file_path(directory, set, file)).unwrap().len() == set.size_bytes)
    })
}

#[test]
fn a_set_is_filled_reused_and_adjusted_in_place() {
    let home = tempfile::tempdir().unwrap();
    let first = plan(home.path(), &[]);
    let data = first.data_directories[0].clone();
    assert_eq!(filled(&first), (15_000 + 1001, 0));
    assert!(sizes_are_right(&data, &first.file_sets));
    assert_eq!(filled(&plan(home.path(), &[])), (0, 1));
    let more = plan(home.path(), &[("n", "5")]);
    assert_eq!(more.totals.bytes_to_write, 10_000);
    assert_eq!(filled(&more), (10_000, 0));
    let other = plan(home.path(), &[("n", "2"), ("bytes", "100b")]);
    assert_eq!(filled(&other), (200, 0));
    assert!(sizes_are_right(&data, &other.file_sets));
    assert!(!data.join("a/0000/002").exists());
    remove::data_directory("r", &data).unwrap();
    assert!(!data.exists());
}

#[test]
fn a_damaged_or_incomplete_set_is_repaired() {
    let home = tempfile::tempdir().unwrap();
    let plan = plan(home.path(), &[]);
    let data = &plan.data_directories[0];
    filled(&plan);
    fs::write(data.join("a/0000/001"), "short").unwrap();
    assert_eq!(filled(&plan), (5_000, 0));
    fs::remove_file(data.join("a/0000/000")).unwrap();
    Marker::new("r", 0, FillState::Filling, &plan.file_sets).write(data).unwrap();
    assert_eq!(filled(&plan), (5_000, 0));
    assert!(
        matches!(data_directory_status("r", home.path()), DataDirectoryStatus::Ours(marker) if marker.state == FillState::Complete)
    );
}

#[test]
fn directories_in_use_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let first = plan(home.path(), &[]);
    let data = &first.data_directories[0];
    let board = Board::create(first.board_shape()).unwrap().1;
    let used = fill(&first.data_set(), &board).unwrap();
    assert_eq!(data_directory_status("r", home.path()), DataDirectoryStatus::InUse);
    let second = plan(home.path(), &[]);
    assert!(second.refusals[0].what.contains("another run"), "{:?}", second.refusals);
    assert!(matches!(fill(&second.data_set(), &board), Err(LoadError::InUse { .. })));
    assert!(matches!(remove::data_directory("r", data), Err(LoadError::InUse { .. })));
    assert!(sizes_are_right(data, &first.file_sets));
    drop(used);
    assert_eq!(filled(&second).1, 1);
}

#[test]
fn a_stopped_fill_leaves_its_marker() {
    let home = tempfile::tempdir().unwrap();
    let plan = plan(home.path(), &[]);
    let board = Board::create(plan.board_shape()).unwrap().1;
    board.give(LoadCommand::Stop);
    assert!(matches!(fill(&plan.data_set(), &board), Err(LoadError::Stopped)));
    assert!(
        matches!(data_directory_status("r", home.path()), DataDirectoryStatus::Ours(marker) if marker.state == FillState::Filling)
    );
}

#[test]
fn foreign_directories_are_neither_filled_nor_removed() {
    let marker = || serde_json::to_string(&Marker::new("other", 1, FillState::Complete, &[])).unwrap();
    type Make<'a> = &'a dyn Fn(&Path);
    let cases: [(&str, Make<'_>); 5] = [
        ("no marker", &|data| fs::write(data.join("precious"), "x").unwrap()),
        ("a marker of something else", &|data| fs::write(data.join(MARKER), "{}").unwrap()),
        ("another recipe's marker", &|data| fs::write(data.join(MARKER), marker()).unwrap()),
        ("a marker that is a link", &|data| std::os::unix::fs::symlink("/etc/hostname", data.join(MARKER)).unwrap()),
        ("a marker that is a directory", &|data| fs::create_dir(data.join(MARKER)).unwrap()),
    ];
    for (name, make) in cases {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("stallscope-r");
        fs::create_dir(&data).unwrap();
        make(&data);
        let before = fs::read_dir(&data).unwrap().count();
        let plan = plan(home.path(), &[]);
        assert_eq!(plan.refusals.len(), 1, "{name}");
        let board = Board::create(plan.board_shape()).unwrap().1;
        assert!(matches!(fill(&plan.data_set(), &board), Err(LoadError::Foreign { .. })), "{name}");
        assert!(matches!(remove::data_directory("r", &data), Err(LoadError::Foreign { .. })), "{name}");
        assert_eq!(fs::read_dir(&data).unwrap().count(), before, "{name}");
    }
}

#[test]
fn links_are_removed_and_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let precious = home.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "x").unwrap();
    let plan = plan(home.path(), &[]);
    let data = &plan.data_directories[0];
    filled(&plan);
    std::os::unix::fs::symlink(&precious, data.join("a/link")).unwrap();
    remove::data_directory("r", data).unwrap();
    assert!(precious.join("file").exists());
    std::os::unix::fs::symlink(&precious, home.path().join("stallscope-r")).unwrap();
    assert!(matches!(remove::data_directory("r", data), Err(LoadError::Foreign { .. })));
}

#[test]
fn an_empty_directory_of_that_name_may_be_used() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("stallscope-r")).unwrap();
    assert_eq!(filled(&plan(home.path(), &[])).1, 0);
    assert_eq!(data_directory_status("q", home.path()), DataDirectoryStatus::Absent);
}
