//! Reads, writes and file creation: by one thread, or fork-join.

use std::fs::File;
use std::io;

use rustix::fs::OFlags;

use super::files::{self, OpenFiles};
use super::load::Load;
use super::outcome::StepOutcome;
use crate::block;
use crate::board::OperationRecorder;
use crate::data::{FileId, FilePlace};
use crate::io_failure::IoFailure;
use crate::plan::{Actor, FileTransfer, Plan, RoundStep, StepWork, TransferDirection};
use crate::random::Random;
use crate::recipe::{Access, WriteSync};

/// Fork-join threads need little stack; the kernel stack of each is part of the pressure.
const FORK_STACK_BYTES: usize = 128 << 10;

/// The piece of a transfer that one thread moves.
#[derive(Clone, Copy)]
struct TransferPiece {
    file: FileId,
    offset: u64,
    /// Decides which bytes are written, and the name of a new file before it is renamed.
    salt: u64,
}

/// Why a piece was not completed.
enum PieceError {
    Failed(IoFailure),
    Stopped,
}

impl From<io::Error> for PieceError {
    fn from(error: io::Error) -> PieceError {
        PieceError::Failed(error.into())
    }
}

impl From<IoFailure> for PieceError {
    fn from(failure: IoFailure) -> PieceError {
        PieceError::Failed(failure)
    }
}

/// Largest block that the actor reads.
fn longest_read(actor: &Actor) -> usize {
    let block = |step: &RoundStep| match &step.work {
        StepWork::Transfer(transfer) if transfer.direction == TransferDirection::Read => transfer.block_bytes as usize,
        _ => 0,
    };
    actor.steps.iter().map(block).max().unwrap_or(0)
}

/// Buffers for the actor's widest fork and largest block.
fn buffers(actor: &Actor) -> Vec<Vec<u8>> {
    let widest = actor.steps.iter().filter_map(|step| match &step.work {
        StepWork::Transfer(transfer) => Some(transfer.fork.unwrap_or(1)),
        _ => None,
    });
    vec![vec![0; longest_read(actor)]; widest.max().unwrap_or(0) as usize]
}

/// Start of a thread's sequential access: the pieces are divided evenly among the actor's threads.
fn first_piece(plan: &Plan, actor: &Actor, ordinal: u64, step: &RoundStep) -> u64 {
    let StepWork::Transfer(transfer) = &step.work else { return 0 };
    let set = &plan.file_sets[transfer.set];
    let pieces = (set.size_bytes / transfer.bytes) * set.files * actor.directories as u64;
    (u128::from(pieces) * u128::from(ordinal) / u128::from(actor.threads.max(1))) as u64
}

/// The transfers of one thread: open files, buffers and positions.
pub(super) struct Transfers {
    files: OpenFiles,
    /// Read buffers, one per thread of the widest fork.
    buffers: Vec<Vec<u8>>,
    /// Position of the sequential access of each step.
    cursors: Vec<u64>,
}

impl Transfers {
    pub(super) fn new(plan: &Plan, actor: &Actor, ordinal: u64) -> Transfers {
        let cursors = actor.steps.iter().map(|step| first_piece(plan, actor, ordinal, step)).collect();
        Transfers { files: OpenFiles::default(), buffers: buffers(actor), cursors }
    }

    /// One operation of a step, which is given with its index.
    pub(super) fn run(
        &mut self,
        load: &Load,
        actor: &Actor,
        recorder: &OperationRecorder<'_>,
        random: &mut Random,
        (index, transfer): (usize, &FileTransfer),
    ) -> StepOutcome {
        if actor.directories == 0 {
            return StepOutcome::NOTHING;
        }
        let mut pick = || self.pick(load, actor.directories, random, (index, transfer));
        match transfer.fork {
            Some(threads) => {
                let pieces: Vec<TransferPiece> = (0..threads).map(|_| pick()).collect();
                self.fork_join(load, longest_read(actor), transfer, &pieces)
            }
            None => {
                let piece = pick();
                recorder.works_on(piece.file);
                self.inline(load, transfer, piece)
            }
        }
    }

    /// `fsync` of a file, opened now or before.
    pub(super) fn sync(&mut self, load: &Load, file: FileId) -> io::Result<()> {
        self.files.with(&load.context, file, File::sync_all)
    }

    /// Closes a file that an operation failed on.
    pub(super) fn forget(&mut self, file: Option<FileId>) {
        self.files.forget(file);
    }

    fn inline(&mut self, load: &Load, transfer: &FileTransfer, piece: TransferPiece) -> StepOutcome {
        let buffer = &mut self.buffers[0];
        let result = match transfer.direction {
            TransferDirection::Create => create(load, transfer, piece),
            _ => {
                let buffer = std::cell::RefCell::new(buffer);
                let run = |file: &File| move_piece(load, transfer, piece, file, &mut buffer.borrow_mut());
                self.files.with(&load.context, piece.file, run)
            }
        };
        outcome(transfer, piece, result)
    }

