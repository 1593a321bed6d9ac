//! What is behind a wait that a request ended, stage by stage, down to the disk below a loop device.

use model::stall::RequestRecord;

use super::{Graph, direction};
use crate::blame::facts::cause::{Cause, traits};
use crate::blame::facts::storage::request;
use crate::blame::graph::edge::Edge;
use crate::blame::graph::follow::{Bounds, Ended, Wait, follow_task};
use crate::blame::graph::lower_device::{self, Part, Served};
use crate::waits::Step;

impl<'a> Graph<'a, '_> {
    /// Where a request ends the wait, its stages are what the time went to, unless the wait is one of them. Returns
    /// until when that is known.
    pub(super) fn follow_request(&mut self, wait: &Wait, ended: Ended<'a>, bounds: Bounds) -> u64 {
        let (record, (start_ns, end_ns)) = (ended.request, wait.span_ns);
        if !wait.cause.has(traits::HIDES_STAGES) {
            return start_ns;
        }
        let mut borders = vec![start_ns, end_ns];
        borders.extend(record.moments().filter(|at| (start_ns..end_ns).contains(at)));
        borders.sort_unstable();
        let tid = record.submitter().unwrap_or(self.index.row(wait.row).tid);
        for pair in borders.windows(2).filter(|pair| pair[0] < pair[1]) {
            self.name(tid, pair[1]);
            let stage = request::cause_at(record, pair[0]).filter(|_| pair[0] < record.completed_ns);
            let span_ns = (pair[0], pair[1]);
            if stage != Some(Cause::Device) || !self.follow_lower(wait, (record, tid), span_ns, bounds) {
                self.put_step(stage.map(|cause| step(record, cause, tid)), pair[1] - pair[0]);
            }
        }
        end_ns
    }

    /// Follows what served a request of a loop device, if that is known.
    fn follow_lower(
        &mut self,
        wait: &Wait,
        (record, tid): (&'a RequestRecord, u32),
        (from_ns, to_ns): (u64, u64),
        bounds: Bounds,
    ) -> bool {
        let parts = lower_device::parts(self.index, record, from_ns, to_ns);
        for Part { from_ns, to_ns, by } in &parts {
            let mut now_ns = *from_ns;
            let own = match by {
                Served::Lower(cause, lower) => step(lower, *cause, tid),
                Served::Worker(_) | Served::Device => step(record, Cause::Device, tid),
            };
            if let Served::Worker(row) = by {
                let worker = Edge { tid: self.index.row(*row).tid, from_ns: now_ns, to_ns: *to_ns, held: None };
                now_ns = follow_task(self.index, self, (wait, &worker, None), now_ns, bounds);
            }
            self.put_step(Some(own), to_ns.saturating_sub(now_ns));
        }
        !parts.is_empty()
    }

    /// Adds time at the end of a path and, if there is one, of one more step.
    fn put_step(&mut self, step: Option<Step>, ns: u64) {
        self.path.extend(step);
        self.put(ns);
        self.path.truncate(self.path.len() - usize::from(step.is_some()));
    }
}

/// A stage of a request.
fn step(record: &RequestRecord, cause: Cause, tid: u32) -> Step {
    let kind = direction(record.kind, cause);
    Step { cause, kind, device: Some(record.device), blamed: None, tid, syncs: false, occasion: None }
}
