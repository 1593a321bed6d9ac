//! Runs whose rows somebody made up: all checksums are right, and numbers, references and names are not what a recorder
//! writes. Each command answers or refuses, within bounds of time and memory.

use std::path::Path;

use archive::{Batches, Run, Writer, WriterOptions};
use model::stall::{RequestRecord, Traced};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Plan;
use crate::aftermath::ask_bounded;
use crate::pool::side_by_side;
use crate::random::Random;
use crate::report::Report;
use crate::victim::{Scene, VICTIMS, Verdict};

const COMMANDS: [&str; 7] = [
    "show --json",
    "explain --json",
    "explain --what-if",
    "check",
    "top --once",
    "report -o OUT",
    "export -o OUT --to FORMAT",
];
const FORMATS: [&str; 5] = ["csv", "parquet", "perfetto", "openmetrics", "pcp"];

/// Crafts that number of runs from a recorded one.
pub fn campaign(plan: &Plan) -> Report {
    let mut report = Report::default();
    let traced = VICTIMS.iter().find(|victim| victim.name == "traced").expect("a victim is traced");
    let scene = Scene::new(*traced);
    match scene.attack(std::time::Duration::from_secs(60), [], |_, _, _| Verdict::Pass) {
        Ok(course) if course.code == 0 => {}
        other => report.finding(format!("no run to craft from: {:?}", other.map(|course| course.stderr))),
    }
    let original = Run::open(&scene.folder().join("run")).expect("the run was recorded");
    let points: Vec<u64> = (0..plan.points).collect();
    side_by_side(plan.at_a_time, &points, &mut report, |point| craft_and_ask(&original, plan.seed, *point));
    report
}

fn craft_and_ask(original: &Run, seed: u64, point: u64) -> Report {
    let mut report = Report::default();
    let mut random = Random::new(seed.wrapping_mul(1_000_003) + point);
    let folder = crate::remains::folder();
    let run = folder.path().join("run");
    let mutations = 1 << random.below(6);
    let changed = Craft { random: &mut random, left: mutations, changed: Vec::new() }.write(original, &run);
    let format = FORMATS[random.below(FORMATS.len() as u64) as usize];
    for command in COMMANDS {
        report.tried(format!("`{}` of crafted runs", command.split(' ').next().unwrap_or_default()));
        let command = command.replace("OUT", &folder.path().join("out").display().to_string());
        let words: Vec<String> = command.replace("FORMAT", format).split(' ').map(str::to_owned).collect();
        if let Some(problem) = ask_bounded(&words, &run) {
            report.finding(format!("point {point}, {command} ({format}): {problem}; {}", changed.join(", ")));
        }
    }
    report
}

/// Changes values of rows, a few of all.
struct Craft<'a> {
    random: &'a mut Random,
    left: u64,
    changed: Vec<String>,
}

