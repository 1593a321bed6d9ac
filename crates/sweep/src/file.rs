//! The file that describes a sweep.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::SweepError;

/// Most runs of a sweep; more are surely a mistake.
const MAX_RUNS: u64 = 100_000;

/// A sweep file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepFile {
    /// Its name; part of a path.
    pub name: String,
    /// The workload: a recipe's name, or the path of a recipe file. Empty for a model.
    #[serde(default)]
    pub workload: String,
    /// The model that is simulated instead of a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulate: Option<String>,
    /// Parameters of the model, for all runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Scalar>,
    /// Seed of the order of runs, and of the load's choices: the same for all configurations of a block.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// Runs of each configuration.
    #[serde(default = "usual_repetitions")]
    pub repetitions: u32,
    /// Rest before each run.
    #[serde(default = "usual_settle")]
    pub settle: String,
    /// Whether the baseline runs twice in each block (A/A), which sets the noise floor.
    #[serde(default = "yes")]
    pub noise_floor: bool,
    /// Axis values of the baseline [default: the first of each].
    #[serde(default)]
    pub baseline: BTreeMap<String, Scalar>,
    /// Flags of `run`, for all runs: `memory`, `disk-bps`, `slower-than`, ...
    #[serde(default)]
    pub options: BTreeMap<String, Scalar>,
    /// Variables of the recipe, for all runs.
    #[serde(default)]
    pub variables: BTreeMap<String, Scalar>,
    /// The file system to make for each run; without it, runs use `directories`.
    pub file_system: Option<FileSystemSpec>,
    /// Directories to run in, if no file system is made.
    #[serde(default)]
    pub directories: Vec<String>,
    /// The varied settings.
    #[serde(default, rename = "axis")]
    pub axes: Vec<Axis>,
}

/// A file system that is made for each run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSystemSpec {
    /// `xfs`, `ext4` or `btrfs`.
    #[serde(default = "usual_kind")]
    pub kind: String,
    /// Size of its sparse image.
    #[serde(default = "usual_size")]
    pub size: String,
    /// Additional arguments for mkfs.
    #[serde(default)]
    pub mkfs: Vec<String>,
    /// Mount options.
    #[serde(default)]
    pub mount: Vec<String>,
    /// Directory for the image [default: one with enough space].
    pub place: Option<String>,
}

/// A varied setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Its name in results.
    pub name: String,
    /// Its kind.
    pub vary: AxisKind,
    /// The variable, option, sysctl or attribute, if its kind has several [default: the axis's name].
    pub key: Option<String>,
    /// The values to try.
    pub values: Vec<Scalar>,
    /// For commands: the command before each run, one per value. The run waits for its end.
    #[serde(default)]
    pub before: Vec<String>,
    /// For commands: the command after each run, one per value; it must undo `before`.
    #[serde(default)]
    pub after: Vec<String>,
}

/// Kinds of settings that can be varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisKind {
    /// A variable of the recipe.
    Variable,
    /// A flag of `run`: `memory`, `disk-bps`, `requests`.
    Option,
    /// The kind of file system.
    FileSystem,
    /// Arguments for mkfs, separated by blanks.
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
    /// A command before and a command after each run.
    Command,
    /// The policy of the model.
    Policy,
    /// A parameter of the model.
    Parameter,
}

