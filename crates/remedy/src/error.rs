//! What can be wrong with a remedy.

use thiserror::Error;

/// A remedy that cannot be read or applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RemedyError {
    /// Not a table of remedies.
    #[error("{name}: {why}")]
    Syntax {
        /// File.
        name: String,
        /// What is wrong, and where.
        why: String,
    },
    /// An entry contradicts itself.
    #[error("{name}: remedy '{id}': {why}")]
    Entry {
        /// File.
        name: String,
        /// The entry.
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// A placeholder without a value.
    #[error("'{template}' needs {{{placeholder}}}, which is unknown here")]
    Unknown {
        /// The template.
        template: String,
        /// Its placeholder.
        placeholder: String,
    },
    /// The file does not hold what the setting's format says.
    #[error("'{found}' is not {expected}")]
    Unexpected {
        /// What the file holds.
        found: String,
        /// What was expected.
        expected: String,
    },
}
