//! Output of other tools as runs.
//!
//! A tool is recognized by its output, not by a file name. What a tool does not print stays unknown. Metrics have the
//! names of the equivalent metrics of recorded runs. Positions are only used where a line has as many fields as its
//! heading or format.

mod bonnie;
mod db_bench;
mod error;
mod filebench;
mod fio;
mod fs_mark;
mod ior;
mod mdtest;
mod pgbench;
mod simoop;
mod sysbench;
mod text;

#[cfg(test)]
mod tests;

pub use error::ForeignError;
pub use fs_mark::FS_MARK_CALLS;

use super::figures::RunFigures;
use error::Runs;

/// A reader of the output of one tool.
type Reader = fn(&str) -> Runs;

/// The tools, the easiest to recognize first.
const READERS: [(&str, Reader); 10] = [
    ("fio", fio::runs),
    ("fs_mark", fs_mark::runs),
    ("bonnie++", bonnie::runs),
    ("simoop", simoop::runs),
    ("IOR", ior::runs),
    ("mdtest", mdtest::runs),
    ("sysbench", sysbench::runs),
    ("pgbench", pgbench::runs),
    ("db_bench", db_bench::runs),
    ("filebench", filebench::runs),
];

/// The runs in a text: one, or several written to the same file. Of the output of several tools that of the first is
/// read, and a caution names the others.
pub fn foreign_runs(name: &str, text: &str) -> Result<Vec<RunFigures>, ForeignError> {
    let text = text::unquoted(text);
    let mut found = READERS.iter().filter_map(|(tool, read)| Some((*tool, read(&text)?)));
    let (tool, first) = found.next().ok_or(ForeignError::Unknown)?;
    let others: Vec<&str> = found.filter(|(_, read)| read.is_ok()).map(|(tool, _)| tool).collect();
    let mut runs = first?;
    let several = runs.len() > 1;
    for (at, run) in runs.iter_mut().enumerate() {
        run.name = if several { format!("{name} #{}", at + 1) } else { name.to_owned() };
        if !others.is_empty() {
            let others = others.join(", ");
            run.cautions.push(format!("the file also has output of {others}, which is not read beside that of {tool}"));
        }
    }
    Ok(runs)
}
