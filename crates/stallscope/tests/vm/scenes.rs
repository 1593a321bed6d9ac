//! Known stalls, one after the other in one recording, since loading the tracer takes long here; and what was found of
//! each.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::stage::{folder, run};

/// Minimum share of a stall's time for its cause.
const ENOUGH: f64 = 0.8;
const MS: u64 = 1_000_000;

/// A known stall.
pub struct Scene {
    pub name: &'static str,
    /// Shell commands that cause it.
    pub script: String,
    /// Class of its slow operations, and the end of the path that they name.
    pub operation: &'static str,
    pub path: String,
    /// One, or several between `|`.
    pub cause: &'static str,
    /// What these operations take at least, together.
    pub at_least_ms: u64,
    /// The device whose requests they waited for (`major:minor`).
    pub device: Option<String>,
    /// Prefix of the name of a task in the chain of the longest; one, or several between `|`.
    pub waited_for: Option<&'static str>,
    /// What is said of a request that failed, in part; parts between `...`.
    pub failure: Option<&'static str>,
    /// The mapper that held back what was written or read, as the detail of one of its causes says.
    pub held_in: Option<String>,
}

/// What was found of a scene.
struct Found<'a> {
    stalls: Vec<&'a Value>,
    all_ns: u64,
    by_cause_ns: u64,
}

pub fn tool(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Whether the kernel is at least this one.
pub fn is_since(major: u32, minor: u32) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(major), Some(minor))
}

/// `major:minor` of a block device by its name in /sys/block.
pub fn number_of(name: &str) -> String {
    std::fs::read_to_string(format!("/sys/block/{name}/dev")).unwrap().trim().to_owned()
}

/// Records all scenes, prints a row for each, and panics with what is wrong.
pub fn play(scenes: &[Scene]) {
    let (mut complaints, lost) = play_once(&scenes.iter().collect::<Vec<_>>());
    // Time in which rows were lost is unexplained: since Linux 7.0 the kernel skips programs now and then.
    if lost && !complaints.is_empty() {
        let again: Vec<&Scene> = complaints.iter().map(|(scene, _)| *scene).collect();
        println!("row: again, since events were lost: {}", again.len());
        complaints = play_once(&again).0;
    }
    let texts: Vec<String> = complaints.into_iter().map(|(_, text)| text).collect();
    assert!(texts.is_empty(), "{}", texts.join("\n"));
}

/// What is wrong with which of them, and whether events were lost.
fn play_once<'a>(scenes: &[&'a Scene]) -> (Vec<(&'a Scene, String)>, bool) {
    let folder = folder();
    let script: Vec<&str> = scenes.iter().map(|scene| scene.script.as_str()).collect();
    let document = explained(folder.path(), &script.join("\n"));
    let lost = &document["losses"]["lost"];
    println!("row: lost: {lost}");
    let judged = scenes.iter().map(|scene| (*scene, judge(scene, &document)));
    let complaints = judged.filter(|(_, wrong)| !wrong.is_empty()).map(|(scene, wrong)| (scene, wrong.join("\n")));
    (complaints.collect(), lost.as_object().is_some_and(|lost| !lost.is_empty()))
}

/// The explanation. On a busy machine the emulator may be too slow for the archive to close in time: then once more.
fn explained(folder: &Path, script: &str) -> Value {
    let file = folder.join("script");
    std::fs::write(&file, script).unwrap();
    for attempt in ["first", "second"] {
        let out = folder.join(attempt);
        let ended = run(&format!("record --slower-than 40ms -q --out {} -- sh {}", out.display(), file.display()));
        println!("{}", ended.stderr);
        if ended.code == Some(0) {
            keep(&out);
            return run(&format!("explain --worst 100000 --json {}", out.display())).expect_code(0).document();
        }
    }
    panic!("the recording was cut off twice");
}

/// With `scripts/test-vm -r`.
fn keep(run: &Path) {
    let Some(folder) = std::env::var_os("STALLSCOPE_VM_RECORDINGS") else { return };
    let test = std::thread::current().name().unwrap_or("test").replace("::", "-");
    std::fs::create_dir_all(&folder).unwrap();
    tool("cp", &["-r", &run.display().to_string(), &Path::new(&folder).join(test).display().to_string()]);
}

fn find<'a>(scene: &Scene, document: &'a Value) -> Found<'a> {
    let is_at = |stall: &Value| stall["path"].as_str().is_some_and(|path| path.ends_with(&scene.path));
    let is_of = |stall: &&Value| stall["operation"] == scene.operation && is_at(stall);
    let stalls: Vec<&Value> = document["stalls"].as_array().unwrap().iter().filter(is_of).collect();
    let ns = |value: &Value| value.as_u64().unwrap();
    let causes = stalls.iter().flat_map(|stall| stall["causes"].as_array().unwrap());
    let is_cause = |cause: &&Value| scene.cause.split('|').any(|name| cause["cause"] == name);
    let by_cause_ns = causes.filter(is_cause).map(|cause| ns(&cause["time_ns"])).sum();
    let all_ns = stalls.iter().map(|stall| ns(&stall["duration_ns"])).sum();
    Found { stalls, all_ns, by_cause_ns }
}

