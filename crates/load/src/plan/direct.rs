//! Whether a plan's direct I/O is possible where it is to be done: asked before anything is made.

use super::actor::Actor;
use super::definition::Plan;
use super::totals::Refusal;
use crate::engine;
use crate::job::Job;

impl Plan {
    /// Adds a refusal for each directory whose files cannot be read and written past the page cache in the plan's sizes.
    /// Asks nothing of a directory where nothing goes past it, or that cannot be used anyway.
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
                what: format!("{place}: its file system does no direct I/O"),
                remedy: "leave it out, or choose another directory".to_owned(),
            });
        }
        let misfit = sizes.into_iter().find(|bytes| !bytes.is_multiple_of(align))?;
        Some(Refusal {
            what: format!("{place}: direct I/O there is done in multiples of {align} bytes, and {misfit} is none"),
            remedy: format!("move a multiple of {align} bytes at once, or leave direct I/O out"),
        })
    }
}
