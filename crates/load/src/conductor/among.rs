//! A conductor among those of other nodes.

use model::event::Member;

use super::{Conductor, PartEnd};
use crate::board::{LoadCommand, ProcessState, ThreadShare};
use crate::plan::Actor;

impl Conductor {
    pub(super) fn job_start_ns(&mut self, phase: usize) -> Option<u64> {
        if let (None, Some(others)) = (self.board.job_start_ns(), &mut self.others)
            && self.board.arrived() >= self.plan.job_threads_here(phase)
            && let Some(start_ns) = others.start_ns(self.sequence)
        {
            self.board.start_job(start_ns);
        }
        self.board.job_start_ns()
    }

    /// Whether a phase that has ended here has ended on all nodes. Then the others' shares are on the board.
    pub(super) fn others_have_ended(&mut self, phase: usize) -> bool {
        let here = || self.shares(phase).map(|(thread, _, _, share)| (thread, share)).collect();
        let here = self.others.is_some().then(|| PartEnd { is_full: self.board.is_full(), shares: here() });
        let (Some(others), Some(here)) = (&mut self.others, here) else { return true };
        let Some(all) = others.end(self.sequence, &here) else { return false };
        self.is_full |= all.is_full;
        for (thread, share) in &all.shares {
            self.board.end_share(self.sequence, *thread, share, false);
        }
        true
    }

    /// A failure here ends the load of the other nodes, and the other way round.
    pub(super) fn learn_of_failures(&mut self) {
        let Some(why) = self.others.as_mut().and_then(|others| others.failure()) else {
            if self.board.state() == ProcessState::Failed {
                self.tell_others(&self.board.message().unwrap_or_default());
            }
            return;
        };
        self.others_know = true;
        if self.board.state() != ProcessState::Failed {
            self.board.fail(&why);
        }
        self.board.give(LoadCommand::Stop);
    }

    pub(super) fn tell_others(&mut self, why: &str) {
        if let Some(others) = self.others.as_mut().filter(|_| !std::mem::replace(&mut self.others_know, true)) {
            others.fail(why);
        }
    }

    /// The threads of this node that have ended their jobs of this phase.
    pub(super) fn job_threads(&self, phase: usize) -> Vec<Member> {
        self.shares(phase).map(|(_, actor, ordinal, share)| share.member(&actor.name, ordinal)).collect()
    }

    /// Number, actor and ordinal of those threads, and their shares.
    fn shares(&self, phase: usize) -> impl Iterator<Item = (usize, &Actor, u64, ThreadShare)> {
        let is_here = |ordinal| self.plan.placement.as_ref().is_none_or(|placement| placement.is_here(ordinal));
        let threads = self.plan.actors.iter().flat_map(|actor| (0..actor.threads).map(move |ordinal| (actor, ordinal)));
        threads.enumerate().filter_map(move |(thread, (actor, ordinal))| {
            let acts = actor.job.is_some() && actor.in_phase[phase] && is_here(ordinal);
            let share = acts.then(|| self.board.share_of(self.sequence, thread))?;
            share.map(|share| (thread, actor, ordinal, share))
        })
    }
}
