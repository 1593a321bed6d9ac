//! The program's side of a load: starts the load process, runs its phases, and reports events.
//!
//! Nothing here waits. The program calls [`Conductor::poll`] from its loop; all information comes from the board,
//! even while every thread of the load is stuck in the kernel.

mod among;
mod event;
mod follower;
mod others;
mod spawn;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::Arc;

pub use event::{Launch, LoadEvent};
pub use follower::Follower;
use model::operation::OperationRecord;
pub use others::{Others, PartEnd};
use spawn::{cause_of_death, spawn};

use crate::board::{Board, BoardReader, LoadCommand, ProcessState};
use crate::clock;
use crate::error::LoadError;
use crate::plan::{Plan, RankPlacement};
use crate::recipe::PhaseKind;

/// Time limit for threads to end their jobs after the end of the phase.
const FAREWELL_NS: u64 = 50_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConductorState {
    Starting,
    /// A phase waits until all its threads with a job are ready.
    WaitingForJobThreads {
        phase: usize,
    },
    InPhase {
        phase: usize,
        started_ns: u64,
        report_ns: u64,
    },
    Stopping,
    Gone,
}

/// A running load.
pub struct Conductor {
    plan: Plan,
    child: Child,
    board: Arc<Board>,
    /// Through which the ranks of a node share the board.
    descriptor: OwnedFd,
    others: Option<Box<dyn Others>>,
    /// The others know that this load has failed, or have caused it.
    others_know: bool,
    reader: BoardReader,
    stage: ConductorState,
    phase_bytes: u64,
    /// When the phase's time ended and its threads were notified.
    over_since_ns: Option<u64>,
    /// Number of phases begun.
    sequence: u32,
    /// Whether any operation so far found a file system full.
    is_full: bool,
    stop_requested: bool,
    killed: bool,
}

impl Conductor {
    /// Starts the load process. It dies with the calling *thread*: call this from a thread that lives as long as the
    /// load should, such as the main thread.
    pub fn start(plan: Plan, launch: &Launch) -> Result<Conductor, LoadError> {
        Conductor::start_among(plan, launch, None)
    }

    /// Like [`Conductor::start`], for the ranks of one node of several: of the plan's part.
    pub fn start_among(plan: Plan, launch: &Launch, others: Option<Box<dyn Others>>) -> Result<Conductor, LoadError> {
        let (descriptor, board) = Board::create(plan.board_shape())?;
        let board = Arc::new(board);
        let child = spawn(&plan, launch, &descriptor)?;
        let reader = BoardReader::new(Arc::clone(&board), plan.board_names(), clock::now_ns());
        let stage = ConductorState::Starting;
        Ok(Conductor {
            plan,
            child,
            board,
            descriptor,
            others,
            others_know: false,
            reader,
            stage,
            phase_bytes: 0,
            over_since_ns: None,
            sequence: 0,
            is_full: false,
            stop_requested: false,
            killed: false,
        })
    }