impl AxisKind {
    /// Its name in sweep files.
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

/// A TOML value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// A boolean.
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
    /// Reads a sweep file; errors name the file, the place and the remedy.
    pub fn load(path: &Path) -> Result<SweepFile, SweepError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| SweepError::Unreadable { path: path.to_owned(), source })?;
        SweepFile::parse(path, &text)
    }

    /// Parses a sweep's text; errors call it `path`.
    pub fn parse(path: &Path, text: &str) -> Result<SweepFile, SweepError> {
        let mistake = |message: String| SweepError::Mistake { path: path.to_owned(), message };
        let file: SweepFile = toml::from_str(text).map_err(|error| mistake(error.to_string().trim_end().to_owned()))?;
        file.check().map_err(mistake)?;
        Ok(file)
    }

    /// The workload or model, for messages.
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
            return Err(format!("name = {:?}: write letters, digits, -, _ or . (at most 48)", self.name));
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
                    "say where to run: [file_system] makes a file system for each run, directories = [\"...\"] names \
                     directories"
                        .to_owned(),
                );
            }
            (Some(_), false) => return Err("[file_system] and directories are mutually exclusive".to_owned()),
            _ => {}
        }
        self.check_axes()?;
        self.check_baseline()?;
        let runs = self.axes.iter().map(|axis| axis.values.len() as u64).fold(1, u64::saturating_mul);
        let runs = runs.saturating_mul(u64::from(self.repetitions));
        if runs > MAX_RUNS {
            return Err(format!("the sweep has {runs} runs; at most {MAX_RUNS} are allowed"));
        }
        Ok(())
    }

    fn check_axes(&self) -> Result<(), String> {
        for (number, axis) in self.axes.iter().enumerate() {
            axis.check(self.file_system.is_some())?;
            axis.check_against(self.simulate.is_some())?;
            if self.axes[..number].iter().any(|other| other.name == axis.name) {
                return Err(format!("there are two axes '{}'", axis.name));
            }
        }
        Ok(())
    }

    fn check_baseline(&self) -> Result<(), String> {
        for (name, value) in &self.baseline {
            let Some(axis) = self.axes.iter().find(|axis| axis.name == *name) else {
                return Err(format!("baseline: there is no axis '{name}'"));
            };
            if !axis.values.contains(value) {
                return Err(format!("baseline: axis '{name}' has no value '{value}'"));
            }
        }
        Ok(())
    }
}

impl SweepFile {
    fn chooses_policy(&self) -> bool {
        self.options.contains_key("policy") || self.axes.iter().any(|axis| axis.vary == AxisKind::Policy)
    }

    /// Checks that it has either a workload or a model, and no settings of the other.
    fn check_what(&self) -> Result<(), String> {
        match (&self.simulate, self.workload.is_empty()) {
            (None, true) => Err("say what to run: workload = \"...\", or simulate = \"...\" for a model".to_owned()),
            (Some(_), false) => Err("workload and simulate are mutually exclusive".to_owned()),
            (None, false) if !self.parameters.is_empty() => {
                Err("[parameters] are for models; a recipe has [variables]".to_owned())
            }
            (Some(_), true) if self.file_system.is_some() || !self.directories.is_empty() => {
                Err("a model needs no directory: leave out [file_system] and directories".to_owned())
            }
            (Some(_), true) if !self.chooses_policy() => Err("name the policy of the model: [options] has \
                 policy = \"...\", or an axis has vary = \"policy\""
                .to_owned()),
            (Some(_), true) if !self.variables.is_empty() => {
                Err("[variables] are for recipes; a model has [parameters]".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl Axis {
    fn check_against(&self, simulated: bool) -> Result<(), String> {
        let of_model = matches!(self.vary, AxisKind::Policy | AxisKind::Parameter);
        match (simulated, of_model || self.vary == AxisKind::Option) {
            (true, false) => Err(format!("axis '{}': a model can vary policy, parameter and option", self.name)),
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
            return Err(format!("axis name {:?}: write a word without blanks or =", self.name));
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
            return wrong("needs [file_system]: without it the sweep makes no file system");
        }
        let commands = [("before", &self.before), ("after", &self.after)];
        for (what, list) in commands {
            if self.vary != AxisKind::Command && !list.is_empty() {
                return wrong("is not a command, so it takes no 'before' and no 'after'");
            }
            if self.vary == AxisKind::Command && list.len() != self.values.len() {
                return Err(format!("axis '{}' needs one '{what}' for each of its values (\"\" for none)", self.name));
            }
        }
        Ok(())
    }
}
