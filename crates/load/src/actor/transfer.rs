//! Reads, writes and new files: by the thread itself, or fork-join.

use std::fs::{self, File};
use std::io;

use super::{Outcome, Performer, Stage, files};
use crate::block;
use crate::board::Failure;
use crate::data::FileId;
use crate::plan::{Actor, Direction, Plan, Step, Transfer, Work};
use crate::recipe::{Access, Sync};

/// The threads of a fork-join operation need little; the kernel stack that comes with each is part of the pressure.
const FORK_STACK_BYTES: usize = 128 << 10;

/// What one thread is to move.
#[derive(Clone, Copy)]
struct Piece {
    file: FileId,
    offset: u64,
    /// Decides which bytes are written, and the name of a new file before it is renamed.
    salt: u64,
}

/// How a piece ended when it did not simply succeed.
enum Trouble {
    Failed(Failure),
    Stopped,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Failed(error.into())
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Trouble {
        Trouble::Failed(failure)
    }
}

/// Largest block that the actor reads.
fn longest_read(actor: &Actor) -> usize {
    let block = |step: &Step| match &step.work {
        Work::Transfer(transfer) if transfer.direction == Direction::Read => transfer.block_bytes as usize,
        _ => 0,
    };
    actor.steps.iter().map(block).max().unwrap_or(0)
}

/// Buffers for the actor's widest fork and largest block.
pub(super) fn buffers(actor: &Actor) -> Vec<Vec<u8>> {
    let widest = actor.steps.iter().filter_map(|step| match &step.work {
        Work::Transfer(transfer) => Some(transfer.fork.unwrap_or(1)),
        _ => None,
    });
    vec![vec![0; longest_read(actor)]; widest.max().unwrap_or(0) as usize]
}

/// Where a thread's sequential access begins: the threads of an actor share the pieces evenly.
pub(super) fn first_piece(plan: &Plan, actor: &Actor, ordinal: u64, step: &Step) -> u64 {
    let Work::Transfer(transfer) = &step.work else { return 0 };
    let set = &plan.file_sets[transfer.set];
    let pieces = (set.size_bytes / transfer.bytes) * set.files * actor.directories as u64;
    (u128::from(pieces) * u128::from(ordinal) / u128::from(actor.threads.max(1))) as u64
}

impl Performer<'_> {
    pub(super) fn transfer(&mut self, index: usize, transfer: &Transfer) -> Outcome {
        if self.actor.directories == 0 {
            return Outcome::NOTHING;
        }
        match transfer.fork {
            Some(threads) => self.fork_join(index, transfer, threads),
            None => self.inline(index, transfer),
        }
    }

    fn inline(&mut self, index: usize, transfer: &Transfer) -> Outcome {
        let piece = self.pick(index, transfer);
        self.recorder.works_on(piece.file);
        let (stage, buffer) = (self.stage, &mut self.buffers[0]);
        let result = match transfer.direction {
            Direction::Create => create(stage, transfer, piece),
            _ => {
                let buffer = std::cell::RefCell::new(buffer);
                let run = |file: &File| move_piece(stage, transfer, piece, file, &mut buffer.borrow_mut());
                self.files.with(&stage.plan, piece.file, run)
            }
        };
        outcome(transfer, piece, result)
    }

    /// Starts the threads, lets each do its piece, and waits for all of them.
    fn fork_join(&mut self, index: usize, transfer: &Transfer, threads: u64) -> Outcome {
        let pieces: Vec<Piece> = (0..threads).map(|_| self.pick(index, transfer)).collect();
        let (stage, buffers) = (self.stage, &mut self.buffers);
        let results = std::thread::scope(|scope| {
            let start = |(piece, buffer): (&Piece, &mut Vec<u8>)| {
                let (piece, buffer) = (*piece, std::mem::take(buffer));
                let body = move || whole_piece(stage, transfer, piece, buffer);
                std::thread::Builder::new().stack_size(FORK_STACK_BYTES).spawn_scoped(scope, body)
            };
            let started: Vec<_> = pieces.iter().zip(buffers.iter_mut()).map(start).collect();
            let joined = started.into_iter().map(|thread| thread.map(|thread| thread.join()));
            joined.collect::<Vec<_>>()
        });
        let longest_read = longest_read(self.actor);
        let mut total = Outcome::Done { bytes: 0, file: pieces.first().map(|piece| piece.file) };
        for ((result, piece), buffer) in results.into_iter().zip(&pieces).zip(buffers) {
            let result = match result {
                Ok(Ok((result, used))) => {
                    *buffer = used;
                    result
                }
                Ok(Err(_)) => Err(io::Error::other("the thread panicked").into()),
                Err(error) => Err(error.into()),
            };
            if buffer.len() < longest_read {
                // It went with a thread that could not be started.
                buffer.resize(longest_read, 0);
            }
            total = both(total, outcome(transfer, *piece, result));
        }
        total
    }

    /// The next piece of a step.
    fn pick(&mut self, index: usize, transfer: &Transfer) -> Piece {
        let set = &self.stage.plan.file_sets[transfer.set];
        let salt = self.random.bits();
        let (directory, file, offset) = match transfer.access {
            Access::Random => {
                let offsets = (set.size_bytes - transfer.bytes) / transfer.block_bytes + 1;
                let directory = self.random.below(self.actor.directories as u64);
                (directory, self.random.below(set.files), self.random.below(offsets) * transfer.block_bytes)
            }
            Access::Sequential => {
                let per_file = set.size_bytes / transfer.bytes;
                let pieces = per_file * set.files * self.actor.directories as u64;
                let piece = self.cursors[index] % pieces;
                self.cursors[index] = piece + 1;
                let (file, within) = (piece / per_file, piece % per_file);
                (file / set.files, file % set.files, within * transfer.bytes)
            }
        };
        Piece { file: FileId::new(directory as usize, transfer.set, file), offset, salt }
    }
}

