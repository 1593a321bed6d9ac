//! A workload as its author writes it: variables, phases, file sets, actors and the steps of their rounds.

mod actors;
mod check;
mod file_sets;
mod items;
mod job;
mod job_keys;
mod jobs;
mod plain_name;
mod read;
mod section;
#[cfg(test)]
mod tests;
mod variable;
mod variables;

use std::path::Path;
use std::sync::Arc;

pub(crate) use check::unknown_name;
pub use items::{Access, Pacing, PathFlag, PhaseKind, Recipe, StepKind, WriteSync};
pub(crate) use items::{ActorRecipe, FileSetRecipe, ItemTreeRecipe, PhaseRecipe, Scheme, StepRecipe};
pub(crate) use job::{JobRecipe, KeyValue, VERIFY, WordValue};
pub use section::Formula;
pub use variable::Variable;

use crate::error::LoadError;
use crate::source_text::SourceText;

impl Recipe {
    /// Parses a recipe's text; errors name it `file`.
    pub fn parse(file: &str, text: &str) -> Result<Recipe, LoadError> {
        read::recipe(Arc::new(SourceText::new(file, text)))
    }

    /// Reads a recipe file.
    pub fn load(path: &Path) -> Result<Recipe, LoadError> {
        let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        Recipe::parse(&path.display().to_string(), &text)
    }
}
