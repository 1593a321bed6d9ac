//! Files that a command writes for its user: never over what is recorded or read, and whole or not there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::stage::disk::{Tmpfs, fill_up};
use crate::stage::{folder, is_root, run};

fn record(out: &Path) {
    run(&format!("record -q --no-trace --interval 100ms --runtime 300ms --out {}", out.display())).expect_code(0);
}

/// All files below a directory.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        match path.is_dir() {
            true => found.extend(contents(&path)),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    found
}

#[test]
fn no_output_goes_over_a_file_of_a_run_a_lake_or_a_flight_recorder() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let directory = |name: &str| folder.path().join(name);
    record(&directory("run"));
    record(&directory("other"));
    run(&format!("lake add {} --to {}", path("run"), path("lake"))).expect_code(0);
    fs::create_dir_all(directory("flight/ring")).unwrap();
    fs::write(directory("flight/flight-recorder"), "1\n").unwrap();
    fs::create_dir(directory("sweep")).unwrap();
    fs::write(directory("sweep/sweep.json"), "{}").unwrap();
    symlink(directory("run/journal"), directory("link")).unwrap();
    symlink(directory("run"), directory("way")).unwrap();
    let before = contents(folder.path());
    let targets = [
        "run/journal",
        "run/run.json",
        "run/page.html",
        "link",
        "way/journal",
        "lake/stallscope-lake.json",
        "lake/table=runs/x",
        "flight/flight-recorder",
        "flight/page.html",
        "sweep/sweep.json",
    ];
    for target in targets.map(path) {
        for words in [
            format!("report {} -o {target}", path("run")),
            format!("compare --a {} --b {} --svg {target}", path("run"), path("other")),
            format!("export {} --to openmetrics -o {target}", path("run")),
            format!("export {} --to csv -o {target}", path("run")),
        ] {
            let ended = run(&words);
            assert_eq!(ended.code, Some(2), "{words}: {}", ended.stderr);
            assert!(ended.error().contains("choose"), "{words}: {}", ended.error());
        }
    }
    for words in [
        format!("record -q --no-trace --runtime 300ms --out {}", path("run/inside")),
        format!("record -q --no-trace --ring 10s --out {}", path("lake/flight")),
        format!("simulate sched --out {}", path("lake/inside")),
        format!("lake add {} --to {}", path("other"), path("run/lake")),
        format!("generate {}", path("run/man")),
    ] {
        let ended = run(&words);
        assert_eq!(ended.code, Some(2), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains("choose a path outside of it"), "{words}: {}", ended.stderr);
    }
    assert!(contents(folder.path()) == before, "a file was changed or made");
}

#[test]
fn no_output_goes_over_what_the_command_reads() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let text = "FSUse%        Count         Size    Files/sec     App Overhead\n     5        10000         4096      \
                200.5            10506\n";
    fs::write(path("a.out"), text).unwrap();
    fs::write(path("b.out"), text).unwrap();
    let (a, b) = (path("a.out").display().to_string(), path("b.out").display().to_string());
    let ended = run(&format!("compare --a {a} --b {b} --svg {b}")).expect_code(2);
    assert!(ended.error().contains("which is read"), "{}", ended.error());
    assert_eq!(fs::read_to_string(path("b.out")).unwrap(), text);
}

#[test]
fn a_full_disk_leaves_no_half_made_output() {
    if !is_root("a disk that fills up") {
        return;
    }
    let (folder, disk) = (folder(), Tmpfs::new(6));
    let runs = folder.path().join("run");
    record(&runs);
    let old = disk.path().join("old.html");
    fs::write(&old, "the page before").unwrap();
    fill_up(disk.path());
    let names = || {
        let names = fs::read_dir(disk.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let (before, run_directory, disk) = (names(), runs.display().to_string(), disk.path().display().to_string());
    for words in [
        format!("report {run_directory} -o {disk}/page.html"),
        format!("report {run_directory} -o {disk}/old.html"),
        format!("export {run_directory} --to csv -o {disk}/csv"),
        format!("export {run_directory} --to perfetto -o {disk}/trace"),
        format!("lake add {run_directory} --to {disk}/lake"),
        format!("record -q --no-trace --runtime 1s --out {disk}/run"),
        format!("record -q --no-trace --runtime 1s --ring 10s --out {disk}/flight"),
        format!("generate {disk}/man"),
    ] {
        let ended = run(&words);
        assert_eq!(ended.code, Some(3), "{words}: {}", ended.stderr);
        println!("{}", ended.stderr.trim());
        assert_eq!(names(), before, "{words}");
    }
    assert_eq!(fs::read_to_string(&old).unwrap(), "the page before");
}
