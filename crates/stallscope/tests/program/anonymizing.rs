//! `anonymize`: a copy that says the same of a run, without its names.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anonymize::Substitution;
use rustix::process::Signal;
use serde_json::Value;

use crate::stage::{Running, folder, is_root, run};

/// A run whose paths, command line and directory hold a name.
fn recorded(folder: &Path) -> String {
    let (out, data) = (folder.join("whole"), folder.join("acme-ledger"));
    fs::create_dir(&data).unwrap();
    let load = "run simoop -t 2 -m 4 -M 1 -f 2 -n 4 -T 1 -R 1 -W 1 -C 1 -D 1 -w 0 -i 1 -r 2 --interval 200ms \
                --slower-than 1ms";
    run(&format!("{load} --out {} {}", out.display(), data.display())).expect_code(0);
    out.display().to_string()
}

fn explained(directory: &str) -> Value {
    let mut document = run(&format!("explain --json --worst 10000 {directory}")).document();
    document["run"] = Value::Null;
    ["damage", "lost"].iter().for_each(|list| {
        document[*list].as_array_mut().into_iter().flatten().for_each(|item| item["run"] = Value::Null);
    });
    document
}

#[test]
fn the_copy_has_no_name_and_the_same_explanation() {
    if !is_root("a trace") {
        return;
    }
    let folder = folder();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let whole = recorded(folder.path());
    let (copy, map) = (at("copy"), at("map"));
    let shown = run(&format!("anonymize {whole} -o {copy} --map {map} --json")).expect_code(0).document();
    let replaced: BTreeMap<String, String> = serde_json::from_slice(&fs::read(&map).unwrap()).unwrap();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let description = fs::read_to_string(format!("{copy}/run.json")).unwrap();
    for name in ["acme-ledger", boot.trim(), folder.path().to_str().unwrap()] {
        assert!(!description.contains(name) && !shown["kept"].to_string().contains(name), "{name}: {description}");
    }
    assert!(!description.contains(&format!("\"{}\"", host.trim())), "{description}");
    run(&format!("export --quiet --to csv -o {} {copy}", at("csv"))).expect_code(0);
    for table in fs::read_dir(at("csv")).unwrap().flatten() {
        assert!(!fs::read_to_string(table.path()).unwrap().contains("acme"), "{}", table.path().display());
    }
    let substitution = Substitution::new(replaced.iter().map(|(before, after)| (before.as_str(), after.as_str())));
    assert_eq!(substitution.differences(&explained(&whole), &explained(&copy)), []);
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_run_that_was_cut_off_has_a_copy_that_is() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let mut program = Running::start(&format!("record -q --no-trace --interval 100ms --out {}", at("killed")));
    program.wait_for_the_archive(&folder.path().join("killed"));
    let early = run(&format!("anonymize {} -o {}", at("killed"), at("early"))).expect_code(2);
    assert!(early.error().contains("still being recorded"), "{}", early.stderr);
    program.signal(Signal::KILL);
    program.wait();
    let copied = run(&format!("anonymize {} -o {}", at("killed"), at("copy"))).expect_code(1);
    assert!(copied.stderr.contains("the end of the run is missing"), "{}", copied.stderr);
    let state = |name: &str| run(&format!("check --json {}", at(name))).document()["state"].clone();
    assert_eq!([state("killed"), state("copy")], ["cut_off", "cut_off"]);
    assert!(!folder.path().join("early").exists());
}

#[test]
fn what_is_no_run_and_what_holds_something_is_refused() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name).display().to_string();
    run(&format!("record -q --no-trace --interval 100ms --runtime 300ms --out {}", at("run"))).expect_code(0);
    fs::create_dir(folder.path().join("full")).unwrap();
    fs::write(folder.path().join("full/x"), "").unwrap();
    for (words, why) in [
        (format!("{} -o {}", at("none"), at("copy")), "no such directory"),
        (format!("{} -o {}", at("full"), at("copy")), "run.json"),
        (format!("{} -o {}", at("run"), at("full")), "not empty"),
        (format!("{} -o {}", at("run"), at("run/copy")), "is in the run"),
        (format!("{} -o {}", at("run"), at("run")), "not empty"),
        (format!("{} -o {} --map {}", at("run"), at("copy"), at("run/map")), "is in the run"),
        (format!("{} -o {} --prefix N1", at("run"), at("copy")), "one to eight letters"),
    ] {
        let refused = run(&format!("anonymize {words}")).expect_code(2);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
        assert!(!folder.path().join("copy").exists(), "{words}");
    }
}
