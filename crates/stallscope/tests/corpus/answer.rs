//! What the program answers of a run, in short: corpus/answers.toml.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

use crate::document::{Said, causes, list, ns, share_of, text, times, total};

/// Least share that is kept: below it, what differs says nothing.
const LEAST: f64 = 0.02;
/// Difference of shares, in points, from which on it is a drift.
pub const DRIFT: f64 = 3.0;
const CULPRITS: usize = 3;

/// Names, each with a share in percent.
type Shares = Vec<(String, f64)>;

/// An answer in short.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// `right`, or what is wrong.
    pub verdict: String,
    /// Slow operations, and their time together in ms.
    pub operations: u64,
    pub wall_ms: f64,
    /// The longest of them: operation, task, causes.
    pub longest: String,
    /// Shares of all slow operations' time, and of the shorter waits where the headline is about these.
    pub groups: BTreeMap<&'static str, Shares>,
}

/// As it is read from the file.
#[derive(Debug, Default, Deserialize)]
struct Stored {
    verdict: String,
    #[serde(default)]
    operations: u64,
    #[serde(default)]
    wall_ms: f64,
    #[serde(default)]
    longest: String,
    #[serde(flatten)]
    groups: BTreeMap<String, BTreeMap<String, f64>>,
}

const GROUPS: [&str; 4] = ["causes", "short_waits", "culprits", "advice"];

impl Answer {
    pub fn of(said: &Said, verdict: String) -> Answer {
        let document = &said.all;
        let stalls: Vec<&Value> = list(&document["stalls"]).iter().collect();
        let wall = ns(&document["wall_ns"]);
        let short = &document["short_waits"];
        let short_times = if short["matter"] == true { times(list(&short["causes"]).iter()) } else { Vec::new() };
        let groups = [
            shares(times(list(&document["causes"]).iter()), wall),
            shares(short_times.clone(), total(&short_times)),
            culprits(document, wall),
            advice(said.advice()),
        ];
        Answer {
            verdict,
            operations: ns(&document["slow_operations"]),
            wall_ms: rounded(wall as f64 / 1e6),
            longest: longest(&stalls),
            groups: GROUPS.into_iter().zip(groups).collect(),
        }
    }

    /// A run that cannot be explained.
    pub fn failed(why: &str) -> Answer {
        Answer { verdict: why.to_owned(), ..Answer::default() }
    }

    pub fn is_right(&self) -> bool {
        self.verdict == "right"
    }

    /// Its lines in the file.
    pub fn toml(&self, name: &str) -> String {
        let mut text = format!("[{}]\nverdict = {}\n", quoted(name), quoted(&self.verdict));
        let _ = writeln!(text, "operations = {}\nwall_ms = {:.1}", self.operations, self.wall_ms);
        if !self.longest.is_empty() {
            let _ = writeln!(text, "longest = {}", quoted(&self.longest));
        }
        for group in GROUPS {
            for (at, (name, share)) in self.groups.get(group).into_iter().flatten().enumerate() {
                // One line each, so that a change is one line of a diff.
                let _ = writeln!(text, "{}{group}.{} = {share:.1}", if at == 0 { "" } else { "  " }, quoted(name));
            }
        }
        text
    }

    /// Differences from an answer that was accepted.
    pub fn drift(&self, accepted: &Answer) -> Vec<String> {
        let mut found = Vec::new();
        let mut differs = |what: &str, was: &dyn std::fmt::Display, is: &dyn std::fmt::Display| {
            found.push(format!("{what}: was {was}, is {is}"));
        };
        if self.verdict != accepted.verdict {
            differs("verdict", &accepted.verdict, &self.verdict);
        }
        if self.operations != accepted.operations {
            differs("slow operations", &accepted.operations, &self.operations);
        }
        if (self.wall_ms - accepted.wall_ms).abs() > accepted.wall_ms * DRIFT / 100.0 + 0.1 {
            differs("their time, ms", &accepted.wall_ms, &self.wall_ms);
        }
        if self.longest != accepted.longest {
            differs("longest", &accepted.longest, &self.longest);
        }
        for group in GROUPS {
            found.extend(drift_of(group, accepted.groups.get(group), self.groups.get(group)));
        }
        found
    }
}

