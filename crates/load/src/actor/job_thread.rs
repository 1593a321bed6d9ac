//! A thread with a job, which it does once in each of its phases.

use std::num::NonZeroU64;

use super::load::Load;
use crate::board::{Board, LoadCommand, OperationRecorder, ThreadShare};
use crate::clock;
use crate::job::Job;
use crate::work::{ActorThread, Worker};

/// Interval at which an idle thread polls the board.
const LOOK_NS: u64 = 2_000_000;

/// Body of a thread with a job: does it once in each of its phases, from the common start.
pub(super) fn perform(job: &Job, load: &Load, thread: ActorThread, tid: u32) {
    let actor = &load.plan.actors[thread.actor];
    if actor.rate_per_s.is_some() {
        // With the default timer slack the kernel wakes a sleeping thread up to 50 us late, which would count as
        // latency.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }
    let board = &load.context.board;
    let mut last_sequence = None;
    while !board.is_stopping() {
        let command = board.command();
        let LoadCommand::Phase { phase, sequence } = command else {
            clock::sleep_until_ns(clock::now_ns() + LOOK_NS);
            continue;
        };
        if last_sequence == Some(sequence) || !actor.in_phase.get(phase).copied().unwrap_or(false) {
            clock::sleep_until_ns(clock::now_ns() + LOOK_NS);
            continue;
        }
        last_sequence = Some(sequence);
        board.arrive(sequence, load.plan.placement.is_none().then(|| load.plan.job_threads(phase)));
        let Some(start_ns) = wait_for_start(board, command) else { continue };
        let recorder = OperationRecorder::new(board, thread.index, tid, load.plan.slower_than_ns);
        let mut worker = Worker::new(&load.context, actor.group(), thread, recorder, command, start_ns);
        job.perform(&mut worker);
        // The share ends first: statvfs is not part of the job.
        let share = worker.into_share(tid);
        let share = ThreadShare { used_ppm: used_ppm(load, thread), ..share };
        board.end_share(sequence, thread.index, &share, !actor.background);
    }
}

/// How full the file system of a thread's directory is, in millionths.
fn used_ppm(load: &Load, thread: ActorThread) -> Option<u32> {
    let directories = load.plan.actors[thread.actor].directories.max(1) as u64;
    let held = load.context.directories().get((thread.ordinal % directories) as usize)?;
    let space = rustix::fs::fstatvfs(held.directory()).ok().filter(|space| space.f_blocks > 0)?;
    let used = space.f_blocks.saturating_sub(space.f_bavail);
    Some((u128::from(used) * 1_000_000 / u128::from(space.f_blocks)) as u32)
}

/// Waits for the common start; `None`: the phase ended or the load stops.
fn wait_for_start(board: &Board, command: LoadCommand) -> Option<u64> {
    let is_over = || board.command() != command;
    while !is_over() {
        match board.job_start_ns() {
            Some(start_ns) => return clock::sleep_watching(start_ns, is_over).then_some(start_ns),
            None => clock::sleep_until_ns(clock::now_ns() + LOOK_NS / 4),
        }
    }
    None
}
