//! Records the changes that a test's thread makes, and lets one of them fail.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::FileOperation;

/// A change that was made, or the failure of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Made {
    Directory(PathBuf),
    /// A file has the number of its inode.
    Created(PathBuf, u64),
    Wrote(u64, Vec<u8>, u64),
    Length(u64, u64),
    Synced(u64),
    /// What the file lacked on the disk may stay missing for good: the kernel keeps no dirty pages after an error.
    NotSynced(u64),
    SyncedDirectory(PathBuf),
    Renamed(PathBuf, PathBuf),
    Removed(PathBuf),
    /// What the writer has promised from here on: an index of the test's own.
    Promised(usize),
}

/// Which changes fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The first of them.
    pub(crate) at: usize,
    /// How.
    pub(crate) errno: Errno,
    /// Whether all later ones fail too that can fail in this way.
    pub(crate) lasts: bool,
}

#[derive(Debug, Default)]
struct Recording {
    made: Vec<Made>,
    attempts: usize,
    fault: Option<Fault>,
    /// Changes made before it.
    before_fault: Option<usize>,
}

thread_local! {
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// What was recorded.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) made: Vec<Made>,
    pub(crate) attempts: usize,
    /// How many of the changes had been made when the first one failed.
    pub(crate) before_fault: usize,
}

/// Runs `work` and returns what it changed.
pub(crate) fn record(fault: Option<Fault>, work: impl FnOnce()) -> Recorded {
    RECORDING.with_borrow_mut(|recording| *recording = Some(Recording { fault, ..Recording::default() }));
    work();
    let recording = RECORDING.with_borrow_mut(Option::take).expect("it was begun above");
    let Recording { made, attempts, before_fault, .. } = recording;
    Recorded { made, attempts, before_fault: before_fault.unwrap_or(0) }
}

/// Notes what holds from here on.
pub(crate) fn promise(index: usize) {
    note(Made::Promised(index));
}

fn note(made: Made) {
    RECORDING.with_borrow_mut(|recording| recording.as_mut().into_iter().for_each(|it| it.made.push(made.clone())));
}

/// Makes a change, or lets it fail.
pub(super) fn make<T>(change: FileOperation<'_>, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match RECORDING.with_borrow_mut(|recording| recording.as_mut()?.failure_of(change)) {
        Some(errno) => {
            fail(change)?;
            Err(errno.into())
        }
        None => {
            let outcome = act()?;
            note(made(change)?);
            Ok(outcome)
        }
    }
}

impl Recording {
    fn failure_of(&mut self, change: FileOperation<'_>) -> Option<Errno> {
        let number = self.attempts;
        self.attempts += 1;
        let fault = self.fault.filter(|fault| fault.at == number || fault.lasts && fault.at < number)?;
        // A full disk can still free space.
        let frees = matches!(change, FileOperation::SetLength(..) | FileOperation::Remove(_));
        if fault.errno == Errno::NOSPC && frees {
            return None;
        }
        self.before_fault.get_or_insert(self.made.len());
        Some(fault.errno)
    }
}

/// What a failed change leaves: half of a write, and bytes that no later sync writes.
fn fail(change: FileOperation<'_>) -> io::Result<()> {
    match change {
        FileOperation::Write(file, bytes, offset) => {
            let half = &bytes[..bytes.len() / 2];
            file.write_all_at(half, offset)?;
            note(Made::Wrote(number(file)?, half.to_owned(), offset));
        }
        FileOperation::Sync(file) => note(Made::NotSynced(number(file)?)),
        _ => {}
    }
    Ok(())
}

fn made(change: FileOperation<'_>) -> io::Result<Made> {
    let owned = Path::to_owned;
    Ok(match change {
        FileOperation::MakeDirectory(dir) => Made::Directory(owned(dir)),
        FileOperation::Create(path) => Made::Created(owned(path), number(&File::open(path)?)?),
        FileOperation::Write(file, bytes, offset) => Made::Wrote(number(file)?, bytes.to_owned(), offset),
        FileOperation::SetLength(file, length) => Made::Length(number(file)?, length),
        FileOperation::Sync(file) => Made::Synced(number(file)?),
        FileOperation::SyncDirectory(dir) => Made::SyncedDirectory(owned(dir)),
        FileOperation::Rename(from, to) => Made::Renamed(owned(from), owned(to)),
        FileOperation::Remove(path) => Made::Removed(owned(path)),
    })
}

fn number(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.ino())
}
