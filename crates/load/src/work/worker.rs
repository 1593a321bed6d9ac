//! What a job has at hand: the clock, the board, randomness, and the word that it should end.

use std::cell::Cell;
use std::io;

use super::context::LoadContext;
use super::group::{ActorThread, ThreadGroup};
use super::pace::Pace;
use crate::board::{FinishedOperation, LoadCommand, OperationLevel, OperationRecorder, ThreadShare};
use crate::clock;
use crate::data::{FileId, FilePlace};
use crate::io_failure::IoFailure;
use crate::random::Random;

/// Back-off after a failed operation, so that a dead disk does not make the thread spin.
const BACK_OFF_NS: u64 = 10_000_000;

/// One thread with a job.
pub(crate) struct Worker<'a> {
    pub(crate) load: &'a LoadContext,
    pub(crate) group: ThreadGroup,
    pub(crate) thread: ActorThread,
    pub(crate) recorder: OperationRecorder<'a>,
    pub(crate) random: Random,
    /// The command of its phase.
    command: LoadCommand,
    pace: Pace,
    share: Cell<ThreadShare>,
    /// CPU time of the thread when the job began.
    cpu_start_ns: u64,
}

impl<'a> Worker<'a> {
    /// A thread with a common start.
    pub(crate) fn new(
        load: &'a LoadContext,
        group: ThreadGroup,
        thread: ActorThread,
        recorder: OperationRecorder<'a>,
        command: LoadCommand,
        start_ns: u64,
    ) -> Worker<'a> {
        let sequence = if let LoadCommand::Phase { sequence, .. } = command { sequence } else { 0 };
        Worker {
            load,
            group,
            thread,
            recorder,
            // A repeated phase makes different choices, reproducible from the same seed.
            random: Random::new(load.seed, thread.index as u64 ^ (u64::from(sequence) << 32)),
            command,
            pace: Pace::new(group, thread.ordinal, start_ns),
            share: Cell::new(ThreadShare { start_ns, ..ThreadShare::default() }),
            cpu_start_ns: clock::thread_cpu_ns(),
        }
    }

    /// The common start.
    pub(crate) fn start_ns(&self) -> u64 {
        self.share.get().start_ns
    }

    /// Whether the job should end early: the load stops, or the phase's time is over. Cheap enough to check before each
    /// operation.
    pub(crate) fn is_over(&self) -> bool {
        !self.recorder.board().is_command(self.command)
    }

    /// Sequence number of the phase: another one each time a phase is repeated.
    pub(crate) fn sequence(&self) -> u32 {
        if let LoadCommand::Phase { sequence, .. } = self.command { sequence } else { 0 }
    }

    /// How often this phase was run before.
    pub(crate) fn repetition(&self) -> u64 {
        self.load.repetition_of(self.sequence())
    }

    /// Where a file is.
    pub(crate) fn place(&self, file: FileId) -> io::Result<FilePlace<'a>> {
        file.place(self.load.directories(), &self.load.file_sets).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Waits for the intended start of the next operation of a paced actor and returns it: latencies count from then.
    /// `Some(None)`: not paced. `None`: the job is over.
    pub(crate) fn next_start_ns(&mut self) -> Option<Option<u64>> {
        let Some(start_ns) = self.pace.next_start_ns(&mut self.random) else {
            return (!self.is_over()).then_some(None);
        };
        self.sleep_until(start_ns).then_some(Some(start_ns))
    }

    /// The intended start of the next operation, without waiting; `None`: not paced.
    pub(crate) fn draw_start_ns(&mut self) -> Option<u64> {
        self.pace.next_start_ns(&mut self.random)
    }

    /// Ends the whole load with this message.
    pub(crate) fn give_up(&self, message: &str) {
        let board = self.recorder.board();
        board.fail(message);
        board.give(LoadCommand::Stop);
    }

    /// Sleeps; `false`: the job is over.
    pub(crate) fn sleep_until(&self, moment_ns: u64) -> bool {
        clock::sleep_watching(moment_ns, || self.is_over())
    }

    /// Times one operation from now and counts it. `act` returns the bytes that it moved.
    pub(crate) fn time(
        &mut self,
        class: usize,
        file: Option<FileId>,
        act: impl FnOnce() -> Result<u64, IoFailure>,
    ) -> Result<u64, IoFailure> {
        self.time_from(clock::now_ns(), class, file, act)
    }

    /// Like [`Worker::time`] for an operation with an intended start.
    pub(crate) fn time_from(
        &mut self,
        start_ns: u64,
        class: usize,
        file: Option<FileId>,
        act: impl FnOnce() -> Result<u64, IoFailure>,
    ) -> Result<u64, IoFailure> {
        self.recorder.begin(OperationLevel::Step, class, start_ns);
        if let Some(file) = file {
            self.recorder.works_on(file);
        }
        let result = act();
        let end_ns = clock::now_ns();
        self.finish(class, start_ns, end_ns, file, result)
    }

    /// Counts an operation that the job timed, after [`OperationRecorder::begin`].
    pub(crate) fn finish(
        &mut self,
        class: usize,
        start_ns: u64,
        end_ns: u64,
        file: Option<FileId>,
        result: Result<u64, IoFailure>,
    ) -> Result<u64, IoFailure> {
        self.finish_at(OperationLevel::Step, class, start_ns, end_ns, file, result)
    }

    /// Like [`Worker::finish`], for one of several operations in flight.
    pub(crate) fn finish_at(
        &mut self,
        level: OperationLevel,
        class: usize,
        start_ns: u64,
        end_ns: u64,
        file: Option<FileId>,
        result: Result<u64, IoFailure>,
    ) -> Result<u64, IoFailure> {
        let bytes = *result.as_ref().unwrap_or(&0);
        let failure = result.err().map(|failure| IoFailure { file: failure.file.or(file), ..failure });
        self.recorder.finish(level, FinishedOperation { class, start_ns, end_ns, bytes, file, failure });
        let share = self.share.get_mut();
        share.bytes += bytes;
        share.busy_ns += end_ns.saturating_sub(start_ns);
        match failure {
            Some(failure) => Err(failure),
            None => Ok(bytes),
        }
    }

    /// Counts items done, in the workload's unit: files, blocks, mails.
    pub(crate) fn done(&mut self, items: u64) {
        self.share.get_mut().items += items;
    }

    /// It has opened its file.
    pub(crate) fn has_opened(&mut self) {
        self.share.get_mut().opened_ns = Some(clock::now_ns());
    }

    /// It closes it now.
    pub(crate) fn is_closing(&mut self) {
        self.share.get_mut().closing_ns = Some(clock::now_ns());
    }

    /// Sleeps after a failure.
    pub(crate) fn back_off(&self) {
        self.sleep_until(clock::now_ns() + BACK_OFF_NS);
    }

    /// Its share, at the end.
    pub(crate) fn into_share(self, tid: u32) -> ThreadShare {
        let cpu_ns = clock::thread_cpu_ns().saturating_sub(self.cpu_start_ns);
        ThreadShare { tid, end_ns: clock::now_ns(), cpu_ns, ..self.share.get() }
    }
}
