//! A thread that works on its files in sequence.

use rustix::io::Errno;

use super::own_files::OwnFiles;
use crate::board::OperationLevel;
use crate::clock;
use crate::data::{FileId, FileNames};
use crate::io_failure::IoFailure;
use crate::work::Worker;

/// Consecutive failures that end a thread's share.
const PATIENCE: u32 = 8;

/// Why a file was not completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// An operation failed and was counted.
    Failed,
    /// The file system is full.
    Full,
    /// The phase ends.
    Over,
}

/// A thread that works on its files.
pub(super) struct FilesThread<'b, 'w> {
    pub(super) files: OwnFiles,
    pub(super) worker: &'b mut Worker<'w>,
    /// Start of the next operation: the end of the previous one.
    pub(super) at_ns: u64,
    pub(super) failed_in_a_row: u32,
}

impl<'w> FilesThread<'_, 'w> {
    pub(super) fn names(&self) -> &'w FileNames {
        &self.worker.load.file_sets[self.files.set].names
    }

    /// Waits for the start of the next file.
    pub(super) fn begin(&mut self) -> Result<(), Unfinished> {
        match self.worker.next_start_ns() {
            Some(start_ns) => {
                self.at_ns = start_ns.unwrap_or_else(clock::now_ns);
                Ok(())
            }
            None => Err(Unfinished::Over),
        }
    }

    /// Times one operation, which begins at the end of the previous one.
    pub(super) fn step<T>(
        &mut self,
        class: usize,
        id: Option<FileId>,
        act: impl FnOnce(&mut OwnFiles) -> Result<(T, u64), IoFailure>,
    ) -> Result<T, Unfinished> {
        let recorder = &self.worker.recorder;
        recorder.begin(OperationLevel::Step, class, self.at_ns);
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

    /// Counts a failed operation, unless the failure is expected.
    fn fail(
        &mut self,
        class: usize,
        (start_ns, end_ns): (u64, u64),
        id: Option<FileId>,
        failure: IoFailure,
    ) -> Unfinished {
        let board = &self.worker.load.board;
        let stop = match failure.errno {
            libc::ENOSPC => Unfinished::Full,
            // On a full file system not all files were created, so some cannot be removed.
            libc::ENOENT if board.is_full() => Unfinished::Over,
            _ => Unfinished::Failed,
        };
        if stop == Unfinished::Full {
            board.set_full();
        }
        if stop == Unfinished::Over || stop == Unfinished::Full && self.is_to_be_filled() {
            self.worker.recorder.abandon(OperationLevel::Step);
        } else {
            let _ = self.worker.finish(class, start_ns, end_ns, id, Err(failure));
        }
        stop
    }

    fn is_to_be_filled(&self) -> bool {
        self.worker.load.repeat.is_some_and(|repeat| repeat.until_full)
    }

    /// Counts a completed file. `false`: the thread should stop.
    pub(super) fn finish_file(&mut self, ended: Result<(), Unfinished>) -> bool {
        if ended.is_ok() {
            self.worker.done(1);
        }
        self.may_continue(ended)
    }

    /// Records the result of a file. `false`: the thread should stop.
    pub(super) fn may_continue(&mut self, ended: Result<(), Unfinished>) -> bool {
        match ended {
            Ok(()) => self.failed_in_a_row = 0,
            Err(Unfinished::Failed) => {
                self.failed_in_a_row += 1;
                self.worker.back_off();
            }
            Err(Unfinished::Full | Unfinished::Over) => return false,
        }
        self.failed_in_a_row < PATIENCE
    }
}

/// A failure with that error number.
pub(super) fn failed(errno: Errno) -> IoFailure {
    IoFailure { errno: errno.raw_os_error(), ..IoFailure::default() }
}