impl Craft<'_> {
    /// Writes the run's rows again, some of them changed, and says which.
    fn write(mut self, run: &Run, to: &Path) -> Vec<String> {
        let mut description = run.description().clone();
        if self.random.below(4) == 0 {
            description = self.row("run.json", description, 1);
        }
        let options = WriterOptions { sync: false, reserve_bytes: 64 << 10, ..WriterOptions::default() };
        let mut writer = Writer::create(to, &description, options).expect("a run can be written");
        writer.describe(&self.table("descriptors", run.descriptors()));
        let samples = self.table("samples", run.samples());
        let changes = self.table("metrics", run.changes());
        for header in samples {
            let own: Vec<_> = changes.iter().filter(|change| change.sample == header.sample).copied().collect();
            writer.sample(header, &own);
        }
        writer.intervals(self.table("intervals", run.intervals()));
        writer.operations(self.table("operations", run.operations()));
        writer.traced(&mut self.traced(run));
        for event in self.rows("events", run.events().to_vec()) {
            writer.event(event);
        }
        let started = description.started;
        writer.close(started).expect("a run can be closed");
        self.changed
    }

    fn traced(&mut self, run: &Run) -> Traced {
        Traced {
            stalls: self.table("stalls", run.stalls()),
            stacks: self.table("stacks", run.stacks()),
            tasks: self.table("tasks", run.tasks()),
            user_stacks: self.table("user_stacks", run.user_stacks()),
            user_frames: self.table("user_frames", run.user_frames()),
            requests: self.requests(run),
            request_intervals: run.request_intervals().flatten().flatten().collect(),
            usage: run.usage().flatten().flatten().collect(),
        }
    }

    /// Their type is not one of JSON.
    fn requests(&mut self, run: &Run) -> Vec<RequestRecord> {
        let mut requests: Vec<RequestRecord> = run.requests().flatten().flatten().collect();
        for _ in 0..self.random.below(3).min(requests.len() as u64) {
            let chosen = self.random.below(requests.len() as u64) as usize;
            let request = &mut requests[chosen];
            let number = self.number();
            let field = self.random.below(8);
            self.changed.push(format!("requests[{chosen}].{field} = {number}"));
            match field {
                0 => request.completed_ns = number,
                1 => request.queued_ns = Some(number),
                2 => request.got_ns = Some(number),
                3 => request.inserted_ns = Some(number),
                4 => request.issued_ns = Some(number),
                5 => request.sector = number,
                6 => request.bytes = number as u32,
                _ => request.request = number as u32,
            }
        }
        requests
    }

    fn table<Row: Serialize + DeserializeOwned>(&mut self, name: &str, batches: Batches<Row>) -> Vec<Row> {
        self.rows(name, batches.flatten().flatten().collect())
    }

    fn rows<Row: Serialize + DeserializeOwned>(&mut self, name: &str, mut rows: Vec<Row>) -> Vec<Row> {
        let wanted = if self.random.below(2) == 0 { 0 } else { self.left.div_ceil(3) };
        for _ in 0..wanted {
            if rows.is_empty() {
                return rows;
            }
            let chosen = self.random.below(rows.len() as u64) as usize;
            let row = rows.swap_remove(chosen);
            let row = self.row(&format!("{name}[{chosen}]"), row, 1);
            rows.push(row);
            let last = rows.len() - 1;
            rows.swap(chosen, last);
        }
        rows
    }

    /// The row with values changed, if it then is one.
    fn row<Row: Serialize + DeserializeOwned>(&mut self, name: &str, row: Row, values: u64) -> Row {
        let mut value = serde_json::to_value(&row).expect("a row is a document");
        let mut changed = Vec::new();
        for _ in 0..values {
            let mut leaves = Vec::new();
            find_leaves(&mut value, String::new(), &mut leaves);
            let chosen = self.random.below(leaves.len() as u64) as usize;
            let Some((path, leaf)) = leaves.into_iter().nth(chosen) else { return row };
            *leaf = if leaf.is_string() { json!(self.text()) } else { json!(self.number()) };
            changed.push(format!("{name}{path} = {leaf}"));
        }
        match serde_json::from_value(value) {
            Ok(changed_row) => {
                self.changed.extend(changed);
                changed_row
            }
            Err(_) => row,
        }
    }

    fn number(&mut self) -> u64 {
        let near = self.random.below(1 << 40);
        let numbers = [
            0,
            1,
            2,
            63,
            1 << 31,
            u64::from(u32::MAX),
            1 << 53,
            i64::MAX as u64,
            u64::MAX,
            u64::MAX - 1,
            1 << 62,
            near,
        ];
        numbers[self.random.below(numbers.len() as u64) as usize]
    }

    fn text(&mut self) -> String {
        let texts = ["", "/", "8:0", "\u{0}", "..", "a\u{300}\u{202e}", "4294967295:1048576", "cgroups.memory", "%s%n"];
        let long = "x".repeat(70_000);
        match self.random.below(texts.len() as u64 + 1) as usize {
            9 => long,
            chosen => texts[chosen].to_owned(),
        }
    }
}

/// All values that hold no others, with the path of each.
fn find_leaves<'a>(value: &'a mut Value, path: String, found: &mut Vec<(String, &'a mut Value)>) {
    let holds_others = value.as_array().is_some_and(|items| !items.is_empty())
        || value.as_object().is_some_and(|fields| !fields.is_empty());
    if !holds_others {
        return found.push((path, value));
    }
    match value {
        Value::Array(items) => {
            items.iter_mut().enumerate().for_each(|(at, item)| find_leaves(item, format!("{path}[{at}]"), found));
        }
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, field)| find_leaves(field, format!("{path}.{name}"), found));
        }
        _ => {}
    }
}
