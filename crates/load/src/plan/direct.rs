//! Checks the direct I/O of a plan before anything is created.

use super::actor::Actor;
use super::definition::Plan;
use super::totals::Refusal;
use crate::engine;
use crate::job::Job;

impl Plan {
    /// Adds a refusal for each directory that does not support direct I/O in the plan's sizes. Skips directories
    /// without direct I/O, and plans that are refused already.
    pub fn refuse_impossible_direct_io(&mut self) {
        if self.refusals.is_empty() && !self.after_crash {
            self.refusals = self.directories.iter().enumerate().filter_map(|(at, _)| self.misfit(at)).collect();
        }
    }

    fn misfit(&self, directory: usize) -> Option<Refusal> {
        let acts = |actor: &&Actor| directory < actor.directories && actor.in_phase.contains(&true);
        let jobs = self.actors.iter().filter(acts).filter_map(|actor| actor.job.as_ref());
        let sizes: Vec<u64> = jobs.filter_map(Job::direct_bytes).flatten().collect();
        if sizes.is_empty() {
            return None;
        }
        let path = &self.directories[directory];
        let align = engine::alignment_in(path)?;
        let place = path.display();
        if align == 0 {
            return Some(Refusal {
                what: format!("{place}: its file system does not support direct I/O"),
                remedy: "omit it, or choose another directory".to_owned(),
            });
        }
        let misfit = sizes.into_iter().find(|bytes| !bytes.is_multiple_of(align))?;
        Some(Refusal {
            what: format!("{place}: direct I/O requires multiples of {align} bytes, and {misfit} is not one"),
            remedy: format!("use a multiple of {align} bytes per call, or omit direct I/O"),
        })
    }
}
