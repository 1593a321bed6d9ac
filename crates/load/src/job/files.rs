//! `files`: many files, one after the other: created (with what makes them durable), looked at, or removed.
//!
//! What fs_mark does, and bonnie++ in its phases of small files. Paths are relative to the set's directory, which is kept
//! open, and names are made of numbers, so that a file costs its own system calls and nothing else.

mod create;
mod link;
mod visit;

use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{Key, KeyKind, Values, Worker};
use crate::board::{Failure, Level};
use crate::clock;
use crate::data::{FileId, Name, Names};
use crate::error::LoadError;
use crate::value::Kind;

pub(crate) const KEYS: &[Key] = &[
    Key::needed("set", KeyKind::Set),
    Key::needed("action", KeyKind::Word(&["create", "stat", "unlink"])),
    Key::needed("count", KeyKind::Formula(Kind::Count)),
    Key::maybe("order", KeyKind::Word(&["sequential", "random", "any", "readdir"])),
    Key::maybe("block", KeyKind::Formula(Kind::Size)),
    Key::maybe("least_size", KeyKind::Formula(Kind::Size)),
    Key::maybe("sync", KeyKind::Formula(Kind::Count)),
    Key::maybe("per_subdirectory", KeyKind::Formula(Kind::Count)),
    Key::maybe("linger", KeyKind::Formula(Kind::Duration)),
    Key::maybe("read", KeyKind::Formula(Kind::Flag)),
    Key::maybe("links", KeyKind::Word(&["none", "hard", "symbolic"])),
];

const USUAL_BLOCK_BYTES: u64 = 16 << 10;
const USUAL_LINGER_NS: u64 = 180_000_000_000;
/// So many failures in a row end a thread's share.
const PATIENCE: u32 = 8;

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    set: usize,
    /// Files of each thread.
    count: u64,
    threads_per_directory: u64,
    subdirectories: Subdirectories,
    /// Bytes of one read or write.
    block_bytes: u64,
    action: Action,
}

/// What is done with each file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Create(create::Create),
    Visit(visit::Visit),
}

/// In which subdirectory a thread's files lie, where their numbers leave that open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Subdirectories {
    /// There are none, or the number says it.
    Given,
    /// So many files in one, then in the next.
    RoundRobin { count: u64, files: u64 },
    /// For so long in one, then in the next.
    Lingering { count: u64, linger_ns: u64 },
}

/// Why a file was not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// An operation failed; it was counted.
    Failed,
    /// The file system is full.
    Full,
    /// The phase ends.
    Over,
}

impl Files {
    pub(super) fn resolve(values: &mut Values<'_, '_>) -> Result<Files, LoadError> {
        let set = values.set("set").unwrap_or(0);
        let action = match values.word("action")?.as_deref() {
            Some("stat") => Action::Visit(visit::Visit::stat(values)?),
            Some("unlink") => Action::Visit(visit::Visit::unlink(values)?),
            _ => Action::Create(create::Create::resolve(values, set)?),
        };
        Ok(Files {
            set,
            count: values.whole_or("count", 0, 0)?,
            threads_per_directory: values.threads_per_directory()?,
            subdirectories: Subdirectories::resolve(values, set)?,
            block_bytes: values.whole_or("block", USUAL_BLOCK_BYTES, 1)?,
            action,
        })
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        match &self.action {
            Action::Create(_) => 0,
            Action::Visit(visit) => visit.memory_bytes(self.count) + self.block_bytes,
        }
    }

    pub(super) fn longest_write(&self) -> u64 {
        if let Action::Create(create) = &self.action { create.longest_write(self.block_bytes) } else { 0 }
    }

    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        if self.count == 0 {
            return;
        }
        let directories = worker.actor.directories.max(1) as u64;
        let (directory, rank) = (worker.place.ordinal % directories, worker.place.ordinal / directories);
        let first = (worker.repetition() * self.threads_per_directory + rank) * self.count;
        match open_set(worker, directory as usize, self.set) {
            Ok(root) => {
                let files = OwnFiles { job: self, directory: directory as usize, first, root, name: Name::new() };
                let mut task = Task { files, worker, at_ns: 0, failed_in_a_row: 0 };
                match &self.action {
                    Action::Create(create) => create.perform(&mut task),
                    Action::Visit(visit) => visit.perform(&mut task),
                }
            }
            Err(errno) => {
                let failure = Failure { errno: errno.raw_os_error(), ..Failure::default() };
                let _ = worker.time(self.first_class(), None, || Err(failure));
            }
        }
    }

    fn first_class(&self) -> usize {
        match &self.action {
            Action::Create(create) => create.class(),
            Action::Visit(visit) => visit.class(),
        }
    }
}

impl Subdirectories {
    fn resolve(values: &Values<'_, '_>, set: usize) -> Result<Subdirectories, LoadError> {
        let Names::FsMark { subdirectories: count, .. } = values.sets()[set].names else {
            return Ok(Subdirectories::Given);
        };
        let files = values.whole_or("per_subdirectory", 0, 0)?;
        let linger_ns = values.whole_or("linger", USUAL_LINGER_NS, 1)?;
        match (count, files) {
            (0, 0) => Ok(Subdirectories::Given),
            (0, _) => Err(values.refuse(
                "per_subdirectory",
                "files in each subdirectory are given, and no subdirectories: say how many there are",
            )),
            (_, 0) => Ok(Subdirectories::Lingering { count, linger_ns }),
            _ => Ok(Subdirectories::RoundRobin { count, files }),
        }
    }
}