fn drift_of(group: &str, was: Option<&Shares>, is: Option<&Shares>) -> Vec<String> {
    let empty = Shares::new();
    let (was, is) = (was.unwrap_or(&empty), is.unwrap_or(&empty));
    let share =
        |shares: &Shares, name: &str| shares.iter().find(|(known, _)| known == name).map_or(0.0, |(_, share)| *share);
    let names: std::collections::BTreeSet<&String> = was.iter().chain(is).map(|(name, _)| name).collect();
    let differing = names.into_iter().filter_map(|name| {
        let (was, is) = (share(was, name), share(is, name));
        ((was - is).abs() > DRIFT).then(|| format!("{group}: {name}: was {was:.1} %, is {is:.1} %"))
    });
    differing.collect()
}

fn shares(times: Vec<(String, u64)>, whole: u64) -> Shares {
    let share = |(name, ns): (String, u64)| (name, rounded(share_of(ns, whole) * 100.0));
    times.into_iter().map(share).filter(|(_, share)| *share >= LEAST * 100.0).collect()
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The part that the headline is about has its own list.
fn culprits(document: &Value, wall: u64) -> Shares {
    let named = |culprit: &Value| {
        let of = |key: &str, word: &str| culprit[key].as_str().map_or_else(String::new, |name| format!("{word}{name}"));
        let evicts = if culprit["evicts"] == true { " (filled the memory)" } else { "" };
        let words =
            [of("task", ""), of("role", " "), of("cgroup", " of "), of("device_name", " on ")].concat() + evicts;
        (
            format!("{}: {}", words.trim(), text(&culprit["cause"])),
            rounded(share_of(ns(&culprit["time_ns"]), wall) * 100.0),
        )
    };
    let all = list(&document["culprits"]).iter().map(named);
    all.filter(|(_, share)| *share >= LEAST * 100.0).take(CULPRITS).collect()
}

/// The first choice, and what it saves.
fn advice(document: &Value) -> Shares {
    let named = |choice: &Value| {
        let target = &choice["target"];
        let of =
            |key: &str, word: &str| target[key].as_str().map_or_else(String::new, |name| format!(" {word} {name}"));
        let remedy = choice["remedies"][0]["id"].as_str().map_or_else(String::new, |id| format!(" [{id}]"));
        // Names of mounts are those of the machine that was recorded.
        let mount = target["mount"].as_str().unwrap_or("MOUNT");
        let title = text(&choice["title"]).replace(mount, "MOUNT");
        let name = format!("{title}{remedy}{}{}", of("cgroup", "for"), of("device", "on"));
        (name, rounded(choice["saved_share"].as_f64().unwrap_or(0.0) * 100.0))
    };
    list(&document["what_if"]["choices"]).first().map(named).into_iter().collect()
}

fn longest(stalls: &[&Value]) -> String {
    let Some(longest) = stalls.iter().max_by_key(|stall| ns(&stall["duration_ns"])) else { return String::new() };
    let times = causes(&[longest]);
    let cause = times.first().map_or("-", |(cause, _)| cause);
    format!(
        "{} of {}, {:.2} s: {cause}",
        text(&longest["operation"]),
        text(&longest["task"]),
        ns(&longest["duration_ns"]) as f64 / 1e9
    )
}

/// As a TOML string.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// The accepted answers, by run.
pub fn read(text: &str) -> Result<BTreeMap<String, Answer>, toml::de::Error> {
    let stored: BTreeMap<String, Stored> = toml::from_str(text)?;
    let answer = |stored: Stored| {
        let Stored { verdict, operations, wall_ms, longest, groups } = stored;
        let group = |name: &'static str| {
            (name, groups.get(name).into_iter().flatten().map(|(name, share)| (name.clone(), *share)).collect())
        };
        Answer { verdict, operations, wall_ms, longest, groups: GROUPS.into_iter().map(group).collect() }
    };
    Ok(stored.into_iter().map(|(name, stored)| (name, answer(stored))).collect())
}
