//! The load process of a rank that is not its node's leader. It works on the leader's board.

use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ExitStatus};

use super::event::Launch;
use super::spawn::{cause_of_death, spawn};
use crate::board::{Board, LoadCommand, ProcessState};
use crate::error::LoadError;
use crate::plan::Plan;

/// Such a process.
pub struct Follower {
    child: Child,
    board: Board,
    rank: u64,
}

impl Follower {
    /// Starts it for the rank of the plan's part. Like a conductor, it dies with the calling thread.
    pub fn start(plan: &Plan, launch: &Launch, descriptor: &OwnedFd) -> Result<Follower, LoadError> {
        let board = Board::attach(descriptor.as_fd(), plan.board_shape())?;
        let child = spawn(plan, launch, descriptor)?;
        Ok(Follower { child, board, rank: plan.placement.as_ref().map_or(0, |placement| placement.own) })
    }

    /// Whether it has exited. If it died, the leader finds that on the board.
    pub fn has_ended(&mut self) -> bool {
        let Ok(Some(status)) = self.child.try_wait() else { return false };
        self.report(status);
        true
    }

    /// Ends the load of the whole node: this rank's program is to end.
    pub fn stop(&self, why: &str) {
        if self.board.state() != ProcessState::Failed && self.board.command() != LoadCommand::Stop {
            self.board.fail(&format!("rank {}: {why}", self.rank));
        }
        self.board.give(LoadCommand::Stop);
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    fn report(&self, status: ExitStatus) {
        if !status.success() && self.board.state() != ProcessState::Failed {
            self.board.fail(&format!("rank {}: {}", self.rank, cause_of_death(status)));
            self.board.give(LoadCommand::Stop);
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.try_wait();
    }
}