fn outcome(transfer: &Transfer, piece: Piece, result: Result<(), Trouble>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done { bytes: transfer.bytes, file: Some(piece.file) },
        Err(Trouble::Stopped) => Outcome::Stopped,
        Err(Trouble::Failed(failure)) => Outcome::Failed(Failure { file: Some(piece.file), ..failure }),
    }
}

/// What two pieces of an operation come to: stopped before failed before done.
fn both(a: Outcome, b: Outcome) -> Outcome {
    match (a, b) {
        (Outcome::Stopped, _) | (_, Outcome::Stopped) => Outcome::Stopped,
        (Outcome::Failed(failure), _) | (_, Outcome::Failed(failure)) => Outcome::Failed(failure),
        (Outcome::Done { bytes: a, file }, Outcome::Done { bytes: b, .. }) => Outcome::Done { bytes: a + b, file },
    }
}

/// Body of a fork-join thread. Gives its buffer back.
fn whole_piece(
    stage: &Stage,
    transfer: &Transfer,
    piece: Piece,
    mut buffer: Vec<u8>,
) -> (Result<(), Trouble>, Vec<u8>) {
    let result = match transfer.direction {
        Direction::Create => create(stage, transfer, piece),
        _ => match files::open(&stage.plan, piece.file) {
            Ok(file) => move_piece(stage, transfer, piece, &file, &mut buffer),
            Err(error) => Err(error.into()),
        },
    };
    (result, buffer)
}

/// Moves the bytes of a piece, block by block.
fn move_piece(stage: &Stage, transfer: &Transfer, piece: Piece, file: &File, buffer: &mut [u8]) -> Result<(), Trouble> {
    let mut moved = 0;
    while moved < transfer.bytes {
        if stage.board.is_stopping() {
            return Err(Trouble::Stopped);
        }
        let length = transfer.block_bytes.min(transfer.bytes - moved) as usize;
        match transfer.direction {
            Direction::Read => block::read(file, &mut buffer[..length], piece.offset + moved)?,
            _ => block::write(file, stage.bytes.slice(piece.salt.wrapping_add(moved), length), piece.offset + moved)?,
        }
        moved += length as u64;
    }
    match transfer.sync {
        Sync::None => {}
        Sync::Fdatasync => file.sync_data()?,
        Sync::Fsync => file.sync_all()?,
    }
    Ok(())
}

/// Writes a new file and renames it over the one it replaces, so that the space in use stays the same.
fn create(stage: &Stage, transfer: &Transfer, piece: Piece) -> Result<(), Trouble> {
    let plan = &stage.plan;
    let path =
        piece.file.path(&plan.data_directories, &plan.file_sets).ok_or(io::Error::from(io::ErrorKind::NotFound))?;
    let fresh = path.with_file_name(format!(".new-{:x}", piece.salt));
    let write = || -> Result<(), Trouble> {
        let file = File::options().write(true).create_new(true).open(&fresh)?;
        move_piece(stage, transfer, Piece { offset: 0, ..piece }, &file, &mut [])?;
        Ok(fs::rename(&fresh, &path)?)
    };
    let result = write();
    if result.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    result
}
