//! Errors before and around a load. Failures of operations are counted instead.

use std::io;
use std::path::PathBuf;

use crate::source_text::Diagnostic;

/// Why a recipe, a plan, a data directory or a load process cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A mistake in a recipe file, or in a value given for one of its variables.
    #[error(transparent)]
    Recipe(#[from] Box<Diagnostic>),
    /// A recipe file that cannot be read.
    #[error("cannot read recipe {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A value for a variable that the recipe does not have.
    #[error("recipe '{recipe}' has no variable \
             '{name}'{}", suggestion.as_deref().map(|s| format!("; did you mean '{s}'?")).unwrap_or_default())]
    NoSuchVariable {
        /// The recipe.
        recipe: String,
        /// The requested name.
        name: String,
        /// The most similar name of the recipe.
        suggestion: Option<String>,
    },
    /// A recipe whose data cannot be verified after a crash.
    #[error(
        "'{recipe}' does not stamp its data, so nothing can be verified after a crash; use a workload with --verify"
    )]
    NothingToVerify {
        /// The recipe.
        recipe: String,
    },
    /// No usable ledger: what was written before a crash is unknown.
    #[error("{}: {why}", path.display())]
    NoLedger {
        /// The data directory, or the ledger.
        path: PathBuf,
        /// What is missing, and what to do about it.
        why: String,
    },
    /// A directory given by the user that cannot be used.
    #[error("cannot use directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// Foreign data is where the data directory would go.
    #[error("{}: {why}; it is not touched. Move it away or choose another directory", path.display())]
    Foreign {
        /// Its path.
        path: PathBuf,
        /// Why it is considered foreign.
        why: String,
    },
    /// Another run uses the data directory.
    #[error("{}: another run uses it; wait until that run ends, or choose another directory", path.display())]
    InUse {
        /// The data directory.
        path: PathBuf,
    },
    /// A data directory of ranks on many machines that is not the one that the first rank made.
    #[error("{}: the data of rank 0 is not seen on this node; all nodes must share the file system under \
             test", path.display())]
    NotShared {
        /// The data directory.
        path: PathBuf,
    },
    /// The fill failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Data {
        /// The attempted action: `create`, `write`, ...
        action: &'static str,
        /// Its object.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The load was stopped before it was complete.
    #[error("stopped")]
    Stopped,
    /// The load process or its board could not be created.
    #[error("cannot {action}: {source}")]
    Process {
        /// The attempted action.
        action: String,
        /// The kernel's error.
        source: io::Error,
    },
}

impl LoadError {
    /// For `map_err` on operations on the data directories.
    pub(crate) fn data(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> LoadError {
        let path = path.into();
        move |source| LoadError::Data { action, path, source }
    }

    /// For `map_err` around processes and shared memory.
    pub(crate) fn process<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> LoadError {
        let action = action.into();
        move |source| LoadError::Process { action, source: source.into() }
    }
}
