//! A run on several nodes is read as one: here a set of two real runs of one machine, each as a node, whose clocks
//! differ by as much as makes their phases begin together.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::stage::{folder, is_root, number, run, shown};

/// A set of two nodes with two ranks each, in a folder of its own.
struct Set {
    folder: tempfile::TempDir,
}

impl Set {
    fn new(flags: &str) -> Set {
        let set = Set { folder: folder() };
        for node in ["a", "b"] {
            let (out, data) = (set.node(node), set.folder.path().join(format!("data-{node}")));
            std::fs::create_dir(&data).unwrap();
            let (out, data) = (out.display(), data.display());
            let load = "run ior -w -r -C -e -F -t 64k -b 256k -s 2 -i 2 -N 2 -q";
            run(&format!("{load} {flags} --out {out} -o {data}/file")).expect_code(0);
        }
        set.describe(|_| {});
        set
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn words(&self) -> String {
        self.out().display().to_string()
    }

    fn node(&self, name: &str) -> PathBuf {
        self.out().join(format!("node-{name}"))
    }

    /// Writes set.json, changed.
    fn describe(&self, change: impl Fn(&mut Value)) {
        let first_write = |name: &str| {
            let text = std::fs::read_to_string(self.node(name).join("run.json")).unwrap();
            let description: Value = serde_json::from_str(&text).unwrap();
            let started_ns = description["started"]["monotonic_ns"].as_u64().unwrap();
            let shown = shown(&self.node(name));
            let phases = shown["phases"].as_array().unwrap().clone();
            let write = phases.iter().find(|phase| phase["name"] == "write").unwrap();
            started_ns as i64 + (write["start_s"].as_f64().unwrap() * 1e9) as i64
        };
        let offset_ns = first_write("b") - first_write("a");
        let node = |name: &str, ranks: [u64; 2], offset_ns: i64, error_ns: u64| {
            json!({"name": name, "host": name, "ranks": ranks,
                   "clock_at_begin": {"offset_ns": offset_ns, "error_ns": error_ns}, "clock_at_end": null})
        };
        let mut set = json!({
            "version": 1, "workload": "ior", "started_wall_ns": 0, "is_final": true, "ranks": 4,
            "nodes": [node("a", [0, 1], 0, 0), node("b", [2, 3], offset_ns, 15_000)],
        });
        change(&mut set);
        std::fs::write(self.out().join("set.json"), set.to_string()).unwrap();
    }
}

fn bytes(document: &Value, phase: &str) -> Vec<f64> {
    let phases = document["phases"].as_array().unwrap();
    phases.iter().filter(|one| one["name"] == phase).map(|one| one["bytes"].as_f64().unwrap()).collect()
}

#[test]
fn figures_of_nodes_add_up() {
    let set = Set::new("--no-trace");
    let whole = run(&format!("show --json {}", set.words())).expect_code(0).document();
    let nodes = [shown(&set.node("a")), shown(&set.node("b"))];
    for phase in ["write", "read"] {
        let sums: Vec<f64> = (0..2).map(|at| nodes.iter().map(|node| bytes(node, phase)[at]).sum()).collect();
        assert_eq!(bytes(&whole, phase), sums, "{phase}");
        assert_eq!(sums, [2_097_152.0; 2]);
    }
    for class in ["write", "read", "open", "close"] {
        let count = format!("/operations/{class}/count");
        assert_eq!(number(&whole, &count), nodes.iter().map(|node| number(node, &count)).sum::<f64>(), "{class}");
        let longest = format!("/operations/{class}/max_ns");
        let max = nodes.iter().map(|node| number(node, &longest)).fold(0.0, f64::max);
        assert_eq!(number(&whole, &longest), max, "{class}");
    }
    let phases = whole["phases"].as_array().unwrap();
    let job_threads: Vec<_> = phases.iter().filter_map(|phase| phase["job_threads"]["members"].as_u64()).collect();
    assert_eq!(job_threads, [4; 4], "two writes and two reads: {phases:?}");
    assert_eq!((&whole["complete"], &whole["set"]["ranks"]), (&json!(true), &json!(4)));
    assert_eq!(whole["nodes"][1]["clock_error_ns"], 15_000);
    assert_eq!(whole["nodes"][0]["summary"]["phases"], nodes[0]["phases"]);
    let text = run(&format!("show {}", set.words())).expect_code(0).stdout;
    assert!(text.starts_with("ior on 2 nodes, 4 ranks: ") && text.contains("known within 15.0 us"), "{text}");
    let is_of_a = |line: &str| line.split_whitespace().take(2).eq(["a", "0-1"]);
    assert!(text.lines().any(is_of_a), "{text}");
    // IOR's table: bytes of all nodes over the common time.
    let native = run(&format!("show --format native {}", set.words())).expect_code(0).stdout;
    let rows: Vec<Vec<&str>> = native.lines().map(|line| line.split_whitespace().collect()).collect();
    let rows: Vec<&Vec<&str>> = rows.iter().filter(|row| matches!(row.first(), Some(&("write" | "read")))).collect();
    assert_eq!(rows.len(), 4, "{native}");
    for row in rows {
        let of = |place: usize| row[place].parse::<f64>().unwrap();
        assert!((of(1) * of(9) / 2.0 - 1.0).abs() < 0.02, "2 MiB over total(s): {native}");
    }
}

/// What each reader says of a set that lacks something: exit code 1, and `complete` is false.
fn is_incomplete_everywhere(set: &Set, says: &str, is_traced: bool) {
    let out = set.words();
    let page = set.folder.path().join("page.html");
    let mut commands = vec![format!("show {out}"), format!("check {out}"), format!("compare --a {out} --b {out}-2")];
    commands.push(format!("report {out} -o {}", page.display()));
    if is_traced {
        commands.push(format!("explain {out}"));
    }
    for command in commands {
        let text = run(&command).expect_code(1);
        assert!(text.stdout.contains(says), "{command}: {}{}", text.stdout, text.stderr);
        if command.starts_with("report") {
            assert!(std::fs::read_to_string(&page).unwrap().contains(says));
            continue;
        }
        let document = run(&format!("{command} --json")).expect_code(1).document();
        let key = if command.starts_with("check") { "whole" } else { "complete" };
        assert_eq!(document[key], false, "{command}");
        assert!(document["damage"].to_string().contains("node-b"), "{command}: {}", document["damage"]);
    }
    let native = run(&format!("show --format native {out}")).expect_code(1);
    assert!(native.stderr.contains("incomplete: "), "{}", native.stderr);
}

#[test]
fn what_a_set_lacks_is_said_by_every_reader() {
    let is_traced = is_root("the kernel is not traced");
    let set = Set::new(if is_traced { "--slower-than 1ms" } else { "--no-trace" });
    let copy = |to: &str| {
        let status = std::process::Command::new("cp").arg("-r").arg(set.out()).arg(to).status().unwrap();
        assert!(status.success());
    };
    copy(&format!("{}-2", set.words()));
    // Damaged.
    let intervals = set.node("b").join("intervals-0000.arrows");
    let whole = std::fs::read(&intervals).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    std::fs::write(&intervals, damaged).unwrap();
    is_incomplete_everywhere_but_for_its_name(&set, is_traced);
    std::fs::write(&intervals, whole).unwrap();
    // Missing.
    let elsewhere = set.folder.path().join("elsewhere");
    std::fs::rename(set.node("b"), &elsewhere).unwrap();
    is_incomplete_everywhere(&set, "the run of node b (ranks 2-3): missing", is_traced);
    std::fs::rename(&elsewhere, set.node("b")).unwrap();
    // Rank 0 died.
    set.describe(|set| set["is_final"] = false.into());
    let text = run(&format!("show {}", set.words())).expect_code(1).stdout;
    assert!(text.contains("rank 0 did not finish"), "{text}");
    set.describe(|_| {});
    run(&format!("check {}", set.words())).expect_code(0);
}

fn is_incomplete_everywhere_but_for_its_name(set: &Set, is_traced: bool) {
    let out = set.words();
    let mut commands = vec![format!("show {out}"), format!("compare --a {out} --b {out}-2")];
    if is_traced {
        commands.push(format!("explain {out}"));
    }
    for command in commands {
        let text = run(&command).expect_code(1).stdout;
        assert!(text.contains("INCOMPLETE: ") && text.contains("node-b"), "{command}: {text}");
        assert_eq!(run(&format!("{command} --json")).expect_code(1).document()["complete"], false, "{command}");
    }
    let text = run(&format!("check {out}")).expect_code(1).stdout;
    assert!(text.starts_with("NOT intact") && text.contains("node b: NOT intact"), "{text}");
}

#[test]
fn slow_operations_are_explained_over_all_nodes_and_of_each() {
    if !is_root("the kernel is not traced") {
        return;
    }
    let set = Set::new("--slower-than 1us");
    let whole = run(&format!("explain --json {}", set.words())).expect_code(0).document();
    let nodes =
        ["a", "b"].map(|node| run(&format!("explain --json {}", set.node(node).display())).expect_code(0).document());
    for key in ["/slow_operations", "/wall_ns", "/command/operations", "/command/wall_ns"] {
        assert_eq!(number(&whole, key), nodes.iter().map(|node| number(node, key)).sum::<f64>(), "{key}");
    }
    let of = |document: &Value| -> f64 {
        document["causes"].as_array().unwrap().iter().map(|cause| cause["time_ns"].as_f64().unwrap()).sum()
    };
    assert_eq!(of(&whole), number(&whole, "/wall_ns"), "causes sum to the time");
    assert!(
        whole["stalls"].as_array().unwrap().iter().all(|stall| ["a", "b"].contains(&stall["node"].as_str().unwrap()))
    );
    assert_eq!(whole["clock_error_ns"], 15_000);
    let answer = &whole["answer"];
    assert_eq!((&answer["scope"], &answer["verdict"]), (&"load".into(), &"slow".into()), "{answer:#}");
    let text = run(&format!("explain {}", set.words())).expect_code(0).stdout;
    // Sentences are wrapped anywhere.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in ["on 2 nodes, 4 ranks", "node a ", "By node", "Node a, ranks 0-1", "Node b, ranks 2-3"] {
        assert!(text.contains(says), "{says}: {text}");
    }
    let page = set.folder.path().join("page.html");
    run(&format!("report {} -o {}", set.words(), page.display())).expect_code(0);
    let html = std::fs::read_to_string(&page).unwrap();
    let above = html.find("ior on 2 nodes, 4 ranks").map(|at| &html[..at]);
    assert!(
        above.is_some_and(|above| above.contains("<pre>")),
        "{:?}",
        html.find("<pre>").map(|at| &html[at..at + 300])
    );
}

