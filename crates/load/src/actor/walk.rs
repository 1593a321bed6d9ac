//! `du`: walks a tree and stats every file.

use std::io;
use std::path::Path;

use access::Directory;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::outcome::StepOutcome;
use crate::board::Board;
use crate::plan::Actor;
use crate::work::LoadContext;

/// Walks the data directory of this thread, or one set in it.
pub(super) fn walk(load: &LoadContext, actor: &Actor, ordinal: u64, set: Option<usize>) -> StepOutcome {
    let Some(home) = (ordinal as usize).checked_rem(actor.directories) else { return StepOutcome::NOTHING };
    let Some(held) = load.directories().get(home) else { return StepOutcome::NOTHING };
    let result = match set {
        Some(set) => beneath(held.directory(), Path::new(&load.file_sets[set].name), &load.board),
        None => tree(held.directory(), &load.board),
    };
    match result {
        Ok(true) => StepOutcome::NOTHING,
        Ok(false) => StepOutcome::Stopped,
        Err(error) => StepOutcome::failed(&error, None),
    }
}

fn beneath(directory: &Directory, name: &Path, board: &Board) -> io::Result<bool> {
    match directory.directory(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        opened => tree(&opened?, board),
    }
}

/// `false`: the load stopped. Entries that vanish during the walk are no error.
fn tree(directory: &Directory, board: &Board) -> io::Result<bool> {
    for (name, _) in directory.entries()? {
        if board.is_stopping() {
            return Ok(false);
        }
        let status = match rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            status => status?,
        };
        let is_directory = FileType::from_raw_mode(status.st_mode) == FileType::Directory;
        if is_directory && !beneath(directory, Path::new(&name), board)? {
            return Ok(false);
        }
    }
    Ok(true)
}
