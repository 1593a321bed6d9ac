//! The program, as a user starts it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anonymize::Substitution;
use serde_json::Value;

use crate::document::Said;
use crate::truth::Truth;

/// All stalls are judged.
const WORST: &str = "100000";

/// A program to be asked.
#[derive(Debug, Clone)]
pub struct Program(PathBuf);

/// A run by other names.
pub struct Renamed {
    /// The copy.
    pub copy: tempfile::TempDir,
    /// What is said of the copy and not of the run, but for the names.
    pub differences: Vec<String>,
    /// What the program lists that is still in it.
    pub left: Value,
}

impl Program {
    /// That of this build.
    pub fn built() -> Program {
        Program(PathBuf::from(env!("CARGO_BIN_EXE_stallscope")))
    }

    pub fn at(path: &str) -> Program {
        Program(PathBuf::from(path))
    }

    /// What it says of a run. The run's own directory is not part of it.
    pub fn explain(&self, run: &Path) -> Result<Value, String> {
        self.explain_with(run, Vec::new())
    }

    /// The same, and of the thread that the truth asks advice about.
    pub fn said(&self, run: &Path, truth: Option<&Truth>) -> Result<Said, String> {
        let scope = truth.and_then(Truth::scope);
        let of_victim = scope.map(|options| self.explain_with(run, options.to_vec()));
        Ok(Said { all: self.explain(run)?, of_victim: of_victim.transpose()? })
    }

    fn explain_with(&self, run: &Path, options: Vec<String>) -> Result<Value, String> {
        let words = ["explain", "--json", "--worst", WORST].map(str::to_owned);
        let mut document = self.document(words.into_iter().chain([text(run)]).chain(options).collect())?;
        document["run"] = Value::Null;
        // Which parts of it have room depends on the length of names. Its values are elsewhere in the document.
        for headline in ["/answer/headline", "/answer/machine/headline"] {
            document.pointer_mut(headline).into_iter().for_each(|headline| *headline = Value::Null);
        }
        for list in ["damage", "lost", "untraced"] {
            document[list].as_array_mut().into_iter().flatten().for_each(|item| item["run"] = Value::Null);
        }
        Ok(document)
    }

    /// Anonymizes a run, and compares what is said of it before and after.
    pub fn renamed(&self, run: &Path, options: &[&str], prefix: &str) -> Result<Renamed, String> {
        let copy = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (target, map) = (copy.path().join("run"), copy.path().join("map"));
        let words = ["anonymize", "--json", "--prefix", prefix, "-o"].map(str::to_owned).into_iter();
        let words = words.chain([text(&target), "--map".to_owned(), text(&map), text(run)]);
        let left = self.document(words.chain(options.iter().map(|word| (*word).to_owned())).collect())?;
        let map = std::fs::read(&map).map_err(|error| error.to_string())?;
        let map: std::collections::BTreeMap<String, String> =
            serde_json::from_slice(&map).map_err(|error| error.to_string())?;
        let substitution = Substitution::new(map.iter().map(|(before, after)| (before.as_str(), after.as_str())));
        let differences = substitution.differences(&self.explain(run)?, &self.explain(&target)?);
        let differences =
            differences.into_iter().map(|(path, before, after)| format!("{path}: {before} became {after}"));
        Ok(Renamed { copy, differences: differences.collect(), left })
    }

    fn document(&self, words: Vec<String>) -> Result<Value, String> {
        let output = Command::new(&self.0).args(&words).output();
        let output = output.map_err(|error| format!("{}: {error}", self.0.display()))?;
        // 1: of a run that lacks something.
        serde_json::from_slice(&output.stdout).map_err(|_| {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            let run = words.iter().find(|word| word.starts_with('/')).cloned().unwrap_or_default();
            format!("no answer: {}", said.replace(&run, "RUN"))
        })
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
