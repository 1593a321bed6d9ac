//! `du`: walks a tree and stats every file.

use std::fs;
use std::io;
use std::path::Path;

use super::outcome::StepOutcome;
use crate::board::Board;
use crate::plan::{Actor, Plan};

/// Walks the data directory of this thread, or one set in it.
pub(super) fn walk(plan: &Plan, actor: &Actor, ordinal: u64, set: Option<usize>, board: &Board) -> StepOutcome {
    let Some(home) = (ordinal as usize).checked_rem(actor.directories) else { return StepOutcome::NOTHING };
    let directory = &plan.data_directories[home];
    let result = match set {
        Some(set) => tree(&directory.join(&plan.file_sets[set].name), board),
        None => tree(directory, board),
    };
    match result {
        Ok(true) => StepOutcome::NOTHING,
        Ok(false) => StepOutcome::Stopped,
        Err(error) => StepOutcome::failed(&error, None),
    }
}

/// `false`: the load stopped. Entries that vanish during the walk are no error.
fn tree(directory: &Path, board: &Board) -> io::Result<bool> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        result => result?,
    };
    for entry in entries {
        if board.is_stopping() {
            return Ok(false);
        }
        let entry = entry?;
        let metadata = match entry.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            result => result?,
        };
        if metadata.is_dir() && !tree(&entry.path(), board)? {
            return Ok(false);
        }
    }
    Ok(true)
}