/// The set's directory in one of the data directories; it is made where it is missing.
fn open_set(worker: &Worker<'_>, directory: usize, set: usize) -> Result<OwnedFd, Errno> {
    let plan = &worker.stage.plan;
    let path = plan.data_directories.get(directory).ok_or(Errno::NOENT)?.join(&plan.file_sets[set].name);
    match rustix::fs::mkdirat(CWD, &path, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    rustix::fs::open(&path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The files of one thread.
struct OwnFiles<'a> {
    job: &'a Files,
    directory: usize,
    /// Number of its first file.
    first: u64,
    root: OwnedFd,
    /// The file at hand.
    name: Name,
}

impl OwnFiles<'_> {
    /// Makes a file the one at hand: the thread's file number `index`, in that subdirectory if its number leaves it open.
    fn take(&mut self, names: &Names, index: u64, subdirectory: u64) -> FileId {
        let file = names.file(self.first + index, subdirectory);
        names.write(file, &mut self.name);
        FileId::new(self.directory, self.job.set, file)
    }

    fn open(&mut self, flags: OFlags) -> Result<OwnedFd, Errno> {
        rustix::fs::openat(&self.root, self.name.as_c_str(), flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o666))
    }

    /// Creates the file, and its subdirectory where this is the first file in it.
    fn create(&mut self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
        match (self.open(flags), self.name.subdirectory()) {
            (Err(Errno::NOENT), Some(subdirectory)) => {
                match rustix::fs::mkdirat(&self.root, subdirectory, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => self.open(flags),
                    Err(errno) => Err(errno),
                }
            }
            (opened, _) => opened,
        }
    }
}

/// A thread at work.
struct Task<'a, 'b, 'w> {
    files: OwnFiles<'a>,
    worker: &'b mut Worker<'w>,
    /// When the next operation begins: where the one before ended.
    at_ns: u64,
    failed_in_a_row: u32,
}

impl<'w> Task<'_, '_, 'w> {
    fn names(&self) -> &'w Names {
        &self.worker.stage.plan.file_sets[self.files.job.set].names
    }

    /// Waits for the next file's turn.
    fn begin(&mut self) -> Result<(), Stop> {
        match self.worker.next_start_ns() {
            Some(start_ns) => {
                self.at_ns = start_ns.unwrap_or_else(clock::now_ns);
                Ok(())
            }
            None => Err(Stop::Over),
        }
    }

    /// Times one operation, which begins where the one before ended, and returns what it is about and its bytes.
    fn step<T>(
        &mut self,
        class: usize,
        id: Option<FileId>,
        act: impl FnOnce(&mut OwnFiles<'_>) -> Result<(T, u64), Failure>,
    ) -> Result<T, Stop> {
        let recorder = &self.worker.recorder;
        recorder.begin(Level::Step, class, self.at_ns);
        if let Some(id) = id {
            recorder.works_on(id);
        }
        let result = act(&mut self.files);
        let (start_ns, end_ns) = (self.at_ns, clock::now_ns());
        self.at_ns = end_ns;
        match result {
            Ok((value, bytes)) => {
                let _ = self.worker.finish(class, start_ns, end_ns, id, Ok(bytes));
                Ok(value)
            }
            Err(failure) => Err(self.fail(class, (start_ns, end_ns), id, failure)),
        }
    }

    /// Counts a failed operation, unless it is what was to be expected.
    fn fail(&mut self, class: usize, (start_ns, end_ns): (u64, u64), id: Option<FileId>, failure: Failure) -> Stop {
        let board = &self.worker.stage.board;
        let stop = match failure.errno {
            libc::ENOSPC => Stop::Full,
            // What there was no room for is not there to be removed.
            libc::ENOENT if board.is_full() => Stop::Over,
            _ => Stop::Failed,
        };
        if stop == Stop::Full {
            board.set_full();
        }
        if stop == Stop::Over || stop == Stop::Full && self.is_to_be_filled() {
            self.worker.recorder.abandon(Level::Step);
        } else {
            let _ = self.worker.finish(class, start_ns, end_ns, id, Err(failure));
        }
        stop
    }

    fn is_to_be_filled(&self) -> bool {
        self.worker.stage.plan.repeat.is_some_and(|repeat| repeat.until_full)
    }

    /// Counts a file that is done. `false`: the thread should not go on with the next.
    fn finish_file(&mut self, ended: Result<(), Stop>) -> bool {
        if ended.is_ok() {
            self.worker.done(1);
        }
        self.goes_on(ended)
    }

    /// Takes note of how something ended. `false`: the thread should not go on.
    fn goes_on(&mut self, ended: Result<(), Stop>) -> bool {
        match ended {
            Ok(()) => self.failed_in_a_row = 0,
            Err(Stop::Failed) => {
                self.failed_in_a_row += 1;
                self.worker.back_off();
            }
            Err(Stop::Full | Stop::Over) => return false,
        }
        self.failed_in_a_row < PATIENCE
    }
}

fn failed(errno: Errno) -> Failure {
    Failure { errno: errno.raw_os_error(), ..Failure::default() }
}
