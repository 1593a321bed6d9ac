//! Jobs: what a thread does from the common start of a phase until it has done its share.
//!
//! An actor whose round is a list of steps repeats it for as long as a phase lasts. An actor with a *job* has an end of its
//! own: so many files, a file from its begin to its end, so many reads. The phase ends when all its jobs have ended (or
//! at its duration, where it has one). Each job is a file or folder here: its keys in a recipe ([`Key`]), what they resolve
//! to (a part of the plan), and the loop itself, which times its operations through a [`Worker`].

mod block;
pub mod checkout;
mod cold;
pub mod files;
mod home;
mod keys;
pub mod mails;
mod patience;
pub mod probe;
pub mod random;
pub mod ranks;
mod sizes;
pub mod stream;
mod tree;
mod values;
pub mod verify;
mod worker;

pub(crate) use keys::{Given, JobRecipe, Key, KeyKind, WordValue, word};
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
pub(crate) use values::{Values, WordSource};
pub(crate) use worker::Worker;

use crate::actor::{Place, Stage};
use crate::board::{Board, Command, Recorder, Share};
use crate::clock;
use crate::error::LoadError;
use crate::ledger::Shape;

/// A job with every key resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "snake_case")]
pub enum Job {
    /// Revisions of a source tree, one over the other.
    Checkout(checkout::Checkout),
    /// Many files, one after the other.
    Files(files::Files),
    /// A maildir.
    Mails(mails::Mails),
    /// One operation now and then.
    Probe(probe::Probe),
    /// A part of a shared file for each, or a file for each.
    Ranks(ranks::Ranks),
    /// Files from their begin to their end.
    Stream(stream::Stream),
    /// Blocks at random places.
    Random(random::RandomAccess),
    /// What was written, read back and judged.
    Verify(verify::Verify),
}

/// The jobs by name, with their keys.
pub(crate) const JOBS: [(&str, &[Key]); 8] = [
    ("checkout", checkout::KEYS),
    ("mails", mails::KEYS),
    ("probe", probe::KEYS),
    ("files", files::KEYS),
    ("random", random::KEYS),
    ("ranks", ranks::KEYS),
    ("stream", stream::KEYS),
    (VERIFY, verify::KEYS),
];

/// The job that a run after a crash consists of.
pub(crate) const VERIFY: &str = "verify";

impl Job {
    /// Resolves a job's keys.
    pub(crate) fn resolve(values: &mut Values<'_, '_>) -> Result<Job, LoadError> {
        match values.job() {
            "checkout" => checkout::Checkout::resolve(values).map(Job::Checkout),
            "mails" => mails::Mails::resolve(values).map(Job::Mails),
            "probe" => probe::Probe::resolve(values).map(Job::Probe),
            "files" => files::Files::resolve(values).map(Job::Files),
            "ranks" => ranks::Ranks::resolve(values).map(Job::Ranks),
            "stream" => stream::Stream::resolve(values).map(Job::Stream),
            "random" => random::RandomAccess::resolve(values).map(Job::Random),
            VERIFY => verify::Verify::resolve(values).map(Job::Verify),
            other => unreachable!("'{other}' is in the table of jobs and not here"),
        }
    }

