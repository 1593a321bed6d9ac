//! The plan of the load process, and what its threads share.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use crate::board::Board;
use crate::error::LoadError;
use crate::job::Job;
use crate::plan::{Actor, Plan, StepWork};
use crate::random_bytes::RandomBytes;
use crate::work::LoadContext;
use crate::write_ledger::WriteLedger;

/// The plan, and what all threads share.
pub(crate) struct Load {
    pub(crate) plan: Plan,
    pub(crate) context: LoadContext,
    /// Actor threads that have not ended.
    pub(crate) living: AtomicU64,
}

impl Load {
    /// Prepares what the threads of a plan share.
    pub(crate) fn new(plan: Plan, board: Board, ledger: Option<WriteLedger>) -> Load {
        let context = LoadContext {
            board,
            bytes: RandomBytes::new(plan.seed, longest_write(&plan)),
            ledger,
            seed: plan.seed,
            held: OnceLock::new(),
            file_sets: plan.file_sets.clone(),
            phases: plan.phases.len(),
            repeat: plan.repeat,
            after_crash: plan.after_crash,
            first_timed_writer: plan.first_timed_writer(),
        };
        Load { plan, context, living: AtomicU64::new(0) }
    }
}

/// Largest write of any thread.
fn longest_write(plan: &Plan) -> u64 {
    let written = |work: &StepWork| if let StepWork::Transfer(transfer) = work { transfer.block_bytes } else { 0 };
    let steps = plan.actors.iter().flat_map(|actor| &actor.steps).map(|step| written(&step.work));
    let jobs = plan.actors.iter().filter_map(|actor| actor.job.as_ref()).map(Job::longest_write);
    steps.chain(jobs).max().unwrap_or(0)
}

/// The ledger of stamped data: a new one, or that of the interrupted run.
pub(crate) fn ledger(plan: &Plan) -> Result<Option<WriteLedger>, LoadError> {
    if let (true, Some(path)) = (plan.after_crash, &plan.ledger) {
        return WriteLedger::open(path).map(Some);
    }
    let directories = plan.data_directories.len() as u64;
    let shape = |actor: &Actor| actor.job.as_ref()?.ledger_shape(plan.seed, actor.threads, directories);
    let shape = plan.actors.iter().find_map(shape);
    shape.map(|shape| WriteLedger::create(plan.ledger.as_deref(), shape)).transpose()
}
