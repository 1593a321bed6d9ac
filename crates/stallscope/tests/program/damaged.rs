//! Damage of a run directory: each kind of docs/FORMAT.md, done to a real run, is said by every output and sets the
//! exit code; and what a killed recorder leaves is no damage, but lacks its end.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;

use crate::stage::{Running, folder, is_root, run};

const LOAD: &str = "run simoop -t 2 -m 4 -M 1 -f 2 -n 4 -T 1 -R 1 -W 1 -C 1 -D 1 -w 0 -i 1 --interval 200ms";
/// Of the whole machine.
const IN_FULL: &str = "--requests all --slower-than 1ms";

/// A run of some seconds, closed.
fn closed(folder: &Path) -> PathBuf {
    let (out, data) = (folder.join("whole"), folder.join("data"));
    fs::create_dir(&data).unwrap();
    run(&format!("{LOAD} {IN_FULL} -r 2 --out {} {}", out.display(), data.display())).expect_code(0);
    out
}

/// A run whose recorder was killed. It records too little to consolidate its first recent file, whatever runs beside
/// it.
fn killed(folder: &Path) -> PathBuf {
    let (out, data) = (folder.join("killed"), folder.join("data-of-killed"));
    fs::create_dir(&data).unwrap();
    let mut program = Running::start(&format!("{LOAD} -r 600 --out {} {}", out.display(), data.display()));
    program.wait_for_the_archive(&out);
    let recent = out.join("recent-0001");
    program.wait_until("some flushes are done", |_| flushes(&recent) > 3);
    program.signal(Signal::KILL);
    program.wait();
    out
}

fn flushes(recent: &Path) -> usize {
    let bytes = fs::read(recent).unwrap_or_default();
    bytes.windows(12).filter(|bytes| *bytes == b"\"generation\"").count()
}