#[test]
fn a_disk_need_not_be_on_all_nodes() {
    if !is_root("the kernel is not traced") {
        return;
    }
    let set = Set::new("--slower-than 1ms");
    let described = |node: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(set.node(node).join("run.json")).unwrap()).unwrap()
    };
    let (other, mut lacking) = (described("a"), described("b"));
    // Other tests make loop devices, which only one of both may have seen, or have requests of.
    let names = |of: &Value| -> Vec<String> {
        let devices = of["devices"].as_array().unwrap().iter();
        devices.map(|device| device["name"].as_str().unwrap().to_owned()).collect()
    };
    let is_loop = |disk: &String| disk.starts_with("loop");
    let Some(disk) = names(&lacking).into_iter().find(|disk| !is_loop(disk) && names(&other).contains(disk)) else {
        println!("skipped: this machine has no disk");
        return;
    };
    (lacking["devices"], lacking["mounts"]) = (json!([]), json!([]));
    std::fs::write(set.node("b").join("run.json"), lacking.to_string()).unwrap();
    // A description that was changed is damage, which is said and exits with 1.
    let page = set.folder.path().join("page.html");
    for command in ["explain", &format!("report -o {}", page.display())] {
        let read = run(&format!("{command} --device {disk} {}", set.words())).expect_code(1);
        let says = format!("--device {disk}: no such disk on node b");
        assert!(read.stderr.contains(&says) && !read.stderr.contains("node a"), "{}", read.stderr);
        let unknown = run(&format!("{command} --device no-such-disk {}", set.words())).expect_code(2);
        let says = "--device no-such-disk: no node has such a disk; a has ";
        assert!(unknown.error().contains(says) && unknown.error().ends_with("b has none"), "{}", unknown.stderr);
    }
    let all = run(&format!("explain --json {}", set.words())).expect_code(1).document();
    let of_disk = run(&format!("explain --json --device {disk} {}", set.words())).expect_code(1).document();
    assert_eq!(of_disk["nodes"][1]["slow_operations"], 0, "{}", of_disk["nodes"]);
    assert!(number(&of_disk, "/slow_operations") <= number(&all, "/slow_operations"));
    // Alone, the node is a run that has no such disk.
    run(&format!("explain --device {disk} {}", set.node("b").display())).expect_code(2);
}

