//! Output of other tools as runs: fio's JSON, and what fs_mark, simoop and bonnie++ print.
//!
//! A tool is known by what it prints, not by a file's name. What a tool does not say stays unknown, and metrics that mean
//! the same have the names that our own runs give them.

mod bonnie;
mod fio;
mod fs_mark;
mod simoop;

#[cfg(test)]
mod tests;

use thiserror::Error;

use super::figures::{Amount, Better, Fact, Figure, RunFigures};

/// Why a text is no run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ForeignError {
    /// No tool known here prints such a thing.
    #[error("neither a run directory nor output of fio (--output-format=json), fs_mark, simoop or bonnie++")]
    Unknown,
    /// The tool is known, and the text is not what it prints.
    #[error("looks like output of {tool}, but {why}")]
    Malformed {
        /// Which tool.
        tool: &'static str,
        /// What is wrong, and what to do.
        why: String,
    },
}

/// The runs in a text: one, or as many as were made one after another into the same file.
pub fn foreign_runs(name: &str, text: &str) -> Result<Vec<RunFigures>, ForeignError> {
    let read = [fio::runs, fs_mark::runs, bonnie::runs, simoop::runs];
    let mut runs = read.into_iter().find_map(|read| read(text)).ok_or(ForeignError::Unknown)??;
    let several = runs.len() > 1;
    for (at, run) in runs.iter_mut().enumerate() {
        run.name = if several { format!("{name} #{}", at + 1) } else { name.to_owned() };
    }
    Ok(runs)
}

/// What a reader of one tool's output gives: `None` where the text is not of that tool.
type Runs = Option<Result<Vec<RunFigures>, ForeignError>>;

fn malformed(tool: &'static str, why: impl Into<String>) -> ForeignError {
    ForeignError::Malformed { tool, why: why.into() }
}

fn level(name: impl Into<String>, unit: &str, better: Better, value: f64) -> Figure {
    Figure { name: name.into(), unit: unit.to_owned(), better, amount: Amount::Level(value) }
}

fn fact(what: &str, value: impl Into<String>) -> Fact {
    Fact { what: what.to_owned(), value: value.into() }
}
