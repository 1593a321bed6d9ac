//! A thread that works on its files, one after the other.

use rustix::io::Errno;

use super::own_files::OwnFiles;
use crate::board::OperationLevel;
use crate::clock;
use crate::data::{FileId, FileNames};
use crate::io_failure::IoFailure;
use crate::work::Worker;

/// This many failures in a row end a thread's share.
const PATIENCE: u32 = 8;

/// Why a file was not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// An operation failed; it was counted.
    Failed,
    /// The file system is full.
    Full,
    /// The phase ends.
    Over,
}

/// A thread at work.
pub(super) struct FilesThread<'b, 'w> {
    pub(super) files: OwnFiles,
    pub(super) worker: &'b mut Worker<'w>,
    /// When the next operation begins: where the one before ended.
    pub(super) at_ns: u64,
    pub(super) failed_in_a_row: u32,
}

impl<'w> FilesThread<'_, 'w> {
    pub(super) fn names(&self) -> &'w FileNames {
        &self.worker.load.file_sets[self.files.set].names
    }

    /// Waits for the next file's turn.
    pub(super) fn begin(&mut self) -> Result<(), Unfinished> {
        match self.worker.next_start_ns() {
            Some(start_ns) => {
                self.at_ns = start_ns.unwrap_or_else(clock::now_ns);
                Ok(())
            }
            None => Err(Unfinished::Over),
        }
    }

    /// Times one operation, which begins where the one before ended, and returns what it is about and its bytes.
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

    /// Counts a failed operation, unless it is what was to be expected.
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
            // What there was no room for is not there to be removed.
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

    /// Counts a file that is done. `false`: the thread should not go on with the next.
    pub(super) fn finish_file(&mut self, ended: Result<(), Unfinished>) -> bool {
        if ended.is_ok() {
            self.worker.done(1);
        }
        self.goes_on(ended)
    }

    /// Takes note of how something ended. `false`: the thread should not go on.
    pub(super) fn goes_on(&mut self, ended: Result<(), Unfinished>) -> bool {
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

/// A failure as the kernel says.
pub(super) fn failed(errno: Errno) -> IoFailure {
    IoFailure { errno: errno.raw_os_error(), ..IoFailure::default() }
}
