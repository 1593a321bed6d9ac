//! Kept runs: the keeper, the hook, and the log of both.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::hook::Hook;
use super::keeper::{Job, Keeper};
use super::messages::KeptLog;
use crate::ui::screen::Screen;

/// The side of a flight recorder that deals with kept runs.
pub struct KeptRuns {
    keeper: Keeper,
    hook: Option<Hook>,
    complain: Sender<String>,
    complaints: Receiver<String>,
    /// What was kept so far.
    pub log: KeptLog,
}

impl KeptRuns {
    /// Keeps runs with `keeper` and starts `hook` for each.
    pub fn new(keeper: Keeper, hook: Option<Hook>, directory: PathBuf) -> KeptRuns {
        let (complain, complaints) = channel();
        KeptRuns { keeper, hook, complain, complaints, log: KeptLog::new(directory) }
    }

    /// Queues a job.
    pub fn keep(&mut self, job: Job) {
        self.keeper.keep(job);
    }

    /// Whether no job and no hook is pending.
    pub fn is_idle(&self) -> bool {
        self.keeper.is_idle() && self.hook.as_ref().is_none_or(|hook| !hook.is_starting())
    }

    /// Reports what was kept since the last call, and starts the hook for it.
    pub fn report(&mut self, screen: &Screen) {
        for outcome in self.keeper.outcomes() {
            if let (Some(hook), Ok((path, _))) = (&self.hook, &outcome.run) {
                hook.start(path, &outcome.reason, &self.complain);
            }
            self.log.outcome(outcome, screen);
        }
        for complaint in self.complaints.try_iter() {
            screen.warning(&complaint);
        }
    }
}
