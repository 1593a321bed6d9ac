//! Many small files: what the job `files` leaves behind, what it counts, and where it stops.

mod running;

use std::path::{Path, PathBuf};

use load::facts::MachineFacts;
use load::plan::{Plan, PlanRequest};
use load::recipe::Recipe;
use running::{RunReport, plan, start};

fn fsmark() -> Recipe {
    load::catalogue::find("fsmark").unwrap()
}

/// Runs it with these settings in one directory, and returns its report.
fn run(home: &Path, settings: &[(&str, &str)]) -> RunReport {
    RunReport::all(start(plan(&fsmark(), home, settings)))
}

/// Paths of all files of the set, within it.
fn files(home: &Path) -> Vec<String> {
    let set = home.join("stallscope-fsmark/files");
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = vec![set.clone()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push(path.strip_prefix(&set).unwrap().to_str().unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn each_sync_method_makes_its_system_calls() {
    // Files and threads: 10 and 2. What each thread adds to 10 opened to create, 30 written, 10 closed and 10 removed.
    for (method, fsyncs, syncs, reopened) in
        [(0, 0, 0, 0), (1, 20, 0, 0), (2, 2, 2, 2), (3, 20, 0, 20), (4, 20, 2, 20), (5, 20, 0, 20), (6, 20, 2, 20)]
    {
        let home = tempfile::tempdir().unwrap();
        let settings =
            [("sync", method.to_string()), ("files", "10".into()), ("threads", "2".into()), ("size", "40000".into())];
        let report = run(home.path(), &settings.each_ref().map(|(name, value)| (*name, value.as_str())));
        let count = |class| report.count("create", class);
        assert_eq!((count("create"), count("write"), count("close")), (20, 60, 20 + reopened), "method {method}");
        assert_eq!((count("fsync"), count("sync"), count("open")), (fsyncs, syncs, reopened), "method {method}");
        assert_eq!((report.count("unlink", "unlink"), report.errors()), (20, 0), "method {method}");
        assert!(files(home.path()).is_empty());
        let members = &report.job_threads[0].1;
        assert!(members.iter().all(|member| member.items == 10 && member.bytes == 400_000));
    }
}

#[test]
fn loops_keep_their_files_and_so_does_the_flag() {
    for (settings, left) in
        [(vec![("loops", "3")], 3 * 2 * 7), (vec![("keep_files", "true")], 2 * 7), (vec![("loops", "1")], 0)]
    {
        let home = tempfile::tempdir().unwrap();
        let settings: Vec<_> =
            settings.into_iter().chain([("files", "7"), ("threads", "2"), ("size", "0"), ("sync", "0")]).collect();
        let report = run(home.path(), &settings);
        let names = files(home.path());
        assert_eq!((names.len(), report.errors()), (left, 0), "{settings:?}");
        assert!(names.iter().all(|name| name.len() == 40 && name[8..16] == *"~~~~~~~~"), "{names:?}");
        assert_eq!(report.count("create", "write"), 0, "nothing is written to empty files");
    }
}

#[test]
fn subdirectories_are_filled_in_turn_or_for_a_time_and_emptied_again() {
    let settings = [("subdirectories", "3"), ("files", "12"), ("size", "0"), ("sync", "3")];
    let in_turn = [("per_subdirectory", "2"), ("keep_files", "true")];
    let home = tempfile::tempdir().unwrap();
    run(home.path(), &[&settings[..], &in_turn].concat());
    let names = files(home.path());
    for subdirectory in ["00/", "01/", "02/"] {
        assert_eq!(names.iter().filter(|name| name.starts_with(subdirectory)).count(), 4, "{names:?}");
    }
    // A thread changes to the next subdirectory each millisecond, and finds its files again when it removes them.
    let home = tempfile::tempdir().unwrap();
    let many = [("subdirectories", "5"), ("linger", "1ms"), ("files", "3000"), ("size", "0"), ("sync", "5")];
    let report = run(home.path(), &many);
    assert_eq!((report.count("unlink", "unlink"), report.errors()), (3000, 0));
    assert!(files(home.path()).is_empty());
    let set = home.path().join("stallscope-fsmark/files");
    // No kernel makes 3000 files within a millisecond.
    assert!(std::fs::read_dir(set).unwrap().count() > 1);
}

fn resolve(directories: &[&Path], settings: &[(&str, &str)]) -> Result<Plan, String> {
    let directories: Vec<PathBuf> = directories.iter().map(|path| path.to_path_buf()).collect();
    let facts = MachineFacts::gather("fsmark", &directories, None).unwrap();
    let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let request = PlanRequest { settings, seed: 1, slower_than_ns: 1_000_000_000, ..PlanRequest::default() };
    Plan::resolve(&fsmark(), &facts, &request).map_err(|error| error.to_string())
}

#[test]
fn several_directories_share_the_threads() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let settings = [("keep_files", "true"), ("files", "5"), ("size", "0"), ("sync", "0")];
    let both = [one.path(), two.path()];
    let report = RunReport::all(start(resolve(&both, &[&settings[..], &[("threads", "4")]].concat()).unwrap()));
    assert_eq!((report.count("create", "create"), report.errors()), (20, 0));
    assert_eq!((files(one.path()).len(), files(two.path()).len()), (10, 10));
    // Without -t each directory has a thread; 3 for 2 is an error.
    assert_eq!(resolve(&both, &settings).unwrap().job_threads(1), 2);
    let error = resolve(&both, &[("threads", "3")]).unwrap_err();
    assert!(error.contains("3 threads do not divide evenly among 2 directories"), "{error}");
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let home = tempfile::tempdir().unwrap();
    for (settings, why) in [
        (&[("sync", "7")][..], "sync"),
        (&[("per_subdirectory", "5")], "number of subdirectories"),
        (&[("name_bytes", "4"), ("random_bytes", "4")], "are not unique for 1000 files"),
        (&[("name_bytes", "256")], "name_bytes"),
        (&[("subdirectories", "5000")], "at most 4096 subdirectories"),
    ] {
        let error = resolve(&[home.path()], settings).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}
