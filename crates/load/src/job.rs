//! Jobs: what a thread does from the common start of a phase until its share is done.
//!
//! An actor with steps repeats them until the phase ends. An actor with a *job* ends with the job: a number of files,
//! one pass over a file, a number of reads. The phase ends when all its jobs have ended, or after its duration. Each
//! job is a file or folder here: the values of its keys (a part of the plan), and the loop, which times its operations
//! through a [`Worker`]. The keys are those of [`crate::recipe`].

mod block;
mod checkout;
mod cold;
mod files;
mod home;
mod items;
mod maildir;
mod patience;
mod probe;
mod random;
mod ranks;
mod sizes;
mod stream;
mod tree;
mod values;
mod verify;

use serde::{Deserialize, Serialize};
pub(crate) use values::{JobResolver, JobValues};

use crate::error::LoadError;
use crate::recipe::VERIFY;
use crate::work::Worker;
use crate::write_ledger::LedgerShape;

/// A job with every key resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "snake_case")]
pub enum Job {
    /// Checkouts of revisions of a source tree, one over the other.
    Checkout(checkout::CheckoutJob),
    /// Many files in sequence.
    Files(files::FilesJob),
    /// Files and directories of each rank in a tree.
    Items(items::ItemsJob),
    /// A maildir.
    Maildir(maildir::MaildirJob),
    /// One operation at intervals.
    Probe(probe::ProbeJob),
    /// A part of a shared file per rank, or a file per rank.
    Ranks(ranks::RanksJob),
    /// Files from beginning to end.
    Stream(stream::StreamJob),
    /// Blocks at random offsets.
    Random(random::RandomJob),
    /// Reads written data back and verifies it.
    Verify(verify::VerifyJob),
}

impl Job {
    /// Resolves a job's keys.
    pub(crate) fn resolve(values: &mut JobValues<'_, '_>) -> Result<Job, LoadError> {
        match values.job() {
            "checkout" => checkout::CheckoutJob::resolve(values).map(Job::Checkout),
            "items" => items::ItemsJob::resolve(values).map(Job::Items),
            "maildir" => maildir::MaildirJob::resolve(values).map(Job::Maildir),
            "probe" => probe::ProbeJob::resolve(values).map(Job::Probe),
            "files" => files::FilesJob::resolve(values).map(Job::Files),
            "ranks" => ranks::RanksJob::resolve(values).map(Job::Ranks),
            "stream" => stream::StreamJob::resolve(values).map(Job::Stream),
            "random" => random::RandomJob::resolve(values).map(Job::Random),
            VERIFY => verify::VerifyJob::resolve(values).map(Job::Verify),
            other => unreachable!("'{other}' is in the table of jobs but not here"),
        }
    }

    /// Memory that each thread needs.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            Job::Checkout(checkout) => checkout.memory_bytes(),
            Job::Items(items) => items.memory_bytes(),
            Job::Maildir(maildir) => maildir.memory_bytes(),
            Job::Probe(probe) => probe.memory_bytes(),
            Job::Files(files) => files.memory_bytes(),
            Job::Ranks(ranks) => ranks.memory_bytes(),
            Job::Stream(stream) => stream.memory_bytes(),
            Job::Random(random) => random.memory_bytes(),
            Job::Verify(verify) => verify.memory_bytes(),
        }
    }

    /// Longest slice of [`crate::random_bytes::RandomBytes`] that it uses.
    pub(crate) fn longest_write(&self) -> u64 {
        match self {
            Job::Checkout(checkout) => checkout.longest_write(),
            Job::Items(_) | Job::Maildir(_) => 0,
            Job::Probe(probe) => probe.longest_write(),
            Job::Files(files) => files.longest_write(),
            Job::Ranks(_) => 0,
            Job::Stream(stream) => stream.longest_write(),
            Job::Random(_) | Job::Verify(_) => 0,
        }
    }

    /// Lengths of its direct I/O, if it uses any.
    pub(crate) fn direct_bytes(&self) -> Option<[u64; 2]> {
        match self {
            Job::Ranks(ranks) => ranks.direct_bytes(),
            Job::Stream(stream) => stream.direct_bytes(),
            Job::Random(random) => random.direct_bytes(),
            _ => None,
        }
    }

    /// Maximum operations in flight per thread.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Job::Random(random) => random.depth(),
            _ => 1,
        }
    }

    /// Whether its threads write until a time limit instead of a size.
    pub(crate) fn writes_for_a_time(&self) -> bool {
        matches!(self, Job::Ranks(ranks) if ranks.writes_for_a_time())
    }

    /// The blocks that the ledger must cover, if the job's data is verified.
    pub(crate) fn ledger_shape(&self, run: u64, threads: u64, directories: u64) -> Option<LedgerShape> {
        match self {
            Job::Random(random) => random.ledger_shape(run, threads, directories),
            _ => None,
        }
    }

    /// The class whose operations consist of those of other classes.
    pub(crate) fn whole(&self) -> Option<usize> {
        match self {
            Job::Checkout(checkout) => Some(checkout.whole()),
            Job::Maildir(maildir) => maildir.whole(),
            _ => None,
        }
    }

    /// A warning to show before the run.
    pub(crate) fn remark(&self) -> Option<&'static str> {
        match self {
            Job::Checkout(checkout) => checkout.remark(),
            Job::Maildir(maildir) => maildir.remark(),
            Job::Probe(probe) => probe.remark(),
            _ => None,
        }
    }

    /// Runs the job until it is done or [`Worker::is_over`].
    pub(crate) fn perform(&self, worker: &mut Worker<'_>) {
        match self {
            Job::Checkout(checkout) => checkout.perform(worker),
            Job::Items(items) => items.perform(worker),
            Job::Maildir(maildir) => maildir.perform(worker),
            Job::Probe(probe) => probe.perform(worker),
            Job::Files(files) => files.perform(worker),
            Job::Ranks(ranks) => ranks.perform(worker),
            Job::Stream(stream) => stream.perform(worker),
            Job::Random(random) => random.perform(worker),
            Job::Verify(verify) => verify.perform(worker),
        }
    }
}