    /// Process id of the load.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The board, for other processes of this node.
    pub fn board(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// The running plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// When [`Conductor::poll`] has work at the latest; `None`: the load process decides, so poll every few
    /// milliseconds.
    pub fn next_due_ns(&self) -> Option<u64> {
        match self.stage {
            _ if self.others.is_some() => None,
            ConductorState::InPhase { phase, started_ns, report_ns } => {
                let end_ns = started_ns.saturating_add(self.plan.phases[phase].duration_ns?);
                // Threads with a job may end earlier, so poll every few milliseconds.
                (self.plan.job_threads_to_end(phase) == 0).then_some(end_ns.min(report_ns))
            }
            _ => None,
        }
    }

    /// Events since the previous call. `now_ns` is [`clock::now_ns`].
    pub fn poll(&mut self, now_ns: u64) -> Vec<LoadEvent> {
        let mut events = Vec::new();
        if self.stage == ConductorState::Gone {
            return events;
        }
        self.learn_of_failures();
        let ended = self.child.try_wait();
        let drained = self.reader.drain_operations();
        self.is_full |= drained.0.iter().any(|operation| operation.errno == Some(libc::ENOSPC));
        emit_operations(&mut events, drained);
        if let Ok(Some(status)) = ended {
            self.leave_phase(now_ns, &mut events);
            let drained = self.reader.drain_rest();
            emit_operations(&mut events, drained);
            let ending = self.ending(status);
            if let LoadEvent::Died { message, .. } = &ending {
                self.tell_others(message);
            }
            events.push(ending);
            self.stage = ConductorState::Gone;
            return events;
        }
        match self.stage {
            ConductorState::Starting if self.board.state() == ProcessState::Ready => {
                self.enter_phase(0, now_ns, &mut events)
            }
            ConductorState::WaitingForJobThreads { phase } => self.wait_for_job_threads(phase, now_ns, &mut events),
            ConductorState::InPhase { phase, started_ns, report_ns } => {
                self.in_phase(phase, started_ns, report_ns, now_ns, &mut events);
            }
            _ => {}
        }
        events
    }

    fn in_phase(&mut self, phase: usize, started_ns: u64, report_ns: u64, now_ns: u64, events: &mut Vec<LoadEvent>) {
        if self.stop_requested || self.board.state() == ProcessState::Failed {
            self.leave_phase(now_ns, events);
            self.stage = ConductorState::Stopping;
            return;
        }
        let is_fill = self.plan.phases[phase].kind == PhaseKind::Fill;
        if is_fill {
            let (done_bytes, total_bytes) = self.board.fill_progress();
            events.push(LoadEvent::Progress { done_bytes, total_bytes });
        }
        if self.has_ended(phase, started_ns, now_ns) && self.job_is_done(phase, now_ns) && self.others_have_ended(phase)
        {
            self.leave_phase(now_ns, events);
            self.sequence += 1;
            self.is_full |= self.board.is_full();
            match self.plan.following(phase, self.sequence - 1, self.is_full) {
                Some(next) => self.enter_phase(next, now_ns, events),
                None => {
                    self.board.give(LoadCommand::Stop);
                    self.stage = ConductorState::Stopping;
                }
            }
        } else if !is_fill && now_ns >= report_ns {
            self.report(phase, now_ns, events);
            // The grid stays fixed even if polls are late or missing.
            let missed = (now_ns - report_ns) / self.plan.report_interval_ns;
            let report_ns = report_ns + (missed + 1) * self.plan.report_interval_ns;
            self.stage = ConductorState::InPhase { phase, started_ns, report_ns };
        }
    }

    fn has_ended(&self, phase: usize, started_ns: u64, now_ns: u64) -> bool {
        let described = &self.plan.phases[phase];
        if described.kind == PhaseKind::Fill {
            let fills_here = self.plan.placement.as_ref().is_none_or(RankPlacement::fills_here);
            return !fills_here || self.board.ended_phase() == Some(phase);
        }
        let to_end = self.plan.job_threads_to_end(phase);
        // A node may have no thread in a phase that ends with those of others.
        let is_of_others = self.others.is_some() && described.duration_ns.is_none();
        let all_ended = (to_end > 0 || is_of_others) && self.board.shares_ended() >= to_end;
        all_ended || described.duration_ns.is_some_and(|duration_ns| now_ns >= started_ns.saturating_add(duration_ns))
    }

    /// Whether a phase whose time is over can be closed: its threads are notified and get a short time to end,
    /// so that counts are complete. Stuck threads are not waited for.
    fn job_is_done(&mut self, phase: usize, now_ns: u64) -> bool {
        if self.plan.phases[phase].kind == PhaseKind::Fill
            || self.board.shares_ended() >= self.plan.job_threads_to_end(phase)
        {
            return true;
        }
        if self.over_since_ns.is_none() {
            self.board.give(LoadCommand::Wait);
        }
        now_ns > *self.over_since_ns.get_or_insert(now_ns) + FAREWELL_NS
    }

    /// Begins a phase. With jobs in it, it starts when the last of their threads is ready.
    fn enter_phase(&mut self, phase: usize, now_ns: u64, events: &mut Vec<LoadEvent>) {
        if self.stop_requested || phase >= self.plan.phases.len() {
            self.stage = ConductorState::Stopping;
            return;
        }
        // Operations that end between two phases belong to neither. Jobs may end before their start is seen here, so
        // this comes before any thread can begin.
        self.reader.interval("", now_ns);
        self.board.prepare_job(self.sequence);
        self.board.give(LoadCommand::Phase { phase, sequence: self.sequence });
        if self.plan.phases[phase].kind != PhaseKind::Fill && self.plan.job_threads(phase) > 0 {
            self.stage = ConductorState::WaitingForJobThreads { phase };
        } else {
            self.start_phase(phase, now_ns, events);
        }
    }

    fn wait_for_job_threads(&mut self, phase: usize, now_ns: u64, events: &mut Vec<LoadEvent>) {
        if self.stop_requested || self.board.state() == ProcessState::Failed {
            self.stage = ConductorState::Stopping;
        } else if let Some(start_ns) = self.job_start_ns(phase).filter(|start_ns| *start_ns <= now_ns) {
            self.start_phase(phase, start_ns, events);
        }
    }

    fn start_phase(&mut self, phase: usize, now_ns: u64, events: &mut Vec<LoadEvent>) {
        let next = &self.plan.phases[phase];
        let (name, kind) = (next.name.clone(), next.kind);
        let measured = self.plan.is_measured(phase);
        events.push(LoadEvent::PhaseStarted { phase: name, kind, measured, at_ns: now_ns });
        self.reader.begin_interval_at(now_ns);
        self.phase_bytes = 0;
        self.over_since_ns = None;
        let report_ns = now_ns + self.plan.report_interval_ns;
        self.stage = ConductorState::InPhase { phase, started_ns: now_ns, report_ns };
    }

    /// Ends the current phase, if there is one.
    fn leave_phase(&mut self, now_ns: u64, events: &mut Vec<LoadEvent>) {
        let ConductorState::InPhase { phase, .. } = self.stage else { return };
        let members = self.job_threads(phase);
        // Jobs end between two polls.
        let last_end_ns = members.iter().map(|member| member.end_ns).max().unwrap_or(now_ns);
        let all_ended = members.len() as u64 == self.plan.job_threads_here(phase) && !members.is_empty();
        let now_ns = if all_ended { last_end_ns.min(now_ns) } else { now_ns };
        match self.plan.phases[phase].kind {
            PhaseKind::Fill => {
                let directories = self.board.reused_directories();
                if directories > 0 {
                    events.push(LoadEvent::Reused { directories });
                }
                self.phase_bytes = self.board.fill_progress().0;
            }
            PhaseKind::Warmup | PhaseKind::Run => self.report(phase, now_ns, events),
        }
        let name = self.plan.phases[phase].name.clone();
        if !members.is_empty() {
            events.push(LoadEvent::JobThreads { phase: name.clone(), at_ns: now_ns, members });
        }
        events.push(LoadEvent::PhaseEnded { phase: name, at_ns: now_ns, bytes: self.phase_bytes });
    }

    fn report(&mut self, phase: usize, now_ns: u64, events: &mut Vec<LoadEvent>) {
        let records = self.reader.interval(&self.plan.phases[phase].name, now_ns);
        // Rounds have no bytes; their steps have separate records.
        self.phase_bytes += records.iter().map(|record| record.bytes).sum::<u64>();
        events.push(LoadEvent::Interval(records));
        let stuck = self.reader.stuck(now_ns);
        if !stuck.is_empty() {
            events.push(LoadEvent::Operations(stuck));
        }
    }

    fn ending(&self, status: ExitStatus) -> LoadEvent {
        let expected = self.stop_requested || self.stage == ConductorState::Stopping;
        let message = self.board.message();
        if message.is_none() && (self.killed || (expected && status.success())) {
            return LoadEvent::Finished;
        }
        let message = message.unwrap_or_else(|| cause_of_death(status));
        LoadEvent::Died { signal: status.signal(), code: status.code(), message }
    }

    /// Operations that exceed the plan's threshold now.
    pub fn stuck(&self, now_ns: u64) -> Vec<OperationRecord> {
        self.reader.stuck(now_ns)
    }

    /// Requests the load to end. The next poll ends the phase, whether or not the load responds;
    /// [`LoadEvent::Finished`] follows when the process has exited.
    pub fn stop(&mut self) {
        self.stop_requested = true;
        if self.stage != ConductorState::Stopping {
            self.tell_others("the load was stopped");
        }
        self.board.give(LoadCommand::Stop);
        if self.stage == ConductorState::Starting {
            self.stage = ConductorState::Stopping;
        }
    }

    /// Kills the load. Threads stuck in the kernel stay until the kernel releases them.
    pub fn kill(&mut self) {
        self.killed = true;
        self.stop_requested = true;
        let _ = self.child.kill();
    }

    /// Whether all phases have ended and only the process has yet to exit. With threads stuck in the kernel it may
    /// never do so: the caller decides how long to wait.
    pub fn is_ending(&self) -> bool {
        self.stage == ConductorState::Stopping
    }

    /// Why the load failed, if it reported a message.
    pub fn failure_message(&self) -> Option<String> {
        self.board.message()
    }

    /// Whether the load process has exited, with all its threads.
    pub fn is_gone(&mut self) -> bool {
        self.stage == ConductorState::Gone || matches!(self.child.try_wait(), Ok(Some(_)))
    }
}

/// Kills the load without waiting: the program must be able to end while threads of the load are stuck.
impl Drop for Conductor {
    fn drop(&mut self) {
        if self.stage != ConductorState::Gone {
            let _ = self.child.kill();
            let _ = self.child.try_wait();
        }
    }
}

fn emit_operations(events: &mut Vec<LoadEvent>, (records, lost): (Vec<OperationRecord>, u64)) {
    if !records.is_empty() {
        events.push(LoadEvent::Operations(records));
    }
    if lost > 0 {
        events.push(LoadEvent::Lost { count: lost });
    }
}
