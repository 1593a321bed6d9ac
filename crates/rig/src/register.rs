//! The register of resources made: one file per running program. It lets the next run clean up after a crash.
//!
//! A program's file is an append-only list of JSON lines: its owner first, then each resource *before* it is made, then
//! each resource that is gone. A line truncated by a crash belongs to a resource that was never made. The owner keeps
//! its file locked (flock) while it lives. Others sweep a file only if its owner is dead by both signs: the lock is
//! free, and no process with that id and start time runs in this boot.

mod folder;
mod journal;

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::child::run_with;
use crate::outcome::{Removed, Undone};
use crate::remove::command::{self, shell};
use crate::remove::undo;
use crate::{Owner, Resource, RigError, Roots};

use journal::Journal;

/// The resources that this program has made and not yet removed. Clones are handles on the same register.
#[derive(Debug, Clone)]
pub struct Register {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    journal: Mutex<Journal>,
    folder: folder::RegisterFolder,
    roots: Roots,
    owner: Owner,
}

/// A registered resource.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a resource that is not undone stays until the next run"]
pub struct Entry {
    id: u64,
    resource: Resource,
}

impl Register {
    /// Opens the machine's register (`/run/stallscope` as root, else `$XDG_RUNTIME_DIR/stallscope` or
    /// `/tmp/stallscope-UID`) and removes what dead programs left. Returns what that was.
    pub fn open() -> Result<(Register, Vec<Removed>), RigError> {
        Register::open_in(&folder::default_folder(), Roots::default())
    }

    /// Opens the register in a folder, which is created if it is missing.
    pub fn open_in(folder: &Path, roots: Roots) -> Result<(Register, Vec<Removed>), RigError> {
        let register_folder = folder::RegisterFolder::open(folder)?;
        let owner = Owner::current(&roots)?;
        let removed = register_folder.sweep(&roots)?;
        let journal = Mutex::new(Journal::create(register_folder.path(), &owner)?);
        Ok((Register { shared: Arc::new(Shared { journal, folder: register_folder, roots, owner }) }, removed))
    }

    /// Removes what a process left, which is dead or dying: none of its threads returns from the kernel. Resources of
    /// other programs stay. For the process that outlives a program to restore its settings.
    pub fn clean_up_after(owner: &Owner) -> Result<Vec<Removed>, RigError> {
        let folder = folder::RegisterFolder::open(&folder::default_folder())?;
        folder.sweep_dead(&Roots::default(), owner)
    }

    /// Where this register looks for the kernel's files.
    pub fn roots(&self) -> &Roots {
        &self.shared.roots
    }

    /// The owner of the resources.
    pub fn owner(&self) -> &Owner {
        &self.shared.owner
    }

    /// Registers a resource. Call it before the resource is made.
    pub fn enter(&self, resource: Resource) -> Result<Entry, RigError> {
        let id = self.journal().made(&resource)?;
        #[cfg(test)]
        tests::die_if_due(id);
        Ok(Entry { id, resource })
    }

    /// Runs a command of the user that changes something. The register reverts it by `revert`, which must also succeed
    /// where nothing was changed. Both are run by `sh`.
    pub fn change_by(&self, command: &str, revert: &str) -> Result<Entry, RigError> {
        let entry = self.enter(Resource::Command { revert: revert.to_owned() })?;
        match self.run(&mut shell(command), command::DEADLINE) {
            Ok(_) => Ok(entry),
            Err(error) => {
                self.undo(entry);
                Err(error)
            }
        }
    }

    /// Runs a tool that makes a resource. If this program is killed meanwhile, the tool goes on: until it has ended,
    /// the next one does not take the resource for one that was never made.
    pub(crate) fn run(&self, command: &mut Command, deadline: Duration) -> Result<String, RigError> {
        let held = self.journal().held()?;
        run_with(command, held.into(), deadline)
    }

    /// Removes a resource. If that fails, it stays registered for the next run, and the result says why.
    pub fn undo(&self, entry: Entry) -> Option<Removed> {
        self.undo_within(entry, Duration::MAX)
    }

    /// Removes resources in reverse order of creation. A cgroup or directory that is not gone within `patience` is left
    /// for the next run: after Ctrl-C nobody waits for a stuck file system.
    pub fn undo_all_within(&self, entries: Vec<Entry>, patience: Duration) -> Vec<Removed> {
        entries.into_iter().rev().filter_map(|entry| self.undo_within(entry, patience)).collect()
    }

    fn undo_within(&self, entry: Entry, patience: Duration) -> Option<Removed> {
        match undo(&entry.resource, self.roots(), patience) {
            Undone::Gone => self.journal().gone(entry.id).err().map(|error| Removed::left(error.to_string())),
            Undone::Removed(sentence) => match self.journal().gone(entry.id) {
                Ok(()) => Some(Removed::done(sentence)),
                Err(error) => Some(Removed::left(format!("{sentence}, but {error}"))),
            },
            // The program that uses it has registered it as well, or keeps it.
            Undone::InUse(sentence) => match self.journal().gone(entry.id) {
                Ok(()) => Some(Removed::done(sentence)),
                Err(error) => Some(Removed::left(format!("{sentence}, but {error}"))),
            },
            Undone::Left(sentence) => Some(Removed::left(sentence)),
        }
    }

    /// Removes resources in reverse order of creation.
    pub fn undo_all(&self, entries: Vec<Entry>) -> Vec<Removed> {
        self.undo_all_within(entries, Duration::MAX)
    }

    /// Removes resources that several programs may share and have all registered. A resource that cannot be removed
    /// while another program lives is left to that program.
    pub(crate) fn undo_all_shared(&self, entries: Vec<Entry>) -> Vec<Removed> {
        let others_live = self.shared.folder.has_others(&self.shared.owner);
        // Another program that uses it continues to do so.
        let patience = if others_live { Duration::ZERO } else { Duration::MAX };
        let undo = |entry: Entry| {
            let id = entry.id;
            match self.undo_within(entry, patience)? {
                outcome if outcome.complete || !others_live => Some(outcome),
                _ => self.journal().gone(id).err().map(|error| Removed::left(error.to_string())),
            }
        };
        entries.into_iter().rev().filter_map(undo).collect()
    }

    /// Runs `work` under a lock that excludes other programs.
    pub(crate) fn alone<T>(&self, work: impl FnOnce() -> Result<T, RigError>) -> Result<T, RigError> {
        let _lock = self.shared.folder.lock()?;
        work()
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.shared.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
