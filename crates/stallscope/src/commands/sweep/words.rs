//! The command line of one run, and what its configuration varies.

use std::ffi::OsString;
use std::path::PathBuf;

use load::catalogue;
use model::run::Varied;
use sweep::{Setup, SweepFile};

use crate::ui::failure::Failure;

/// The arguments of a configuration's `stallscope run`. The runs of a block share a seed.
pub(super) fn words(
    file: &SweepFile,
    setup: &Setup,
    repetition: u32,
    directories: &[PathBuf],
) -> Result<Vec<OsString>, Failure> {
    if let Some(model) = &file.simulate {
        return Ok(words_of_model(file, model, setup, repetition));
    }
    let recipe = catalogue::find(&file.workload).map_err(Failure::usage)?;
    let mut words: Vec<OsString> = ["run", &file.workload].map(OsString::from).into();
    for (name, value) in &setup.variables {
        let variable = recipe.variable(name).map_err(Failure::usage)?;
        words.push(format!("--{}={value}", variable.flag).into());
    }
    for (flag, value) in &setup.options {
        match value.as_str() {
            "true" => words.push(format!("--{flag}").into()),
            "false" => {}
            value => words.push(format!("--{flag}={value}").into()),
        }
    }
    if !setup.options.contains_key("seed") {
        words.push(format!("--seed={}", file.seed.wrapping_add(u64::from(repetition))).into());
    }
    words.extend(directories.iter().map(|directory| directory.clone().into_os_string()));
    Ok(words)
}

/// The same for a model. The runs of a block share a seed, so their difference is not random.
fn words_of_model(file: &SweepFile, model: &str, setup: &Setup, repetition: u32) -> Vec<OsString> {
    let mut words = vec!["simulate".to_owned(), model.to_owned()];
    // Without one `simulate` plays all, which are several runs.
    words.extend(setup.policy.iter().map(|policy| format!("--policy={policy}")));
    words.extend(setup.parameters.iter().map(|(name, value)| format!("--set={name}={value}")));
    words.extend(setup.options.iter().map(|(flag, value)| format!("--{flag}={value}")));
    if !setup.options.contains_key("seed") {
        words.push(format!("--seed={}", file.seed.wrapping_add(u64::from(repetition))));
    }
    words.into_iter().map(OsString::from).collect()
}

/// What a configuration varies, with the unset variables that follow from it.
pub(super) fn varied(file: &SweepFile, setup: &Setup) -> Result<Vec<Varied>, Failure> {
    if file.simulate.is_some() {
        return Ok(setup.varied.clone());
    }
    let recipe = catalogue::find(&file.workload).map_err(Failure::usage)?;
    let noted = |varied: &Varied| {
        let root = match (varied.vary.as_str(), varied.key.as_str()) {
            ("variable", key) => key,
            ("option", "memory") => "memory",
            // Another kind of file system leaves different space for data.
            ("file_system" | "mkfs" | "mount", _) => "free_space",
            _ => return varied.clone(),
        };
        Varied { followers: recipe.dependents(&[root], &setup.variables), ..varied.clone() }
    };
    Ok(setup.varied.iter().map(noted).collect())
}

/// The error that a run ended with, from its standard error.
pub(super) fn complaint(stderr: &str) -> &str {
    stderr.rsplit_once("stallscope: ").map_or(stderr, |(_, error)| error).trim()
}