    /// Memory that each thread needs for it.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            Job::Checkout(checkout) => checkout.memory_bytes(),
            Job::Mails(mails) => mails.memory_bytes(),
            Job::Probe(probe) => probe.memory_bytes(),
            Job::Files(files) => files.memory_bytes(),
            Job::Ranks(ranks) => ranks.memory_bytes(),
            Job::Stream(stream) => stream.memory_bytes(),
            Job::Random(random) => random.memory_bytes(),
            Job::Verify(verify) => verify.memory_bytes(),
        }
    }

    /// Longest piece of [`crate::data::fill::RandomBytes`] that it takes at once.
    pub(crate) fn longest_write(&self) -> u64 {
        match self {
            Job::Checkout(checkout) => checkout.longest_write(),
            Job::Mails(_) => 0,
            Job::Probe(probe) => probe.longest_write(),
            Job::Files(files) => files.longest_write(),
            Job::Ranks(_) => 0,
            Job::Stream(stream) => stream.longest_write(),
            Job::Random(_) | Job::Verify(_) => 0,
        }
    }

    /// Lengths of what it moves past the page cache at once, where it does.
    pub(crate) fn direct_bytes(&self) -> Option<[u64; 2]> {
        match self {
            Job::Ranks(ranks) => ranks.direct_bytes(),
            Job::Stream(stream) => stream.direct_bytes(),
            Job::Random(random) => random.direct_bytes(),
            _ => None,
        }
    }

    /// Operations that one thread may have in flight at once.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Job::Random(random) => random.depth(),
            _ => 1,
        }
    }

    /// What the ledger of a run must be about, where the job's data is verified.
    pub(crate) fn ledger_shape(&self, run: u64, threads: u64, directories: u64) -> Option<Shape> {
        match self {
            Job::Random(random) => random.ledger_shape(run, threads, directories),
            _ => None,
        }
    }

    /// The class whose operations are made of those of other classes.
    pub(crate) fn whole(&self) -> Option<usize> {
        match self {
            Job::Checkout(checkout) => Some(checkout.whole()),
            Job::Mails(mails) => mails.whole(),
            _ => None,
        }
    }

    /// What a person should know before it is done.
    pub(crate) fn remark(&self) -> Option<&'static str> {
        match self {
            Job::Checkout(checkout) => checkout.remark(),
            Job::Mails(mails) => mails.remark(),
            Job::Probe(probe) => probe.remark(),
            _ => None,
        }
    }

    /// Does the work, until it is done or [`Worker::is_over`].
    pub(crate) fn perform(&self, worker: &mut Worker<'_>) {
        match self {
            Job::Checkout(checkout) => checkout.perform(worker),
            Job::Mails(mails) => mails.perform(worker),
            Job::Probe(probe) => probe.perform(worker),
            Job::Files(files) => files.perform(worker),
            Job::Ranks(ranks) => ranks.perform(worker),
            Job::Stream(stream) => stream.perform(worker),
            Job::Random(random) => random.perform(worker),
            Job::Verify(verify) => verify.perform(worker),
        }
    }
}

/// How long a thread without work sleeps before it looks at the board again.
const LOOK_NS: u64 = 2_000_000;

/// Body of a thread with a job: does it once in each phase that it has it in, from the common start on.
pub(crate) fn perform_in_phases(job: &Job, stage: &Stage, place: Place, tid: u32) {
    let actor = &stage.plan.actors[place.actor];
    if actor.rate_per_s.is_some() {
        // The kernel otherwise wakes a sleeper up to 50 us late, which would be counted as latency.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }
    let board = &stage.board;
    let mut last_turn = None;
    while !board.is_stopping() {
        let command = board.command();
        let Command::Phase { phase, turn } = command else {
            clock::sleep_until_ns(clock::now_ns() + LOOK_NS);
            continue;
        };
        if last_turn == Some(turn) || !actor.in_phase.get(phase).copied().unwrap_or(false) {
            clock::sleep_until_ns(clock::now_ns() + LOOK_NS);
            continue;
        }
        last_turn = Some(turn);
        board.muster(turn, stage.plan.crew(phase));
        let Some(start_ns) = wait_for_start(board, command) else { continue };
        let recorder = Recorder::new(board, place.thread, tid, stage.plan.slower_than_ns);
        let mut worker = Worker::new(stage, place, recorder, command, start_ns);
        job.perform(&mut worker);
        // Its end comes first: what this asks of the file system is no part of the job.
        let share = worker.into_share(tid);
        let share = Share { used_ppm: used_ppm(stage, place), ..share };
        board.end_share(turn, place.thread, &share, !actor.background);
    }
}

/// How full the file system of a thread's directory is, in millionths.
fn used_ppm(stage: &Stage, place: Place) -> Option<u32> {
    let directories = stage.plan.actors[place.actor].directories.max(1) as u64;
    let directory = stage.plan.data_directories.get((place.ordinal % directories) as usize)?;
    let space = rustix::fs::statvfs(directory).ok().filter(|space| space.f_blocks > 0)?;
    let used = space.f_blocks.saturating_sub(space.f_bavail);
    Some((u128::from(used) * 1_000_000 / u128::from(space.f_blocks)) as u32)
}

/// The common start, when it has come; `None`: the phase ended or the load stops.
fn wait_for_start(board: &Board, command: Command) -> Option<u64> {
    let is_over = || board.command() != command;
    while !is_over() {
        match board.crew_start_ns() {
            Some(start_ns) => return clock::sleep_watching(start_ns, is_over).then_some(start_ns),
            None => clock::sleep_until_ns(clock::now_ns() + LOOK_NS / 4),
        }
    }
    None
}
