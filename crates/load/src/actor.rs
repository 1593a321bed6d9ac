//! The threads of the load: each repeats its actor's round, or does its job, until the load stops.

mod files;
mod job_thread;
mod load;
mod memory;
mod outcome;
mod transfer;
mod walk;

use std::num::NonZeroU64;

pub(crate) use load::{Load, ledger};
use memory::HeldMemory;
use outcome::StepOutcome;
use transfer::Transfers;

use crate::board::{Board, FinishedOperation, LoadCommand, OperationLevel, OperationRecorder};
use crate::clock;
use crate::data::FileId;
use crate::io_failure::IoFailure;
use crate::plan::{Actor, RoundStep, StepWork};
use crate::random::Random;
use crate::work::{ActorThread, Pace};

/// Back-off after a failed operation, so that a dead disk does not make the thread spin.
const BACK_OFF_NS: u64 = 10_000_000;
/// Interval at which an idle thread polls the board.
const NAP_NS: u64 = 20_000_000;

/// One thread of an actor.
struct Performer<'a> {
    load: &'a Load,
    board: &'a Board,
    actor: &'a Actor,
    thread: ActorThread,
    recorder: OperationRecorder<'a>,
    random: Random,
    held: HeldMemory,
    transfers: Transfers,
    /// The file used last.
    last: Option<FileId>,
}

/// Body of an actor thread, or of a process that takes the place of one.
pub(crate) fn perform(load: &Load, thread: ActorThread) {
    let actor = &load.plan.actors[thread.actor];
    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    if let Some(job) = &actor.job {
        return job_thread::perform(job, load, thread, tid);
    }
    let board = &load.context.board;
    let recorder = OperationRecorder::new(board, thread.index, tid, load.plan.slower_than_ns);
    let mut performer = Performer {
        load,
        board,
        actor,
        thread,
        recorder,
        random: Random::new(load.plan.seed, thread.index as u64),
        held: HeldMemory::default(),
        transfers: Transfers::new(&load.plan, actor, thread.ordinal),
        last: None,
    };
    if actor.rate_per_s.is_some() {
        // With the default timer slack the kernel wakes a sleeping thread up to 50 us late, which would count as
        // latency.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }
    performer.run();
}

/// Sleeps until that time; `false`: the load stopped before.
fn sleep_until(board: &Board, moment_ns: u64) -> bool {
    clock::sleep_watching(moment_ns, || board.is_stopping())
}

impl Performer<'_> {
    fn run(&mut self) {
        let mut pace = None;
        while !self.board.is_stopping() {
            let acts = match self.board.command() {
                LoadCommand::Phase { phase, .. } => self.actor.in_phase.get(phase).copied().unwrap_or(false),
                LoadCommand::Wait | LoadCommand::Stop => false,
            };
            if !acts {
                pace = None;
                sleep_until(self.board, clock::now_ns() + NAP_NS);
                continue;
            }
            if self.held.is_empty() && self.actor.holds_bytes > 0 {
                self.hold();
                continue;
            }
            let pace = pace.get_or_insert_with(|| Pace::new(self.actor.group(), self.thread.ordinal, clock::now_ns()));
            let start_ns = pace.next_start_ns(&mut self.random);
            if start_ns.is_none_or(|start_ns| sleep_until(self.board, start_ns)) {
                self.round(start_ns);
            }
        }
    }

    /// Allocates the memory that this thread holds; counts a failure, and the caller retries.
    fn hold(&mut self) {
        match HeldMemory::take(self.actor.holds_bytes, self.board) {
            Ok(held) => self.held = held,
            Err(error) => {
                if let Some(class) = self.actor.steps.iter().find_map(|step| step.class) {
                    let now = clock::now_ns();
                    let failure = IoFailure::from(error);
                    let failed = FinishedOperation {
                        class,
                        start_ns: now,
                        end_ns: now,
                        bytes: 0,
                        file: None,
                        failure: Some(failure),
                    };
                    self.recorder.finish(OperationLevel::Step, failed);
                }
                sleep_until(self.board, clock::now_ns() + BACK_OFF_NS);
            }
        }
    }

    /// One round. `intended_ns`: the intended start of a paced round.
    fn round(&mut self, intended_ns: Option<u64>) {
        let start_ns = intended_ns.unwrap_or_else(clock::now_ns);
        if let Some(class) = self.actor.round_class {
            self.recorder.begin(OperationLevel::Round, class, start_ns);
        }
        let mut step_start_ns = start_ns;
        for (index, step) in self.actor.steps.iter().enumerate() {
            match self.timed_step(index, step, step_start_ns) {
                Some(end_ns) => step_start_ns = end_ns,
                None => return self.recorder.abandon(OperationLevel::Round),
            }
        }
        if let Some(class) = self.actor.round_class {
            let end_ns = clock::now_ns();
            let done = FinishedOperation { class, start_ns, end_ns, bytes: 0, file: None, failure: None };
            self.recorder.finish(OperationLevel::Round, done);
        }
    }

    /// The end of the step; `None`: it failed or was abandoned, and the round with it.
    fn timed_step(&mut self, index: usize, step: &RoundStep, start_ns: u64) -> Option<u64> {
        if let Some(class) = step.class {
            self.recorder.begin(OperationLevel::Step, class, start_ns);
        }
        let outcome = self.step(index, step);
        let end_ns = clock::now_ns();
        let (bytes, file, failure) = match outcome {
            StepOutcome::Done { bytes, file } => (bytes, file, None),
            StepOutcome::Failed(failure) => (0, failure.file, Some(failure)),
            StepOutcome::Stopped => {
                self.recorder.abandon(OperationLevel::Step);
                return None;
            }
        };
        self.last = file.or(self.last);
        if let Some(class) = step.class {
            self.recorder
                .finish(OperationLevel::Step, FinishedOperation { class, start_ns, end_ns, bytes, file, failure });
        }
        if failure.is_some() {
            self.transfers.forget(file);
            sleep_until(self.board, end_ns + BACK_OFF_NS);
            return None;
        }
        Some(end_ns)
    }

    fn step(&mut self, index: usize, step: &RoundStep) -> StepOutcome {
        let board = self.board;
        match &step.work {
            StepWork::Transfer(transfer) => {
                self.transfers.run(self.load, self.actor, &self.recorder, &mut self.random, (index, transfer))
            }
            StepWork::Fsync => self.fsync(),
            StepWork::Allocate { bytes } => memory::allocate(*bytes, board),
            StepWork::Touch => self.held.touch(board),
            StepWork::Burn { duration_ns } => burn(board, clock::now_ns() + duration_ns),
            StepWork::Walk { set } => walk::walk(&self.load.context, self.actor, self.thread.ordinal, *set),
            StepWork::Pause { duration_ns } => match sleep_until(board, clock::now_ns() + duration_ns) {
                true => StepOutcome::NOTHING,
                false => StepOutcome::Stopped,
            },
        }
    }

    fn fsync(&mut self) -> StepOutcome {
        let Some(file) = self.last else { return StepOutcome::NOTHING };
        self.recorder.works_on(file);
        match self.transfers.sync(self.load, file) {
            Ok(()) => StepOutcome::Done { bytes: 0, file: Some(file) },
            Err(error) => StepOutcome::failed(&error, Some(file)),
        }
    }
}

fn burn(board: &Board, until_ns: u64) -> StepOutcome {
    let mut number = 1u64;
    while clock::now_ns() < until_ns {
        if board.is_stopping() {
            return StepOutcome::Stopped;
        }
        for _ in 0..4096 {
            number = std::hint::black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
    StepOutcome::NOTHING
}
