use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Register;
use crate::{MARKER, Owner, Resource, RigError, Roots};

/// Called after each resource is registered and before it is made, for the tests that kill a program in between.
pub(super) fn die_if_due(id: u64) {
    if std::env::var("RIG_TEST_DIE_AT").is_ok_and(|due| due == id.to_string()) {
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
    }
}

fn open(folder: &Path) -> (Register, Vec<crate::Removed>) {
    Register::open_in(&folder.join("register"), Roots::default()).unwrap()
}

fn directory(path: &Path) -> Resource {
    Resource::Directory { path: path.to_owned(), marker: MARKER.into() }
}

fn marked(path: PathBuf) -> PathBuf {
    fs::create_dir(&path).unwrap();
    fs::write(path.join(MARKER), "").unwrap();
    fs::create_dir(path.join("below")).unwrap();
    fs::write(path.join("below/file"), "").unwrap();
    path
}

/// The file of a dead program, with these lines.
fn dead(folder: &Path, lines: &str) -> PathBuf {
    let owner = Owner { pid: 1 << 30, start_ticks: 1, boot_id: "earlier".into() };
    let path = folder.join("register").join("1073741824-1-earlier-0.json");
    let owner = serde_json::to_string(&owner).unwrap();
    fs::write(&path, format!("{{\"line\":\"owner\",\"owner\":{owner}}}\n{lines}")).unwrap();
    path
}

fn made(id: u64, path: &Path) -> String {
    format!("{{\"line\":\"made\",\"id\":{id},\"made\":{}}}\n", serde_json::to_string(&directory(path)).unwrap())
}

#[test]
fn the_things_of_a_dead_program_are_removed_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let [here, gone] = ["a", "b"].map(|name| folder.path().join(name));
    let here = marked(here);
    let file = dead(folder.path(), &(made(0, &here) + &made(1, &gone)));
    let (_register, removed) = open(folder.path());
    assert_eq!(removed.len(), 1, "{removed:?}");
    assert_eq!(
        removed[0].sentence,
        format!("removed directory {}, left by process 1073741824, which is dead", here.display())
    );
    assert!(!here.exists() && !file.exists());
}

#[test]
fn a_thing_not_proved_ours_stays_and_stays_registered() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let theirs = folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("precious"), "").unwrap();
    let file = dead(folder.path(), &made(0, &theirs));
    for _ in 0..2 {
        let (_register, removed) = open(folder.path());
        assert_eq!(removed.len(), 1);
        assert!(!removed[0].complete && removed[0].sentence.contains("it may not be ours"), "{removed:?}");
        assert!(theirs.join("precious").exists() && file.exists());
    }
}

#[test]
fn a_link_to_a_directory_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let target = marked(folder.path().join("target"));
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    dead(folder.path(), &made(0, &link));
    let (_register, removed) = open(folder.path());
    assert!(!removed[0].complete, "{removed:?}");
    assert!(target.join("below/file").exists());
}

#[test]
fn a_file_cut_at_any_byte_is_read_up_to_its_last_whole_line() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    let file = dead(folder.path(), &(made(0, &a) + &made(1, &b)));
    let whole = fs::read(&file).unwrap();
    let line_ends: Vec<_> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    for cut in line_ends[0] + 1..=whole.len() {
        let a = marked(a.clone());
        fs::write(&file, &whole[..cut]).unwrap();
        let (_register, removed) = open(folder.path());
        assert_eq!(removed.len(), usize::from(cut > line_ends[1]), "cut at {cut}");
        if a.exists() {
            fs::remove_dir_all(a).unwrap();
        }
    }
}

#[test]
fn a_living_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (first, _) = open(folder.path());
    let path = marked(folder.path().join("a"));
    let entry = first.enter(directory(&path)).unwrap();
    let (_second, removed) = open(folder.path());
    assert_eq!(removed, []);
    assert!(path.exists());
    assert!(first.undo(entry).unwrap().complete);
    assert!(!path.exists());
}

/// A flight recorder that runs for days holds debugfs, and another program was killed.
#[test]
fn a_thing_shared_with_a_living_program_is_left_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let (living, _) = open(folder.path());
    // The mount there is not a debugfs: an attempt to unmount it would be reported.
    let point = PathBuf::from("/proc");
    let shared = Resource::Mount { point, source: "nobody's".into(), fs_type: "debugfs".into() };
    let line = format!("{{\"line\":\"made\",\"id\":0,\"made\":{}}}\n", serde_json::to_string(&shared).unwrap());
    let file = dead(folder.path(), &line);
    let (_second, removed) = open(folder.path());
    assert_eq!(removed, []);
    assert!(!file.exists());
    drop(living);
}

#[test]
fn a_directory_that_another_run_uses_is_left_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let (register, _) = open(folder.path());
    let path = marked(folder.path().join("a"));
    let entry = register.enter(directory(&path)).unwrap();
    let user = fs::File::open(&path).unwrap();
    rustix::fs::flock(&user, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let left = register.undo(entry).unwrap();
    assert!(left.complete && left.sentence.contains("another run"), "{left}");
    drop((user, register));
    assert_eq!(open(folder.path()).1, []);
    assert!(path.exists());
}

#[test]
fn an_empty_register_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (register, _) = open(folder.path());
    let entry = register.enter(directory(&folder.path().join("never made"))).unwrap();
    assert_eq!(fs::read_dir(folder.path().join("register")).unwrap().count(), 1);
    assert_eq!(register.undo(entry), None);
    drop(register);
    assert_eq!(fs::read_dir(folder.path().join("register")).unwrap().count(), 0);
}

#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("register");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let error = Register::open_in(&path, Roots::default()).unwrap_err();
    assert!(matches!(error, RigError::Register { .. }));
    assert!(error.to_string().contains("others can write to it (mode 0777)"), "{error}");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("/", &link).unwrap();
    assert!(Register::open_in(&link, Roots::default()).unwrap_err().to_string().contains("not a directory"));
}
