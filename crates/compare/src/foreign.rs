//! Output of other tools as runs: fio's JSON, and the output of fs_mark, simoop and bonnie++.
//!
//! A tool is recognized by its output, not by a file name. What a tool does not print stays unknown. Metrics have the names
//! of the equivalent metrics of recorded runs.

mod bonnie;
mod error;
mod fio;
mod fs_mark;
mod simoop;

#[cfg(test)]
mod tests;

pub use error::ForeignError;

use super::figures::RunFigures;

/// The runs in a text: one, or several written to the same file.
pub fn foreign_runs(name: &str, text: &str) -> Result<Vec<RunFigures>, ForeignError> {
    let read = [fio::runs, fs_mark::runs, bonnie::runs, simoop::runs];
    let mut runs = read.into_iter().find_map(|read| read(text)).ok_or(ForeignError::Unknown)??;
    let several = runs.len() > 1;
    for (at, run) in runs.iter_mut().enumerate() {
        run.name = if several { format!("{name} #{}", at + 1) } else { name.to_owned() };
    }
    Ok(runs)
}
