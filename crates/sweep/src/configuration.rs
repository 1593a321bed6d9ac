//! Every combination of the values of all axes.

use std::collections::BTreeMap;

use model::run::Varied;
use serde::{Deserialize, Serialize};

use crate::{Axis, AxisKind, FileSystemSpec, Scalar, SweepFile};

/// A configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// `fs=xfs threads=4`; `baseline` where nothing is varied.
    pub name: String,
    /// Axis and value of each.
    pub settings: Vec<(String, String)>,
    /// What kind of setting each of them is.
    pub varied: Vec<Varied>,
    /// Flags of `run`.
    pub options: BTreeMap<String, String>,
    /// Variables of the recipe.
    pub variables: BTreeMap<String, String>,
    /// The file system to make.
    pub file_system: Option<FileSystemSpec>,
    /// The I/O scheduler to choose.
    pub scheduler: Option<String>,
    /// Attributes of the device's queue.
    pub queue: BTreeMap<String, String>,
    /// Attributes of the device's share of dirty memory.
    pub bdi: BTreeMap<String, String>,
    /// Sysctls.
    pub sysctls: BTreeMap<String, String>,
    /// Commands before and after each run.
    pub commands: Vec<RunHooks>,
    /// The policy of the model.
    pub policy: Option<String>,
    /// Parameters of the model.
    pub parameters: BTreeMap<String, String>,
}

/// Commands before and after each run of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHooks {
    /// For `sh -c`; empty for none.
    pub before: String,
    /// For `sh -c`; empty for none.
    pub after: String,
}

/// All configurations, the baseline first, then in the order of the axes' values, the last axis fastest.
pub fn configurations(file: &SweepFile) -> Vec<Setup> {
    let mut chosen: Vec<Vec<usize>> = vec![Vec::new()];
    for axis in &file.axes {
        chosen = chosen
            .into_iter()
            .flat_map(|places| (0..axis.values.len()).map(move |place| places.iter().copied().chain([place]).collect()))
            .collect();
    }
    let baseline: Vec<usize> = file.axes.iter().map(|axis| baseline_place(file, axis)).collect();
    let (mut all, rest): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|places| *places == baseline);
    all.extend(rest);
    all.iter().map(|places| setup(file, places)).collect()
}

fn baseline_place(file: &SweepFile, axis: &Axis) -> usize {
    let asked = file.baseline.get(&axis.name);
    asked.and_then(|asked| axis.values.iter().position(|value| value == asked)).unwrap_or(0)
}

fn setup(file: &SweepFile, places: &[usize]) -> Setup {
    let texts = |values: &BTreeMap<String, Scalar>| values.iter().map(|(k, v)| (k.clone(), v.to_string())).collect();
    let mut setup = Setup {
        name: String::new(),
        settings: Vec::new(),
        varied: Vec::new(),
        options: texts(&file.options),
        variables: texts(&file.variables),
        file_system: file.file_system.clone(),
        scheduler: None,
        queue: BTreeMap::new(),
        bdi: BTreeMap::new(),
        sysctls: BTreeMap::new(),
        commands: Vec::new(),
        policy: None,
        parameters: texts(&file.parameters),
    };
    for (axis, place) in file.axes.iter().zip(places) {
        setup.vary(axis, *place);
    }
    let words: Vec<String> = setup.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    setup.name = if words.is_empty() { "baseline".to_owned() } else { words.join(" ") };
    setup
}

impl Setup {
    fn vary(&mut self, axis: &Axis, place: usize) {
        let value = axis.values[place].to_string();
        let key = axis.key().to_owned();
        self.settings.push((axis.name.clone(), value.clone()));
        let vary = axis.vary.name().to_owned();
        self.varied.push(Varied { name: axis.name.clone(), vary, key: key.clone(), followers: Vec::new() });
        match (axis.vary, &mut self.file_system) {
            (AxisKind::Variable, _) => drop(self.variables.insert(key, value)),
            (AxisKind::Option, _) => drop(self.options.insert(key, value)),
            (AxisKind::Policy, _) => self.policy = Some(value),
            (AxisKind::Parameter, _) => drop(self.parameters.insert(key, value)),
            (AxisKind::Scheduler, _) => self.scheduler = Some(value),
            (AxisKind::Queue, _) => drop(self.queue.insert(key, value)),
            (AxisKind::Bdi, _) => drop(self.bdi.insert(key, value)),
            (AxisKind::Sysctl, _) => drop(self.sysctls.insert(key, value)),
            (AxisKind::Command, _) => {
                self.commands.push(RunHooks { before: axis.before[place].clone(), after: axis.after[place].clone() });
            }
            (AxisKind::FileSystem, Some(made)) => made.kind = value,
            (AxisKind::Mkfs, Some(made)) => made.mkfs.extend(value.split_whitespace().map(str::to_owned)),
            (AxisKind::Mount, Some(made)) => {
                made.mount.extend(value.split(',').filter(|word| !word.is_empty()).map(str::to_owned));
            }
            // Refused when the file is read.
            (AxisKind::FileSystem | AxisKind::Mkfs | AxisKind::Mount, None) => {}
        }
    }

    /// Whether it changes machine settings, which needs root.
    pub fn changes_the_machine(&self) -> bool {
        let values = [&self.queue, &self.bdi, &self.sysctls];
        self.scheduler.is_some() || self.file_system.is_some() || values.iter().any(|values| !values.is_empty())
    }
}
