//! What a reader of one tool's output returns.

use thiserror::Error;

use crate::figures::RunFigures;

/// Why a text is not a run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ForeignError {
    /// Not the output of a supported tool.
    #[error(
        "neither a run directory nor output of a supported tool: fio, fs_mark, bonnie++, simoop, IOR, mdtest, sysbench \
         fileio, \
         pgbench, db_bench, filebench"
    )]
    Unknown,
    /// The tool is known, but the text is not valid output.
    #[error("looks like output of {tool}, but {why}")]
    Malformed {
        /// The tool.
        tool: &'static str,
        /// What is wrong, and the remedy.
        why: String,
    },
}

/// The result of reading one tool's output; `None` if the text is not of that tool.
pub(super) type Runs = Option<Result<Vec<RunFigures>, ForeignError>>;

pub(super) fn malformed(tool: &'static str, why: impl Into<String>) -> ForeignError {
    ForeignError::Malformed { tool, why: why.into() }
}
