//! `compare`: on runs of the real kernel with a known difference, and on synthetic runs.

use std::fs;
use std::path::{Path, PathBuf};

use archive::{Writer, WriterOptions};
use model::event::{Ending, RunEvent};
use model::latency::index_of;
use model::operation::{Bucket, IntervalRecord};
use model::run::{Configuration, Host, RunDescription};
use model::time::Moment;
use serde_json::Value;

use crate::stage::{Disk, exclusive_machine_settings, folder, is_root, number, run};

const SECOND: u64 = 1_000_000_000;

/// Durable writes at the disk's rate.
const WRITER: &str = r#"
    name = "durable"
    about = "durable writes, as many as the disk takes"
    [variables.runtime]
    kind = "duration"
    default = "2s"
    help = "measured run"
    [variables.report_interval]
    kind = "duration"
    default = "100ms"
    help = "report interval"
    [report]
    interval = "report_interval"
    [[phase]]
    name = "fill"
    kind = "fill"
    [[phase]]
    name = "warmup"
    kind = "warmup"
    duration = "500ms"
    [[phase]]
    name = "run"
    kind = "run"
    duration = "runtime"
    [files.data]
    count = 16
    size = "2m"
    [[actor]]
    name = "writer"
    count = 8
    work = true
    [[actor.step]]
    do = "write"
    from = "data"
    size = "64k"
    sync = "fdatasync"
"#;

