//! `stream`: a file of its own for each thread, from its begin to its end: written, read, or read and written back.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use model::operation::Fault;
use serde::{Deserialize, Serialize};

use super::worker::failed_at;
use super::{Key, KeyKind, Values, Worker};
use crate::board::Failure;
use crate::clock;
use crate::data::FileId;
use crate::error::LoadError;
use crate::value::Kind;

pub(crate) const KEYS: &[Key] = &[
    Key::needed("set", KeyKind::Set),
    Key::needed("action", KeyKind::Word(&["write", "read"])),
    Key::maybe("block", KeyKind::Formula(Kind::Size)),
    Key::maybe("fsync", KeyKind::Formula(Kind::Flag)),
];

const USUAL_BLOCK_BYTES: u64 = 1 << 20;

/// What is done with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Made anew and written.
    Write,
    /// Read.
    Read,
}

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    set: usize,
    action: Action,
    block_bytes: u64,
    size_bytes: u64,
    class: usize,
    /// Class of the fsync at the end, where there is one.
    fsync: Option<usize>,
}

impl Stream {
    pub(super) fn resolve(values: &mut Values<'_, '_>) -> Result<Stream, LoadError> {
        let set = values.set("set").unwrap_or(0);
        let (action, class) = match values.word("action")?.as_deref() {
            Some("read") => (Action::Read, "read"),
            _ => (Action::Write, "write"),
        };
        Ok(Stream {
            set,
            action,
            block_bytes: values.whole_or("block", USUAL_BLOCK_BYTES, 1)?,
            size_bytes: values.sets()[set].size_bytes,
            class: values.class(class)?,
            fsync: if values.flag("fsync")? { Some(values.class("fsync")?) } else { None },
        })
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.block_bytes
    }

    pub(super) fn longest_write(&self) -> u64 {
        self.block_bytes
    }

    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        let directories = worker.actor.directories.max(1) as u64;
        let id = FileId::new((worker.place.ordinal % directories) as usize, self.set, worker.place.ordinal);
        let mut buffer = vec![0; self.block_bytes as usize];
        let file = match self.open(worker, id) {
            Ok(file) => file,
            Err(error) => {
                let failure = Failure::from(error);
                let _ = worker.time(self.class, Some(id), || Err(failure));
                return;
            }
        };
        let salt = worker.random.bits() ^ worker.repetition();
        let mut offset = 0;
        while offset < self.size_bytes {
            let Some(start_ns) = worker.next_start_ns() else { return };
            let length = self.block_bytes.min(self.size_bytes - offset) as usize;
            let bytes = &worker.stage.bytes;
            let act = || match self.action {
                Action::Write => write(&file, bytes.slice(salt.wrapping_add(offset), length), offset),
                Action::Read => read(&file, &mut buffer[..length], offset),
            };
            match worker.time_from(start_ns.unwrap_or_else(clock::now_ns), self.class, Some(id), act) {
                Ok(_) => worker.done(1),
                Err(_) => worker.back_off(),
            }
            offset += length as u64;
        }
        if let Some(class) = self.fsync {
            let _ = worker.time(class, Some(id), || file.sync_all().map(|()| 0).map_err(Failure::from));
        }
    }

    fn open(&self, worker: &Worker<'_>, id: FileId) -> io::Result<File> {
        let path = worker.path(id)?;
        if self.action == Action::Read {
            return File::open(path);
        }
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        File::options().read(true).write(true).create(true).truncate(true).open(path)
    }
}

fn write(file: &File, bytes: &[u8], offset: u64) -> Result<u64, Failure> {
    file.write_all_at(bytes, offset).map_err(failed_at(offset))?;
    Ok(bytes.len() as u64)
}

fn read(file: &File, buffer: &mut [u8], offset: u64) -> Result<u64, Failure> {
    match file.read_exact_at(buffer, offset) {
        Ok(()) => Ok(buffer.len() as u64),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(Failure { fault: Some(Fault::ShortRead), offset_bytes: Some(offset), ..Failure::default() })
        }
        Err(error) => Err(failed_at(offset)(error)),
    }
}