    /// Starts a thread per piece and waits for all of them.
    fn fork_join(
        &mut self,
        load: &Load,
        longest_read: usize,
        transfer: &FileTransfer,
        pieces: &[TransferPiece],
    ) -> StepOutcome {
        let buffers = &mut self.buffers;
        let results = std::thread::scope(|scope| {
            let start = |(piece, buffer): (&TransferPiece, &mut Vec<u8>)| {
                let (piece, buffer) = (*piece, std::mem::take(buffer));
                let body = move || whole_piece(load, transfer, piece, buffer);
                std::thread::Builder::new().stack_size(FORK_STACK_BYTES).spawn_scoped(scope, body)
            };
            let started: Vec<_> = pieces.iter().zip(buffers.iter_mut()).map(start).collect();
            let joined = started.into_iter().map(|thread| thread.map(|thread| thread.join()));
            joined.collect::<Vec<_>>()
        });
        let mut total = StepOutcome::Done { bytes: 0, file: pieces.first().map(|piece| piece.file) };
        for ((result, piece), buffer) in results.into_iter().zip(pieces).zip(buffers) {
            let result = match result {
                Ok(Ok((result, used))) => {
                    *buffer = used;
                    result
                }
                Ok(Err(_)) => Err(io::Error::other("the thread panicked").into()),
                Err(error) => Err(error.into()),
            };
            if buffer.len() < longest_read {
                // It was lost with a thread that could not be started.
                buffer.resize(longest_read, 0);
            }
            total = both(total, outcome(transfer, *piece, result));
        }
        total
    }

    /// The next piece of a step.
    fn pick(
        &mut self,
        load: &Load,
        directories: usize,
        random: &mut Random,
        (index, transfer): (usize, &FileTransfer),
    ) -> TransferPiece {
        let set = &load.plan.file_sets[transfer.set];
        let salt = random.bits();
        let (directory, file, offset) = match transfer.access {
            Access::Random => {
                let offsets = (set.size_bytes - transfer.bytes) / transfer.block_bytes + 1;
                let directory = random.below(directories as u64);
                (directory, random.below(set.files), random.below(offsets) * transfer.block_bytes)
            }
            Access::Sequential => {
                let per_file = set.size_bytes / transfer.bytes;
                let pieces = per_file * set.files * directories as u64;
                let piece = self.cursors[index] % pieces;
                self.cursors[index] = piece + 1;
                let (file, within) = (piece / per_file, piece % per_file);
                (file / set.files, file % set.files, within * transfer.bytes)
            }
        };
        TransferPiece { file: FileId::new(directory as usize, transfer.set, file), offset, salt }
    }
}

fn outcome(transfer: &FileTransfer, piece: TransferPiece, result: Result<(), PieceError>) -> StepOutcome {
    match result {
        Ok(()) => StepOutcome::Done { bytes: transfer.bytes, file: Some(piece.file) },
        Err(PieceError::Stopped) => StepOutcome::Stopped,
        Err(PieceError::Failed(failure)) => StepOutcome::Failed(IoFailure { file: Some(piece.file), ..failure }),
    }
}

/// Combines the results of two pieces: stopped before failed before done.
fn both(a: StepOutcome, b: StepOutcome) -> StepOutcome {
    match (a, b) {
        (StepOutcome::Stopped, _) | (_, StepOutcome::Stopped) => StepOutcome::Stopped,
        (StepOutcome::Failed(failure), _) | (_, StepOutcome::Failed(failure)) => StepOutcome::Failed(failure),
        (StepOutcome::Done { bytes: a, file }, StepOutcome::Done { bytes: b, .. }) => {
            StepOutcome::Done { bytes: a + b, file }
        }
    }
}

/// Body of a fork-join thread. Returns its buffer.
fn whole_piece(
    load: &Load,
    transfer: &FileTransfer,
    piece: TransferPiece,
    mut buffer: Vec<u8>,
) -> (Result<(), PieceError>, Vec<u8>) {
    let result = match transfer.direction {
        TransferDirection::Create => create(load, transfer, piece),
        _ => match files::open(&load.context, piece.file) {
            Ok(file) => move_piece(load, transfer, piece, &file, &mut buffer),
            Err(error) => Err(error.into()),
        },
    };
    (result, buffer)
}

/// Moves the bytes of a piece, block by block.
fn move_piece(
    load: &Load,
    transfer: &FileTransfer,
    piece: TransferPiece,
    file: &File,
    buffer: &mut [u8],
) -> Result<(), PieceError> {
    let mut moved = 0;
    while moved < transfer.bytes {
        if load.context.board.is_stopping() {
            return Err(PieceError::Stopped);
        }
        let length = transfer.block_bytes.min(transfer.bytes - moved) as usize;
        match transfer.direction {
            TransferDirection::Read => block::read(file, &mut buffer[..length], piece.offset + moved)?,
            _ => block::write(
                file,
                load.context.bytes.slice(piece.salt.wrapping_add(moved), length),
                piece.offset + moved,
            )?,
        }
        moved += length as u64;
    }
    match transfer.sync {
        WriteSync::None => {}
        WriteSync::Fdatasync => file.sync_data()?,
        WriteSync::Fsync => file.sync_all()?,
    }
    Ok(())
}

/// Writes a new file and renames it over the old one, so that the space in use stays the same.
fn create(load: &Load, transfer: &FileTransfer, piece: TransferPiece) -> Result<(), PieceError> {
    let FilePlace { directory, name } = files::place(&load.context, piece.file)?;
    let temporary = name.with_file_name(format!(".new-{:x}", piece.salt));
    let write = || -> Result<(), PieceError> {
        let file = directory.file(&temporary, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        move_piece(load, transfer, TransferPiece { offset: 0, ..piece }, &file, &mut [])?;
        Ok(directory.rename(&temporary, &name)?)
    };
    let result = write();
    if result.is_err() {
        let _ = directory.remove_file(&temporary);
    }
    result
}
