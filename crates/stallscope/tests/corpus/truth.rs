//! What is true of each run: corpus/truth.toml.

use serde::Deserialize;
use serde_json::Value;

/// The file.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Truths {
    #[serde(default)]
    pub run: Vec<Truth>,
}

impl Truths {
    pub fn of(&self, name: &str) -> Option<&Truth> {
        self.run.iter().find(|truth| truth.name == name)
    }
}

/// The truth of one run. It follows from how the stall was made.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    pub name: String,
    /// The collection that it is from.
    #[allow(dead_code, reason = "for people")]
    pub from: String,
    /// How the stall was made, or why there is none.
    pub what: String,
    /// Why today's answer is wrong, where it is known to be.
    #[serde(default)]
    pub wrong: Option<String>,
    /// What is judged; several victims have one each.
    #[serde(default)]
    pub part: Vec<Part>,
    /// No operation is slow.
    #[serde(default)]
    pub quiet: bool,
    /// The machine also computed for others, or was emulated: what only waits for a CPU says nothing.
    #[serde(default)]
    pub busy: bool,
    /// Threads that waited for nothing that they had asked for: no stall is theirs.
    #[serde(default)]
    pub idle: Vec<u64>,
    /// It lacks what was recorded, and has to say so.
    #[serde(default)]
    pub incomplete: bool,
    /// Advice is asked for about the first victim alone (`--pid`): others had stalls of their own.
    #[serde(default)]
    pub scoped: bool,
}

impl Truth {
    /// Options that ask about the first victim: its thread, or its name.
    pub fn scope(&self) -> Option<[String; 2]> {
        let part = self.part.first().filter(|_| self.scoped)?;
        match (&part.task, part.operations.first()?.0) {
            (Some(task), _) => Some(["--comm".to_owned(), task.split('/').next().unwrap_or_default().to_owned()]),
            (None, 0) => None,
            (None, tid) => Some(["--pid".to_owned(), tid.to_string()]),
        }
    }
}

/// What is true of a victim.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    #[serde(default)]
    pub label: String,
    /// What the victim's own clock measured: thread or process, start and end on the monotonic clock.
    pub operations: Vec<(u64, u64, u64)>,
    /// Further threads of the victims.
    #[serde(default)]
    pub threads: Vec<u64>,
    /// Instead of these threads: a regular expression on the victims' cgroup, or the begins of their task and path.
    #[serde(default)]
    pub victims: Option<String>,
    #[serde(default)]
    pub task: Option<String>,
    #[serde(default)]
    pub path: String,
    /// Each operation is found if the difference is at most 5 %, or this; 0: all together to 80 %.
    #[serde(default)]
    pub tolerance_ms: u64,
    /// How much of its only operation lies within the recording, where it began before or lasts longer.
    #[serde(default)]
    pub within_ms: Option<u64>,
    /// Operations of the clock consist of several system calls: 80 % of each is enough.
    #[serde(default)]
    pub composite: bool,
    /// Causes any of which is right, and their least share together. None: at most a tenth is storage.
    #[serde(default)]
    pub causes: Vec<String>,
    #[serde(default)]
    pub least: f64,
    /// Regular expressions: one fits a line of the longest stall's chain, or one of the first three culprits of the
    /// victims' causes.
    #[serde(default)]
    pub chain: Option<String>,
    #[serde(default)]
    pub culprit: Option<String>,
    /// Any is the first culprit of a victim.
    #[serde(default)]
    pub first: Vec<Culprit>,
    /// Any is the first advice that saves a twentieth; empty: not judged.
    #[serde(default)]
    pub advice: Vec<Advice>,
}

/// Regular expressions on a culprit of the document; all that are given fit.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Culprit {
    #[serde(default)]
    pub task: Option<String>,
    #[serde(default)]
    pub cgroup: Option<String>,
    #[serde(default)]
    pub disk: Option<String>,
    #[serde(default)]
    pub any: Option<String>,
}

/// A change that helps: of a kind of wait, by a remedy, or that a program or cgroup do less.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    #[serde(default)]
    pub edge: Option<String>,
    #[serde(default)]
    pub remedy: Option<String>,
    #[serde(default)]
    pub absent: Option<String>,
    #[serde(default)]
    pub cgroup: Option<String>,
}

/// Whether a regular expression fits a text, which may be absent.
pub fn fits(pattern: &str, text: &Value) -> bool {
    fits_text(pattern, text.as_str().unwrap_or_default())
}

pub fn fits_text(pattern: &str, text: &str) -> bool {
    regex_lite::Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}")).is_match(text)
}
