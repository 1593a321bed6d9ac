//! The file that describes a sweep.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::SweepError;

/// Most runs of a sweep: beyond it somebody has mistaken a range for a list.
const MAX_RUNS: u64 = 100_000;

/// A sweep as a person writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepFile {
    /// What it is called; part of a path.
    pub name: String,
    /// The workload that is run: a recipe's name, or the path of a recipe file. Empty for a model.
    #[serde(default)]
    pub workload: String,
    /// The model that is simulated instead of a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulate: Option<String>,
    /// Parameters of the model that all runs have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Scalar>,
    /// Seed of the order of runs, and of the load's choices in each block: all configurations of a block make the same.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// Runs of each configuration.
    #[serde(default = "usual_repetitions")]
    pub repetitions: u32,
    /// Rest before each run.
    #[serde(default = "usual_settle")]
    pub settle: String,
    /// Whether the baseline is run twice in each block, so that the noise between equals is known.
    #[serde(default = "yes")]
    pub noise_floor: bool,
    /// Values of axes that make the baseline [default: the first of each].
    #[serde(default)]
    pub baseline: BTreeMap<String, Scalar>,
    /// Flags of `run` that all runs have: `memory`, `disk-bps`, `slower-than`, ...
    #[serde(default)]
    pub options: BTreeMap<String, Scalar>,
    /// Variables of the recipe that all runs have.
    #[serde(default)]
    pub variables: BTreeMap<String, Scalar>,
    /// The file system that is made afresh for each run; without it runs are made in `directories`.
    pub file_system: Option<FileSystemSpec>,
    /// Directories to run in, where no file system is made.
    #[serde(default)]
    pub directories: Vec<String>,
    /// What is varied.
    #[serde(default, rename = "axis")]
    pub axes: Vec<Axis>,
}

/// A file system that is made afresh for each run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSystemSpec {
    /// `xfs`, `ext4` or `btrfs`.
    #[serde(default = "usual_kind")]
    pub kind: String,
    /// Size of its sparse image.
    #[serde(default = "usual_size")]
    pub size: String,
    /// Further words for mkfs.
    #[serde(default)]
    pub mkfs: Vec<String>,
    /// Mount options.
    #[serde(default)]
    pub mount: Vec<String>,
    /// Directory for the image [default: one with enough room].
    pub place: Option<String>,
}

/// One thing that is varied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What it is called in results.
    pub name: String,
    /// What kind of thing it is.
    pub vary: AxisKind,
    /// The variable, option, sysctl or attribute, where its kind has many; [default: the axis's name].
    pub key: Option<String>,
    /// The values to try.
    pub values: Vec<Scalar>,
    /// For commands: what is run before each run, by value's place. Its end is waited for.
    #[serde(default)]
    pub before: Vec<String>,
    /// For commands: what is run after each run, by value's place; it must take back what `before` did.
    #[serde(default)]
    pub after: Vec<String>,
}

/// Kinds of things that can be varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisKind {
    /// A variable of the recipe.
    Variable,
    /// A flag of `run`: `memory`, `disk-bps`, `requests`.
    Option,
    /// The kind of file system.
    FileSystem,
    /// Words for mkfs, separated by blanks.
    Mkfs,
    /// Mount options, separated by commas.
    Mount,
    /// The I/O scheduler of the device under test.
    Scheduler,
    /// An attribute of the device's queue: `nr_requests`, `wbt_lat_usec`.
    Queue,
    /// An attribute of the device's share of dirty memory: `max_ratio`.
    Bdi,
    /// A sysctl: `vm.dirty_ratio`.
    Sysctl,
    /// A command before and one after each run.
    Command,
    /// The policy of the model.
    Policy,
    /// A parameter of the model.
    Parameter,
}

impl AxisKind {
    /// As sweep files call it.
    pub fn name(self) -> &'static str {
        match self {
            AxisKind::Variable => "variable",
            AxisKind::Option => "option",
            AxisKind::FileSystem => "file_system",
            AxisKind::Mkfs => "mkfs",
            AxisKind::Mount => "mount",
            AxisKind::Scheduler => "scheduler",
            AxisKind::Queue => "queue",
            AxisKind::Bdi => "bdi",
            AxisKind::Sysctl => "sysctl",
            AxisKind::Command => "command",
            AxisKind::Policy => "policy",
            AxisKind::Parameter => "parameter",
        }
    }
}

/// A value as TOML has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Flag(value) => write!(f, "{value}"),
            Scalar::Whole(value) => write!(f, "{value}"),
            Scalar::Number(value) => write!(f, "{value}"),
            Scalar::Text(value) => f.write_str(value),
        }
    }
}

fn first_seed() -> u64 {
    1
}

fn usual_repetitions() -> u32 {
    10
}

fn usual_settle() -> String {
    "1s".to_owned()
}

fn usual_kind() -> String {
    "xfs".to_owned()
}

fn usual_size() -> String {
    "4g".to_owned()
}

fn yes() -> bool {
    true
}