#[test]
fn a_node_that_was_lost_is_said() {
    let set = Set::new("--no-trace");
    set.describe(|set| set["nodes"][1]["lost"] = "has been silent for 4 s".into());
    let says = "the load ended early: node b has been silent for 4 s";
    let text = run(&format!("show {}", set.words())).expect_code(1).stdout;
    assert!(text.contains("INCOMPLETE: ") && text.contains(says), "{text}");
    let document = run(&format!("show --json {}", set.words())).expect_code(1).document();
    assert!(document["complete"] == false && document["damage"].to_string().contains(says), "{document}");
    run(&format!("show {}", set.node("b").display())).expect_code(0);
}

/// The nodes of a set are parts of one run: two sets of two nodes are two observations, not four.
#[test]
fn a_set_is_one_run_in_a_comparison() {
    let sets = [Set::new("--no-trace"), Set::new("--no-trace")];
    let [a, b] = sets.each_ref().map(Set::words);
    let found = run(&format!("compare --json --a {a} --b {b}")).expect_code(0).document();
    assert_eq!((&found["a"]["runs"], &found["b"]["runs"]), (&json!(1), &json!(1)), "{found}");
    let metric = |name: &str| {
        let metrics = found["metrics"].as_array().unwrap();
        metrics.iter().find(|metric| metric["name"] == name).unwrap().clone()
    };
    let shown = run(&format!("show --json {a}")).expect_code(0).document();
    let written =
        &shown["phases"].as_array().unwrap().iter().find(|phase| phase["name"] == "write").unwrap()["bytes_per_s"];
    assert!(metric("write.bytes_per_s")["a"].as_f64().is_some_and(|per_s| per_s > 0.0), "{written}");
    // A directory of sets, each in a subfolder of its own.
    let runs = folder();
    for (name, set) in ["x", "y"].iter().zip(&sets) {
        std::fs::create_dir(runs.path().join(name)).unwrap();
        std::fs::rename(set.out(), runs.path().join(name).join("run")).unwrap();
    }
    let found = run(&format!("compare --json {}", runs.path().display())).expect_code(0).document();
    assert!(found.to_string().contains("\"runs\":1") && !found.to_string().contains("\"runs\":2"), "{found}");
}

#[test]
fn a_hostile_description_is_one_clear_error() {
    let folder = folder();
    let out: &Path = folder.path();
    for (text, says) in [
        (
            r#"{"version":1,"workload":"x","started_wall_ns":0,"is_final":true,"ranks":1,"nodes":[{"name":"../../etc","host":"x","ranks":[0]}]}"#,
            "plain name",
        ),
        ("{", "not the description of a set"),
        (r#"{"version":7}"#, "newer"),
    ] {
        std::fs::write(out.join("set.json"), text).unwrap();
        for command in ["show", "explain", "check"] {
            let ended = run(&format!("{command} {}", out.display())).expect_code(2);
            assert!(ended.error().contains(says), "{command}: {}", ended.stderr);
        }
    }
}