fn copied(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for file in fs::read_dir(from).unwrap().flatten() {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// Changes a file of the run.
fn change(run: &Path, file: &str, change: impl Fn(&mut Vec<u8>)) {
    let path = run.join(file);
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// The same with the lines of the journal.
fn rearrange(run: &Path, rearrange: impl Fn(&mut Vec<Vec<u8>>)) {
    change(run, "journal", |bytes| {
        let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        rearrange(&mut lines);
        *bytes = lines.concat();
    });
}

/// The first live batch of a table: offset and length.
fn batch_of(run: &Path, file: &str) -> (usize, usize) {
    let journal = fs::read_to_string(run.join("journal")).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(&line[9..]).unwrap());
    let batches = entries.filter_map(|entry| entry["batches"].as_array().cloned()).flatten();
    let batch = batches.into_iter().find(|batch| batch["file"] == file).expect("a batch");
    (batch["offset"].as_u64().unwrap() as usize, batch["length"].as_u64().unwrap() as usize)
}

type Spoil = fn(&Path);

/// Each damage to a closed run, and what is said of it.
const TO_A_CLOSED_RUN: &[(&str, Spoil, &str)] = &[
    (
        "a bit of a batch",
        |run| {
            let (offset, length) = batch_of(run, "stalls-0000.arrows");
            change(run, "stalls-0000.arrows", |bytes| bytes[offset + length / 2] ^= 4);
        },
        "stalls-0000.arrows: its checksum differs",
    ),
    (
        "a truncated segment",
        |run| {
            let (offset, _) = batch_of(run, "stalls-0000.arrows");
            change(run, "stalls-0000.arrows", |bytes| bytes.truncate(offset + 8));
        },
        "the file ends at",
    ),
    (
        "a deleted segment",
        |run| fs::remove_file(run.join("samples-0000.arrows")).unwrap(),
        "samples-0000.arrows: cannot be opened",
    ),
    (
        "a link instead of a segment",
        |run| {
            fs::remove_file(run.join("tasks-0000.arrows")).unwrap();
            std::os::unix::fs::symlink("/dev/zero", run.join("tasks-0000.arrows")).unwrap();
        },
        "tasks-0000.arrows: cannot be opened",
    ),
    ("a bit of the journal", |run| change(run, "journal", |bytes| bytes[20] ^= 1), "journal: line 1 is damaged"),
    ("a dropped entry", |run| rearrange(run, |lines| drop(lines.remove(5))), "journal: missing: entry 5"),
    (
        "a doubled entry",
        |run| rearrange(run, |lines| lines.insert(5, lines[4].clone())),
        "journal: line 6 repeats an earlier one",
    ),
    ("a moved entry", |run| rearrange(run, |lines| lines.swap(4, 5)), "is out of order"),
    (
        "the end of the journal",
        |run| rearrange(run, |lines| lines.truncate(lines.len() - 1)),
        "journal: entries are missing at its end",
    ),
    ("an empty journal", |run| change(run, "journal", Vec::clear), "journal: entries are missing at its end"),
    (
        "another run.json",
        |run| change(run, "run.json", |bytes| bytes.push(b'\n')),
        "run.json: it is not the description",
    ),
    ("no watermark", |run| fs::remove_file(run.join("watermark")).unwrap(), "watermark: it is missing or damaged"),
];

/// Each damage to a run whose recorder was killed.
const TO_A_KILLED_RUN: &[(&str, Spoil, &str)] = &[
    ("a deleted recent file", |run| fs::remove_file(run.join("recent-0001")).unwrap(), "recent-0001: it is missing"),
    (
        "an emptied recent file",
        |run| change(run, "recent-0001", Vec::clear),
        "recent-0001: flushes are missing at its end",
    ),
    (
        "a shortened recent file",
        |run| change(run, "recent-0001", |bytes| bytes.truncate(bytes.len() / 2)),
        "recent-0001: flushes are missing",
    ),
    (
        "a bit of a recent file's header",
        |run| change(run, "recent-0001", |bytes| bytes[30] ^= 1),
        "the flush is damaged, and with it all",
    ),
    (
        "a bit of a recent file's batch",
        |run| {
            change(run, "recent-0001", |bytes| {
                let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
                bytes[end + 50] ^= 1;
            })
        },
        "the flush is damaged",
    ),
    (
        "a doubled recent file",
        |run| change(run, "recent-0001", |bytes| *bytes = bytes.repeat(2)),
        "the flush repeats an earlier one",
    ),
    (
        "a copied recent file",
        |run| assert!(fs::copy(run.join("recent-0001"), run.join("recent-0002")).is_ok()),
        "the journal does not list it",
    ),
    (
        "the end of the journal",
        |run| rearrange(run, |lines| lines.truncate(lines.len() - 1)),
        "journal: entries are missing at its end",
    ),
];

/// A document of a damaged run, with the exit code for that.
fn incomplete(words: &str, says: &str) -> Value {
    let document = run(words).expect_code(1).document();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let parts = document["damage"].as_array().unwrap().iter();
    let damage: Vec<String> = parts.map(|part| format!("{}: {}", text(&part["file"]), text(&part["why"]))).collect();
    let damage = damage.join("\n");
    assert!(damage.contains(says), "{words}: '{says}' is not in {damage}");
    document
}

#[test]
fn each_damage_is_noticed_and_named() {
    if !is_root("tracing") {
        return;
    }
    let folder = folder();
    let spoiled = folder.path().join("spoiled");
    let path = spoiled.display();
    for (run_directory, damages) in [(closed(folder.path()), TO_A_CLOSED_RUN), (killed(folder.path()), TO_A_KILLED_RUN)]
    {
        copied(&run_directory, &spoiled);
        let lacks_its_end = run_directory.ends_with("killed");
        for command in ["show", "explain"] {
            let document = run(&format!("{command} --json {path}")).expect_code(lacks_its_end.into()).document();
            assert_eq!(document["damage"], Value::Array(vec![]));
            let lost: Vec<&Value> = document["lost"].as_array().unwrap().iter().map(|lost| &lost["what"]).collect();
            assert_eq!(lost.contains(&&"the end of the run".into()), lacks_its_end, "{lost:?}");
        }
        for (what, spoil, says) in damages {
            copied(&run_directory, &spoiled);
            spoil(&spoiled);
            println!("{what}: {says}");
            assert_eq!(incomplete(&format!("show --json {path}"), says)["complete"], false, "{what}");
            assert_eq!(incomplete(&format!("check --json {path}"), says)["whole"], false, "{what}");
        }
    }
}

#[test]
fn every_output_of_a_damaged_run_says_so() {
    if !is_root("tracing") {
        return;
    }
    let folder = folder();
    let whole = closed(folder.path());
    let spoiled = folder.path().join("spoiled");
    let path = spoiled.display().to_string();
    let out = |name: &str| folder.path().join(name).display().to_string();
    copied(&whole, &spoiled);
    let running_ns = run(&format!("explain --json {path}")).expect_code(0).document()["running_ns"].as_u64().unwrap();
    // The requests stay readable: a what-if needs them.
    TO_A_CLOSED_RUN[1].1(&spoiled);
    let says = TO_A_CLOSED_RUN[1].2;
    let compared = format!("compare --a {} --b {path}", whole.display());
    let replayed = format!("simulate sched --trace {path} --policy none");
    for command in
        [&format!("show {path}"), &format!("explain {path}"), &compared, &format!("top --once {path}"), &replayed]
    {
        assert_eq!(incomplete(&format!("{command} --json"), says)["complete"], false, "{command}");
        let text = run(command).expect_code(1).stdout;
        assert!(text.starts_with("INCOMPLETE: ") && text.contains(says), "{command}: {text}");
    }
    for format in ["csv", "perfetto"] {
        let ended = run(&format!("export {path} --to {format} -o {}", out(format))).expect_code(1);
        assert!(ended.stderr.contains(says) && ended.error().contains("incomplete"), "{}", ended.stderr);
    }
    let report = run(&format!("report {path} -o {}", out("page.html"))).expect_code(1);
    assert!(report.stdout.starts_with("INCOMPLETE: "), "{}", report.stdout);
    // What the lost rows would have explained is not work on the CPU.
    let document = run(&format!("explain --json {path}")).expect_code(1).document();
    let ns = |key: &str| document[key].as_u64().unwrap();
    let causes: u64 =
        document["causes"].as_array().unwrap().iter().map(|cause| cause["time_ns"].as_u64().unwrap()).sum();
    assert_eq!(causes, ns("wall_ns"));
    println!("running: {running_ns} ns of the whole run, {} ns of the damaged one; {document:#}", ns("running_ns"));
    assert!(ns("running_ns") <= running_ns && ns("running_ns") < ns("wall_ns").max(1), "{document:#}");
}