impl SweepFile {
    /// Reads a sweep; mistakes name the file, the place and the remedy.
    pub fn load(path: &Path) -> Result<SweepFile, SweepError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| SweepError::Unreadable { path: path.to_owned(), source })?;
        SweepFile::parse(path, &text)
    }

    /// Reads a sweep's text; `path` is what mistakes call it.
    pub fn parse(path: &Path, text: &str) -> Result<SweepFile, SweepError> {
        let mistake = |message: String| SweepError::Mistake { path: path.to_owned(), message };
        let file: SweepFile = toml::from_str(text).map_err(|error| mistake(error.to_string().trim_end().to_owned()))?;
        file.check().map_err(mistake)?;
        Ok(file)
    }

    /// What is run, in a word or two.
    pub fn what(&self) -> String {
        self.simulate.as_ref().map_or_else(|| self.workload.clone(), |model| format!("the model '{model}'"))
    }

    /// Rest before each run, ns. A model needs none.
    pub fn settle_ns(&self) -> u64 {
        if self.simulate.is_some() {
            return 0;
        }
        model::quantity::parse_duration(&self.settle).unwrap_or(0)
    }

    fn check(&self) -> Result<(), String> {
        let plain = |name: &str| {
            !name.is_empty() && name.len() <= 48 && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        if !plain(&self.name) || self.name.starts_with('.') {
            return Err(format!("name = \"{}\": write letters, digits, -, _ or . (at most 48)", self.name));
        }
        if self.repetitions == 0 {
            return Err("repetitions must be at least 1; a verdict needs 5, and 10 are usual".to_owned());
        }
        model::quantity::parse_duration(&self.settle).map_err(|error| format!("settle: {error}"))?;
        if let Some(made) = &self.file_system {
            model::quantity::parse_size(&made.size).map_err(|error| format!("file_system.size: {error}"))?;
        }
        self.check_what()?;
        match (&self.file_system, self.directories.is_empty()) {
            (None, true) if self.simulate.is_some() => {}
            (None, true) => {
                return Err(
                    "say where to run: [file_system] makes one afresh for each run, directories = [\"...\"] names some"
                        .to_owned(),
                );
            }
            (Some(_), false) => return Err("[file_system] and directories exclude each other".to_owned()),
            _ => {}
        }
        for (number, axis) in self.axes.iter().enumerate() {
            axis.check(self.file_system.is_some())?;
            axis.check_against(self.simulate.is_some())?;
            if self.axes[..number].iter().any(|other| other.name == axis.name) {
                return Err(format!("there are two axes '{}'", axis.name));
            }
        }
        for (name, value) in &self.baseline {
            let Some(axis) = self.axes.iter().find(|axis| axis.name == *name) else {
                return Err(format!("baseline: there is no axis '{name}'"));
            };
            if !axis.values.contains(value) {
                return Err(format!("baseline: axis '{name}' has no value '{value}'"));
            }
        }
        let runs = self.axes.iter().map(|axis| axis.values.len() as u64).fold(1, u64::saturating_mul);
        let runs = runs.saturating_mul(u64::from(self.repetitions));
        if runs > MAX_RUNS {
            return Err(format!("these are {runs} runs; at most {MAX_RUNS} can be planned"));
        }
        Ok(())
    }
}

impl SweepFile {
    fn chooses_policy(&self) -> bool {
        self.options.contains_key("policy") || self.axes.iter().any(|axis| axis.vary == AxisKind::Policy)
    }

    /// Either a workload or a model, and nothing of the other.
    fn check_what(&self) -> Result<(), String> {
        match (&self.simulate, self.workload.is_empty()) {
            (None, true) => Err("say what to run: workload = \"...\", or simulate = \"...\" for a model".to_owned()),
            (Some(_), false) => Err("workload and simulate exclude each other".to_owned()),
            (None, false) if !self.parameters.is_empty() => {
                Err("[parameters] are a model's; a recipe has [variables]".to_owned())
            }
            (Some(_), true) if self.file_system.is_some() || !self.directories.is_empty() => {
                Err("a model runs nowhere: leave out [file_system] and directories".to_owned())
            }
            (Some(_), true) if !self.chooses_policy() => Err("name the policy of the model: [options] has \
                 policy = \"...\", or an axis has vary = \"policy\""
                .to_owned()),
            (Some(_), true) if !self.variables.is_empty() => {
                Err("[variables] are a recipe's; a model has [parameters]".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl Axis {
    fn check_against(&self, simulated: bool) -> Result<(), String> {
        let of_model = matches!(self.vary, AxisKind::Policy | AxisKind::Parameter);
        match (simulated, of_model || self.vary == AxisKind::Option) {
            (true, false) => Err(format!("axis '{}': of a model, policy, parameter and option can vary", self.name)),
            (false, _) if of_model => Err(format!("axis '{}': only a model has policies and parameters", self.name)),
            _ => Ok(()),
        }
    }

    /// The variable, option, sysctl or attribute.
    pub fn key(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.name)
    }

    fn check(&self, makes_file_system: bool) -> Result<(), String> {
        let wrong = |why: &str| Err(format!("axis '{}' {why}", self.name));
        if self.name.is_empty() || self.name.chars().any(|c| c.is_whitespace() || c == '=' || c.is_control()) {
            return Err(format!("axis name \"{}\": write a word without blanks and =", self.name));
        }
        if self.values.is_empty() {
            return wrong("has no values");
        }
        if self.values.iter().enumerate().any(|(number, value)| self.values[..number].contains(value)) {
            return wrong("has a value twice");
        }
        if self.values.iter().any(|value| value.to_string().chars().any(char::is_control)) {
            return wrong("has a value with a control character");
        }
        let needs_one = matches!(self.vary, AxisKind::FileSystem | AxisKind::Mkfs | AxisKind::Mount);
        if needs_one && !makes_file_system {
            return wrong("needs [file_system]: the file system under test is not ours to make");
        }
        let commands = [("before", &self.before), ("after", &self.after)];
        for (what, list) in commands {
            if self.vary != AxisKind::Command && !list.is_empty() {
                return wrong("is no command, so it has no 'before' and no 'after'");
            }
            if self.vary == AxisKind::Command && list.len() != self.values.len() {
                return Err(format!("axis '{}' needs one '{what}' for each of its values (\"\" for none)", self.name));
            }
        }
        Ok(())
    }
}
