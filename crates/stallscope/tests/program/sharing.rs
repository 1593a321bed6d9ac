//! What root records holds paths and command lines of all users: nobody else reads it, unless the options say so.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::stage::{Running, folder, is_root, run};

/// Mode of every file and directory from there on, with their paths.
fn modes(path: &Path) -> Vec<(PathBuf, u32)> {
    let metadata = path.symlink_metadata().unwrap();
    let mut found = vec![(path.to_owned(), metadata.mode() & 0o7777)];
    if metadata.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| found.extend(modes(&entry.unwrap().path())));
    }
    found
}

#[track_caller]
fn are(path: &Path, of_directories: u32, of_files: u32) {
    for (path, mode) in modes(path) {
        let expected = if path.is_dir() { of_directories } else { of_files };
        assert_eq!(mode, expected, "{}: {mode:o}", path.display());
    }
}

fn record(out: &Path, flags: &str) {
    run(&format!("record -q --no-trace --interval 100ms --runtime 300ms {flags} --out {}", out.display()))
        .expect_code(0);
}

/// Whether a user of that group, and of no other, can read a file.
fn can_read(gid: u32, file: &Path) -> bool {
    let user = ["--reuid=65534".to_owned(), format!("--regid={gid}"), "--clear-groups".to_owned()];
    Command::new("setpriv").args(user).args(["--", "cat"]).arg(file).output().unwrap().status.success()
}

#[test]
fn a_run_and_what_derives_from_it_are_the_owners_alone() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    // Also in a directory that exists.
    fs::create_dir(path("existing")).unwrap();
    for name in ["run", "existing"] {
        record(&path(name), "");
        are(&path(name), 0o700, 0o600);
    }
    let run_directory = path("run").display().to_string();
    for (words, made) in [
        (format!("report {run_directory} -o"), "page.html"),
        (format!("export {run_directory} --to csv -o"), "csv"),
        (format!("export {run_directory} --to openmetrics -o"), "metrics"),
        (format!("lake add {run_directory} --to"), "lake"),
        (format!("compare --a {run_directory} --b {} --svg", path("existing").display()), "chart.svg"),
    ] {
        run(&format!("{words} {}", path(made).display())).expect_code(0);
        are(&path(made), 0o700, 0o600);
    }
    // Added to by another call.
    run(&format!("lake add {} --to {}", path("existing").display(), path("lake").display())).expect_code(0);
    run(&format!("lake compact {}", path("lake").display()));
    are(&path("lake"), 0o700, 0o600);
}

#[test]
fn a_load_a_sweep_and_a_flight_recorder_keep_what_they_write_private() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("data")).unwrap();
    let small = crate::stage::SMALL;
    run(&format!("run simoop {small} -q --no-trace --out {} {}", path("load").display(), path("data").display()))
        .expect_code(0);
    are(&path("load"), 0o700, 0o600);
    let model = "name = \"m\"\nsimulate = \"osc\"\nrepetitions = 1\n[options]\npolicy = \"old\"\n";
    fs::write(path("sweep.toml"), model).unwrap();
    let sweep = |out: &str, flags: &str| {
        run(&format!("sweep {} -q {flags} --out {}", path("sweep.toml").display(), path(out).display()))
    };
    let swept = sweep("sweep", "");
    assert!(swept.code == Some(0), "{}", swept.stderr);
    are(&path("sweep"), 0o700, 0o600);
    assert_eq!(sweep("shared", "--mode 755").code, Some(0));
    are(&path("shared"), 0o755, 0o644);
    for (name, flags, of_directories, of_files) in [("flight", "", 0o700, 0o600), ("open", "--mode 755", 0o755, 0o644)]
    {
        let out = path(name);
        let words =
            format!("record --no-trace --interval 100ms --ring 10s --keep-last {flags} --out {}", out.display());
        let mut recorder = Running::start(&words);
        recorder.wait_until("a slice is written", |_| out.join("ring/slice-000001/run.json").exists());
        are(&out, of_directories, of_files);
        recorder.signal(Signal::INT);
        let ended = recorder.wait();
        assert!(fs::read_dir(&out).unwrap().count() > 1, "{}", ended.stderr);
        are(&out, of_directories, of_files);
    }
}

#[test]
fn a_run_is_shared_with_a_group_or_by_its_mode() {
    if !is_root("groups of others") {
        return;
    }
    let folder = folder();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = |name: &str| folder.path().join(name);
    record(&path("private"), "");
    record(&path("grouped"), "--group 4242");
    record(&path("named"), "--group daemon --mode 755");
    record(&path("open"), "--mode 755");
    let reads = |name: &str, gid| can_read(gid, &path(name).join("run.json"));
    assert_eq!([reads("private", 4242), reads("grouped", 4242), reads("grouped", 4243)], [false, true, false]);
    assert_eq!([reads("open", 4243), reads("named", 4243)], [true, true]);
    are(&path("grouped"), 0o2750, 0o640);
    assert!(modes(&path("grouped")).iter().all(|(path, _)| path.metadata().unwrap().gid() == 4242));
    assert_eq!(path("named").metadata().unwrap().gid(), 1);
}

#[test]
fn sharing_that_has_no_effect_or_lets_others_write_is_an_error() {
    let folder = folder();
    let out = folder.path().join("run");
    for (flags, why) in [
        ("record --mode 777", "write permission"),
        ("record --mode 600", "the owner needs"),
        ("record --mode rwx", "octal"),
        ("record --group no-such-group", "no such group"),
        ("record --group 0 --mode 700", "has no effect"),
        ("run simoop --plan --mode 755", "cannot be used with"),
        ("trial --set vm.swappiness=1 --dry-run --group 0", "cannot be used with"),
    ] {
        let ended = run(&format!("{flags} --out {}", out.display())).expect_code(2);
        assert!(ended.stderr.contains(why), "{flags}: {}", ended.stderr);
        assert!(!out.exists(), "{flags}");
    }
}