fn metric<'a>(document: &'a Value, name: &str) -> &'a Value {
    let metrics = document["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == name).unwrap_or_else(|| panic!("no {name} in {document:#}"))
}

/// Five runs on a disk, five more, and five on the disk limited to 80 % of that, alternating. One comparison in twenty
/// may be wrong at this confidence, and CPU starvation distorts a short run, so a failure is repeated.
#[test]
fn the_same_is_not_different_and_a_disk_of_80_percent_is_worse() {
    if !is_root("slowing a device") {
        return;
    }
    let _settings = exclusive_machine_settings();
    let tries: Vec<String> = (0..3).map_while(|_| disks_are_distinguished().err()).collect();
    assert!(tries.len() < 3, "{}", tries.join("\n"));
}

fn disks_are_distinguished() -> Result<(), String> {
    // In memory, and slow by its limit alone: other activity on the machine's disk must not be a difference.
    let folder = folder();
    let recipe = folder.path().join("durable.toml");
    fs::write(&recipe, WRITER).unwrap();
    // Each round has its own disk.
    let round = |number: u32| {
        let place = folder.path().join(format!("disk-{number}"));
        fs::create_dir(&place).unwrap();
        let disk = Disk::ext4_in(&place, 96 << 20);
        for (side, limit) in [("a", 5_000_000), ("b", 4_000_000), ("again", 5_000_000)] {
            let out = folder.path().join(side).join(number.to_string());
            let how = format!("-q --no-trace --keep --disk-bps {limit}b --out {}", out.display());
            run(&format!("run {} {how} {}", recipe.display(), disk.path().display())).expect_code(0);
        }
    };
    std::thread::scope(|scope| (0..5).for_each(|number| drop(scope.spawn(move || round(number)))));
    let compared = |b: &str| {
        let sides = format!("--a {0}/a --b {0}/{b}", folder.path().display());
        run(&format!("compare --json {sides}")).expect_code(0).document()
    };
    let (same, slower) = (compared("again"), compared("b"));
    assert_eq!(same["differences"].as_array().map(Vec::len), Some(0), "{same:#}");
    let differences = slower["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{slower:#}");
    assert_eq!(differences[0]["what"], "disk limit, bytes/s");

    let undecided = |metric: &Value| metric["verdict"] == "equivalent" || metric["verdict"] == "not_enough_data";
    if let Some(wrong) = same["metrics"].as_array().unwrap().iter().find(|metric| !undecided(metric)) {
        return Err(format!("the same is different: {wrong:#}"));
    }
    for name in ["work_per_s", "bytes_per_s"] {
        let metric = metric(&slower, name);
        let (low, high) = (metric["ci95"][0].as_f64().unwrap_or(1.0), metric["ci95"][1].as_f64().unwrap_or(0.0));
        if metric["verdict"] != "worse" || low > 0.8 || !(0.8..1.0).contains(&high) {
            return Err(format!("80 % are not seen: {metric:#}"));
        }
    }
    Ok(())
}

/// A run of ten intervals with `per_s` writes per second of `latency_ns` each.
fn write_run(directory: &Path, at: u64, per_s: u64, latency_ns: u64, change: impl Fn(&mut RunDescription)) {
    write_ended(directory, at, per_s, latency_ns, Some(Ending::Done), change);
}

/// The same, with an end of that kind or none.
fn write_ended(
    directory: &Path,
    at: u64,
    per_s: u64,
    latency_ns: u64,
    ending: Option<Ending>,
    change: impl Fn(&mut RunDescription),
) {
    fs::create_dir_all(directory.parent().unwrap()).unwrap();
    let started = Moment { monotonic_ns: at * SECOND, wall_ns: (at * SECOND) as i64 };
    let mut description = RunDescription {
        sample_interval_ns: SECOND,
        report_interval_ns: Some(SECOND),
        slower_than_ns: SECOND,
        host: Host { kernel_release: "6.18".into(), ..Host::default() },
        ..RunDescription::new("written", started)
    };
    change(&mut description);
    let mut writer = Writer::create(directory, &description, WriterOptions::default()).unwrap();
    let phase = || "run".to_owned();
    writer.event(RunEvent::PhaseStarted { phase: phase(), measured: true, at_ns: at * SECOND });
    writer.intervals((0..10).map(|interval| IntervalRecord {
        phase: phase(),
        class: "write".into(),
        start_ns: (at + interval) * SECOND,
        end_ns: (at + interval + 1) * SECOND,
        count: per_s,
        bytes: per_s * 4096,
        sum_ns: per_s * latency_ns,
        max_ns: Some(latency_ns),
        buckets: vec![Bucket { index: index_of(latency_ns), count: per_s }],
        ..IntervalRecord::default()
    }));
    let at_ns = (at + 10) * SECOND;
    writer.event(RunEvent::PhaseEnded { phase: phase(), at_ns, bytes: per_s * 40960 });
    let Some(how) = ending else { return };
    writer.event(RunEvent::Ended { at_ns, how });
    writer.close(Moment { monotonic_ns: at_ns, wall_ns: at_ns as i64 }).unwrap();
}

/// Three configurations of six runs: `bfq` is slower, and unintentionally on another kernel.
fn sweep(folder: &Path) -> PathBuf {
    let runs = folder.join("sweep");
    for round in 0..6 {
        let jitter = [0, 3, 1, 4, 2, 5][round as usize];
        for (at, (name, kernel, per_s, is_twin)) in
            [("none", "6.18", 1000, false), ("bfq", "6.19", 700, false), ("none", "6.18", 1001, true)]
                .into_iter()
                .enumerate()
        {
            let run = runs.join(format!("{round}-{at}"));
            write_run(&run, 100 * (3 * round + at as u64) + 100, per_s + jitter, 1_000_000, |description| {
                let settings = vec![("scheduler".to_owned(), name.to_owned())];
                let repetition = round as u32;
                description.configuration =
                    Some(Configuration { settings, repetition, is_twin, ..Configuration::named(name) });
                description.host.kernel_release = kernel.to_owned();
            });
        }
    }
    runs
}

#[test]
fn a_folder_is_compared_by_configuration_and_the_baseline_again_is_noise() {
    let folder = folder();
    let runs = sweep(folder.path());
    let document = run(&format!("compare --json {}", runs.display())).expect_code(0).document();
    assert_eq!(document["baseline"], "none");
    let [bfq] = &document["configurations"].as_array().unwrap()[..] else { panic!("{document:#}") };
    assert_eq!((&bfq["b"]["name"], &bfq["b"]["runs"]), (&"bfq".into(), &6.into()));
    let rate = metric(bfq, "write.per_s");
    assert_eq!(rate["verdict"], "worse", "{rate:#}");
    assert!(number(rate, "/margin") < 0.01, "the noise between 'none' and its twin is below 1 %: {rate:#}");
    assert_eq!(metric(bfq, "write.p99")["verdict"], "equivalent");
    let differences: Vec<(&str, bool)> = bfq["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["what"].as_str().unwrap(), one["intended"].as_bool().unwrap()))
        .collect();
    assert_eq!(differences, [("kernel", false), ("scheduler", true)]);

    let only = run(&format!("compare --only bfq {}", runs.display())).expect_code(0);
    assert!(only.stdout.starts_with("bfq against none"), "{}", only.stdout);
    run(&format!("compare --only nosuch {}", runs.display())).expect_code(2).error().find("bfq").unwrap();
    let table = run(&format!("compare --table write.per_s {}", runs.display())).expect_code(0);
    assert!(table.stdout.contains("none  1,003/s (1,000 to 1,005)"), "{}", table.stdout);
    let table = run(&format!("compare --json --table write.per_s {}", runs.display())).expect_code(0).document();
    assert_eq!((&table["rows_by"], &table["rows"][1]["value"]), (&"scheduler".into(), &"bfq".into()));
    assert_eq!(number(&table, "/rows/1/cells/0/median"), 702.5);
    let nosuch = run(&format!("compare --table nosuch {}", runs.display())).expect_code(2);
    assert!(nosuch.error().contains("write.p99"));

    let asked = run(&format!("compare --baseline bfq --json {}", runs.display())).expect_code(0).document();
    let [none] = &asked["configurations"].as_array().unwrap()[..] else { panic!("{asked:#}") };
    assert_eq!((&none["b"]["name"], &none["b"]["runs"]), (&"none".into(), &12.into()), "the twin is of it too");
    run(&format!("compare --baseline nosuch {}", runs.display())).expect_code(2).error().find("'nosuch'").unwrap();
}

/// Remains of a killed sweep: a run whose writer died, one that was stopped cleanly because the sweep had ended, one
/// with only a description, and one that an earlier start moved aside.
#[test]
fn unfinished_runs_in_a_folder_are_excluded_and_reported() {
    let folder = folder();
    let runs = sweep(folder.path());
    fs::write(runs.join("sweep.json"), "{}").unwrap();
    let configuration = Configuration { repetition: 9, ..Configuration::named("bfq") };
    let unfinished = |name: &str, how: Option<Ending>| {
        let at = runs.join(name);
        write_ended(&at, 5000, 1, 1, how, |description| {
            description.configuration = Some(configuration.clone());
            description.command = ["run", "x", "--with-parent", "1"].map(str::to_owned).to_vec();
        });
        at
    };
    unfinished("9-killed", None);
    unfinished("9-stopped", Some(Ending::Interrupted));
    unfinished("cut-off/9-earlier", Some(Ending::Interrupted));
    fs::remove_file(unfinished("9-begun", None).join("journal")).unwrap();
    let ended = run(&format!("compare --json {}", runs.display())).expect_code(0);
    let document = ended.document();
    assert_eq!(document["configurations"][0]["b"]["runs"], 6, "{document:#}");
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("left out: 3 runs")).collect();
    assert_eq!(lines.len(), 1, "{}", ended.stderr);
    for name in ["9-killed", "9-stopped", "9-begun"] {
        assert!(lines[0].contains(name), "{}", ended.stderr);
    }
    // A run that is named is used, with a caution.
    let named = format!("compare --json --a {0}/0-0 --b {0}/9-stopped", runs.display());
    let document = run(&named).expect_code(0).document();
    assert!(document["cautions"].to_string().contains("interrupted"), "{document:#}");
}

#[test]
fn every_form_and_the_chart() {
    let folder = folder();
    let runs = sweep(folder.path());
    let chart = folder.path().join("chart.svg");
    for (form, expected) in [
        ("text --all", "bfq against none"),
        ("markdown", "| write.per_s | 1,003/s | 702/s |"),
        ("csv", "none,bfq,metric,write.per_s,/s,6,6,1002.5,702.5,"),
        ("benchstat", "BenchmarkWrite.per_s/side=bfq 1 "),
        ("mmtests", "Hmean   write.per_s"),
    ] {
        let ended =
            run(&format!("compare --svg {} --format {form} {}", chart.display(), runs.display())).expect_code(0);
        assert!(ended.stdout.contains(expected), "{form}: {}", ended.stdout);
        assert_eq!(ended.stderr, "", "{form}");
    }
    // write.per_s, bytes_per_s, three percentiles, and no count of slow operations, because there are none.
    assert_eq!(fs::read_to_string(chart).unwrap().matches("fill-opacity=\"0.6\"").count(), 6 * 12);
}

/// Labels come from the sweep's directories or from `--configuration`.
#[test]
fn runs_with_a_configuration_label_are_grouped_by_it() {
    let folder = folder();
    for (at, name) in ["fast", "slow", "slow", "fast"].into_iter().enumerate() {
        let out = folder.path().join(at.to_string());
        run(&format!("record --runtime 100ms --no-trace -q --configuration {name} --out {}", out.display()))
            .expect_code(0);
    }
    let document = run(&format!("compare --json {}", folder.path().display())).expect_code(0).document();
    assert_eq!(document["baseline"], "fast");
    let sides = &document["configurations"][0];
    assert_eq!((&sides["a"]["runs"], &sides["b"]["runs"], &sides["b"]["name"]), (&2.into(), &2.into(), &"slow".into()));
}

/// fio itself, if it is installed, and text in fs_mark's format.
#[test]
fn results_of_other_tools_are_compared() {
    let folder = folder();
    for (side, rate) in [("a", 20_000.0), ("b", 9_000.0)] {
        fs::create_dir(folder.path().join(side)).unwrap();
        fs::write(folder.path().join(side).join("notes.txt"), "not a run").unwrap();
        for round in 0..5 {
            let row = format!("     5        10000         4096      {:.1}            10506", rate + f64::from(round));
            let text = format!("FSUse%        Count         Size    Files/sec     App Overhead\n{row}\n");
            fs::write(folder.path().join(side).join(format!("{round}.out")), text).unwrap();
        }
    }
    let at = folder.path().display();
    for words in [format!("--a {at}/a --b {at}/b"), format!("{at}")] {
        let document = run(&format!("compare --json {words}")).expect_code(0).document();
        let sides = document.pointer("/configurations/0").unwrap_or(&document);
        assert_eq!(metric(sides, "files_per_s")["verdict"], "worse", "{document:#}");
    }
    let notes = format!("compare --a {at}/a/notes.txt --b {at}/b");
    assert!(run(&notes).expect_code(2).error().contains("fio"));

    let job = "--name=t --size=1m --bs=4k --rw=randread --ioengine=psync --time_based --runtime=1 --output-format=json";
    let fio = std::process::Command::new("fio").args(job.split(' ')).current_dir(folder.path()).output();
    let Ok(fio) = fio else { return println!("skipped: fio is not installed") };
    for name in ["before.json", "after.json"] {
        fs::write(folder.path().join(name), &fio.stdout).unwrap();
    }
    let document = run(&format!("compare --json --a {at}/before.json --b {at}/after.json")).expect_code(0).document();
    assert!(number(metric(&document, "read.p99"), "/a") > 0.0 && number(metric(&document, "read.per_s"), "/b") > 0.0);
}

#[test]
fn incomparable_runs_are_reported() {
    let folder = folder();
    let runs = folder.path().join("runs");
    write_run(&runs.join("1"), 100, 1000, 1_000_000, |_| {});
    let at = runs.display();
    let refused = |words: String, name: &str| {
        let ended = run(&words).expect_code(2);
        assert!(ended.stderr.contains(name), "{words}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{words}");
    };
    refused(format!("compare {at}"), "two configurations are needed");
    refused(format!("compare {at}/1"), "compare --a");
    refused(format!("compare {at}/1 {at}/2"), "two paths without --a and --b; compare two sides: compare --a");
    refused(format!("compare {at}/1 {at}/2 {at}/3"), "3 paths without --a and --b");
    refused(format!("compare {at}/1/run.json"), "run.json is a file, not a directory of runs; compare it with others");
    refused(format!("compare --a {at}"), "--b");
    refused(format!("compare --a {at} --b /nonexistent"), "/nonexistent");
    refused(format!("compare --a {at} --b {at} --margin 0.05"), "write 0.05%");
    refused(format!("compare --a {at} --b {at} --margin 0%"), "percentage");
    refused("compare".to_owned(), "--a");
    refused(format!("compare --a {at} --b {at}"), "cannot be compared with itself");
    refused(format!("compare --a {at}/1 {at}/1 --b /nonexistent"), "named twice");
    // One run per side can be read, but gives no verdict.
    let again = folder.path().join("again");
    write_run(&again, 100, 1000, 1_000_000, |_| {});
    let document = run(&format!("compare --json --a {at} --b {}", again.display())).expect_code(0).document();
    let rate = metric(&document, "write.per_s");
    assert_eq!(
        (&rate["verdict"], &rate["ci95"], &rate["need_runs"]),
        (&"not_enough_data".into(), &Value::Null, &4.into())
    );
    assert!(document["cautions"][0].as_str().unwrap().contains("(1 per side)"), "{document:#}");
}
