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
    let directory = access::Directory::open(data).unwrap();
    Marker::new("r", 0, FillState::Filling, &plan.file_sets).write(&directory).unwrap();
    assert_eq!(filled(&plan), (5_000, 0));
    assert!(matches!(data_directory_status("r", home.path()),
            DataDirectoryStatus::Ours(marker) if marker.state == FillState::Complete));
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
    assert!(matches!(data_directory_status("r", home.path()),
            DataDirectoryStatus::Ours(marker) if marker.state == FillState::Filling));
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

/// Who has made the marker may have made links, too.
#[test]
fn no_link_below_a_directory_with_a_marker_is_followed_by_a_fill() {
    use std::os::unix::fs::symlink;
    let home = tempfile::tempdir().unwrap();
    let victims = home.path().join("victims");
    fs::create_dir_all(victims.join("0000")).unwrap();
    for name in ["file", "0000/000", "0000/002", "0000/999"] {
        fs::write(victims.join(name), "kept").unwrap();
    }
    let plan = plan(home.path(), &[]);
    let data = &plan.data_directories[0];
    type Spoil<'a> = &'a dyn Fn(&Path);
    let spoils: [(&str, Spoil<'_>); 5] = [
        ("a file", &|data| symlink(victims.join("file"), data.join("a/0000/002")).unwrap()),
        ("a directory", &|data| symlink(victims.join("0000"), data.join("a/0000")).unwrap()),
        ("a set", &|data| symlink(&victims, data.join("a")).unwrap()),
        ("the new marker", &|data| symlink(victims.join("file"), data.join(".stallscope.new")).unwrap()),
        ("a second name", &|data| fs::hard_link(victims.join("file"), data.join("a/0000/002")).unwrap()),
    ];
    for (name, spoil) in spoils {
        filled(&plan);
        let spoiled =
            [("a file", "a/0000/002"), ("a second name", "a/0000/002"), ("a directory", "a/0000"), ("a set", "a")];
        if let Some((_, path)) = spoiled.iter().find(|(what, _)| *what == name) {
            let path = data.join(path);
            let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        }
        // Something is missing, so that the marker is written as well.
        fs::remove_file(data.join("b/0000/007")).unwrap();
        spoil(data);
        filled(&plan);
        assert!(sizes_are_right(data, &plan.file_sets), "{name}");
        let text = |name: &str| fs::read_to_string(victims.join(name)).unwrap();
        for file in ["file", "0000/000", "0000/002", "0000/999"] {
            assert_eq!(text(file), "kept", "{name}: {file}");
        }
        assert!(!data.join("a/0000").is_symlink() && !data.join(".stallscope.new").is_symlink(), "{name}");
    }
    remove::data_directory("r", data).unwrap();
}

#[test]
fn data_in_a_directory_of_another_user_is_foreign() {
    use std::os::unix::fs::{PermissionsExt, chown};
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: root alone can make directories of another user");
    }
    let home = tempfile::tempdir().unwrap();
    let first = plan(home.path(), &[]);
    let data = &first.data_directories[0];
    filled(&first);
    chown(data, Some(4242), None).unwrap();
    let refused = plan(home.path(), &[]).refusals;
    assert!(refused.iter().any(|refusal| refusal.what.contains("belongs to user 4242")), "{refused:?}");
    chown(data, Some(0), None).unwrap();
    fs::set_permissions(data, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = plan(home.path(), &[]).refusals;
    assert!(refused.iter().any(|refusal| refusal.what.contains("written to by every user")), "{refused:?}");
    let board = Board::create(first.board_shape()).unwrap().1;
    assert!(matches!(fill(&first.data_set(), &board), Err(LoadError::Foreign { .. })));
}
