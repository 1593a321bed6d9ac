//! Which task waits for which when nothing will happen any more.

use std::collections::BTreeSet;

use crate::liveness::{Hang, Waiter};

use super::extent::State;
use super::simulation::Simulation;
use super::writer::{Activity, CACHE, FSYNC, LOCK, SYNC, Writer};

impl Simulation<'_> {
    /// The hang, if nothing is due and writers wait.
    pub(super) fn hang(&self) -> Option<Hang> {
        if self.writers_left == 0 {
            return None;
        }
        let blocked = self.writers.iter().enumerate().filter(|(_, writer)| writer.activity != Activity::Done);
        let waiters = blocked.map(|(id, writer)| {
            let (awaits, from) = self.awaits(id, writer);
            Waiter { task: writer.name(), awaits, from, since_ns: writer.since_ns }
        });
        Some(Hang { at_ns: self.agenda.now_ns(), waiters: waiters.collect() })
    }

    fn awaits(&self, id: usize, writer: &Writer) -> (String, Vec<String>) {
        match writer.activity {
            Activity::Cache { .. } => self.awaits_cache(id, writer),
            Activity::Lock => {
                let holders = self.lock_holders(id).into_iter().filter(|other| *other != id);
                ("an extent lock".to_owned(), holders.map(|other| self.writers[other].name()).collect())
            }
            Activity::Sync => ("its synchronous write".to_owned(), vec![format!("ptlrpcd {}", writer.client)]),
            Activity::Fsync => ("its fsync".to_owned(), vec![format!("ptlrpcd {}", writer.client)]),
            Activity::Busy | Activity::Done => ("nothing".to_owned(), Vec::new()),
        }
    }

    /// Extents that make no RPC hold the grant and the dirty room; the writers that began them could fill them.
    fn awaits_cache(&self, id: usize, writer: &Writer) -> (String, Vec<String>) {
        let osc_id = self.objects[writer.object].osc;
        let osc = &self.oscs[osc_id];
        let what = if osc.grant_pages == 0 { "grant" } else { "room below the dirty limit" };
        let mut owners = BTreeSet::new();
        for object in self.objects.iter().filter(|object| object.osc == osc_id) {
            let cached = object.tree.values().map(|extent| &self.extents[*extent]);
            owners.extend(cached.filter(|extent| extent.state == State::Cache).map(|extent| extent.writer));
        }
        let from = owners.into_iter().filter(|owner| *owner != id).map(|owner| self.writers[owner].name()).collect();
        let held = osc.dirty_pages;
        (format!("{what}: {held} dirty pages are in extents that make no RPC"), from)
    }

    /// Reports waits that have not ended.
    pub(super) fn report_open_waits(&mut self) {
        for id in 0..self.writers.len() {
            match self.writers[id].activity {
                Activity::Cache { .. } => self.report_wait(id, CACHE),
                Activity::Lock => self.report_wait(id, LOCK),
                Activity::Sync => self.report_wait(id, SYNC),
                Activity::Fsync => self.report_wait(id, FSYNC),
                Activity::Busy | Activity::Done => {}
            }
        }
    }
}