fn judge(scene: &Scene, document: &Value) -> Vec<String> {
    let Scene { name, cause, .. } = scene;
    let found = find(scene, document);
    let longest = found.stalls.iter().max_by_key(|stall| stall["duration_ns"].as_u64());
    let share = found.by_cause_ns as f64 / found.all_ns.max(1) as f64;
    let device = device_of(&found.stalls);
    let tasks = longest.map(|longest| chain_of(longest)).unwrap_or_default();
    println!(
        "row: | {name} | `{cause}` | {} | {:.1} % | {device} | {} |",
        found.all_ns / MS,
        share * 100.0,
        tasks.join(" < ")
    );
    let mut complaints = Vec::new();
    if found.all_ns < scene.at_least_ms * MS {
        let others = if found.stalls.is_empty() { all_stalls(document) } else { String::new() };
        complaints.push(format!("{name}: only {} of {} ms were found{others}", found.all_ns / MS, scene.at_least_ms));
    }
    if share < ENOUGH {
        complaints.push(format!("{name}: {cause} has only {:.1} %", share * 100.0));
    }
    if scene.device.as_ref().is_some_and(|expected| expected.replace(':', ",") != device) {
        complaints.push(format!("{name}: the device is {device}, not {:?}", scene.device));
    }
    let is_in_chain = |whom: &str| tasks.iter().skip(1).any(|task| task.starts_with(whom));
    if scene.waited_for.is_some_and(|whom| !whom.split('|').any(is_in_chain)) {
        complaints.push(format!("{name}: the chain does not lead to {:?}", scene.waited_for));
    }
    let says =
        |words: &str| found.stalls.iter().any(|stall| words.split("...").all(|part| failure_of(stall).contains(part)));
    if scene.failure.is_some_and(|words| !says(words)) {
        complaints.push(format!("{name}: nothing says {:?}", scene.failure));
    }
    if let Some(mapper) = scene.held_in.as_ref().filter(|mapper| !is_held_in(&found.stalls, mapper)) {
        complaints.push(format!("{name}: nothing says that {mapper} held it back"));
    }
    if let (false, Some(longest)) = (complaints.is_empty(), longest) {
        complaints.push(format!("{longest:#}"));
    }
    complaints
}

/// What was found instead.
fn all_stalls(document: &Value) -> String {
    let stalls = document["stalls"].as_array().unwrap().iter();
    stalls
        .map(|stall| {
            format!("\n    {} {} {} {}", stall["operation"], stall["path"], stall["task"], stall["duration_ns"])
        })
        .collect()
}

/// The device whose requests ended most of the waits, if they name no other. The emulator is slow enough for some waits
/// not to be matched with their request.
fn device_of<'a>(stalls: &[&'a Value]) -> &'a str {
    let devices: Vec<&str> = stalls.iter().filter_map(|stall| stall["request"]["device"].as_str()).collect();
    let is_one = devices.windows(2).all(|pair| pair[0] == pair[1]) && devices.len() * 2 >= stalls.len();
    devices.first().filter(|_| is_one).copied().unwrap_or("-")
}

fn failure_of(stall: &Value) -> &str {
    stall["request"]["failure"].as_str().unwrap_or_default()
}

fn is_held_in(stalls: &[&Value], mapper: &str) -> bool {
    let causes = stalls.iter().flat_map(|stall| stall["causes"].as_array().unwrap());
    let mut details = causes.filter_map(|cause| cause["detail"].as_str());
    details.any(|detail| detail.starts_with(&format!("held back in {mapper}")))
}

fn chain_of(stall: &Value) -> Vec<String> {
    let links = stall["chain"].as_array().unwrap().iter();
    links.map(|link| link["task"].as_str().unwrap_or("-").to_owned()).collect()
}
