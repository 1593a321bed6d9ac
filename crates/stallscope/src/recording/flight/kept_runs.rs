//! What was kept: the keeper, who is told of it, and what was said.

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
    /// What was told so far.
    pub told: KeptLog,
}

impl KeptRuns {
    /// Keeps by `keeper`, and starts `hook` for each run that is kept.
    pub fn new(keeper: Keeper, hook: Option<Hook>, directory: PathBuf) -> KeptRuns {
        let (complain, complaints) = channel();
        KeptRuns { keeper, hook, complain, complaints, told: KeptLog::new(directory) }
    }

    /// Keeps something.
    pub fn keep(&mut self, job: Job) {
        self.keeper.keep(job);
    }

    /// Whether nothing is to be kept any more, and nobody to be told of it.
    pub fn is_idle(&self) -> bool {
        self.keeper.is_idle() && self.hook.as_ref().is_none_or(|hook| !hook.is_starting())
    }

    /// Tells what was kept since the last time, and starts the hook for it.
    pub fn tell(&mut self, screen: &Screen) {
        for outcome in self.keeper.outcomes() {
            if let (Some(hook), Ok((path, _))) = (&self.hook, &outcome.run) {
                hook.start(path, &outcome.reason, &self.complain);
            }
            self.told.outcome(outcome, screen);
        }
        for complaint in self.complaints.try_iter() {
            screen.warning(&complaint);
        }
    }
}
