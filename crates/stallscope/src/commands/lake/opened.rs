//! A lake's directory that may be written to.

use std::path::Path;

use lake::LakeError;

use crate::recording::own_path::{belongs_to_another, refuse_replaceable};
use crate::ui::failure::Failure;

/// Refuses a directory in which another user could replace what is written.
pub(super) fn refuse_foreign(directory: &Path) -> Result<(), Failure> {
    refuse_replaceable(directory)?;
    if belongs_to_another(directory) {
        let problem = "belongs to another user, who could replace what is written there; choose another lake";
        return Err(Failure::usage(format_args!("{}: {problem}", directory.display())));
    }
    Ok(())
}

/// The failure that an error of a lake is.
pub(super) fn failed(error: LakeError) -> Failure {
    match &error {
        LakeError::Io { source, .. } => Failure::path(source, &error),
        LakeError::Exchange { .. } => Failure::machine(error),
        LakeError::Foreign { .. } | LakeError::Missing { .. } | LakeError::Version { .. } => Failure::usage(error),
    }
}
