//! What is behind a wait that a request ended, stage by stage, down to the disk below a loop device.

use std::collections::BTreeMap;

use model::stall::RequestRecord;

use super::{Graph, PIECES, direction};
use crate::blame::facts::cause::{Cause, traits};
use crate::blame::facts::storage::request;
use crate::blame::graph::chain::chain_row;
use crate::blame::graph::lower_device::{self, Part, Served};
use crate::blame::graph::segment::Segment;
use crate::waits::{Path, Step};

impl Graph<'_, '_> {
    /// Where a request ends the wait, its stages are what the time went to. Returns until when that is known.
    pub(super) fn follow_request(
        &mut self,
        segment: &Segment,
        path: &mut Path,
        pieces: &mut BTreeMap<u32, u64>,
    ) -> u64 {
        let index = self.index;
        let Some(row) = chain_row(index, segment).filter(|_| segment.cause.has(traits::HIDES_STAGES)) else {
            return segment.start_ns;
        };
        let Some(record) = index.request(index.row(row)) else { return segment.start_ns };
        let mut borders = vec![segment.start_ns, segment.end_ns];
        borders.extend(record.moments().filter(|at| (segment.start_ns..segment.end_ns).contains(at)));
        borders.sort_unstable();
        let tid = record.submitter().unwrap_or(index.row(row).tid);
        for pair in borders.windows(2).filter(|pair| pair[0] < pair[1]) {
            self.name(tid, pair[1]);
            let stage = request::cause_at(record, pair[0]).filter(|_| pair[0] < record.completed_ns);
            if stage != Some(Cause::Device) || !self.follow_lower(record, tid, (pair[0], pair[1]), path, pieces) {
                let step = stage.map(|cause| step(record, cause, tid));
                self.put(step, pair[1] - pair[0], path, pieces);
            }
        }
        segment.end_ns
    }

    /// Follows what served a request of a loop device, if that is known.
    fn follow_lower(
        &mut self,
        record: &RequestRecord,
        tid: u32,
        (from_ns, to_ns): (u64, u64),
        path: &mut Path,
        pieces: &mut BTreeMap<u32, u64>,
    ) -> bool {
        let index = self.index;
        let parts = lower_device::parts(index, record, from_ns, to_ns);
        for Part { from_ns, to_ns, by } in &parts {
            let (mut now_ns, to_ns) = (*from_ns, *to_ns);
            let own = match by {
                Served::Lower(cause, lower) => step(lower, *cause, tid),
                Served::Worker(_) | Served::Device => step(record, Cause::Device, tid),
            };
            if let Served::Worker(row) = by {
                let worker = index.row(*row).tid;
                for piece in self.timelines.get(worker).between(now_ns, to_ns).take(PIECES) {
                    self.put(Some(own), piece.start_ns.saturating_sub(now_ns), path, pieces);
                    self.follow(&piece, worker, path, pieces);
                    now_ns = piece.end_ns;
                }
            }
            self.put(Some(own), to_ns.saturating_sub(now_ns), path, pieces);
        }
        !parts.is_empty()
    }

    /// Adds time at the end of a path and, if there is one, of one more step.
    fn put(&mut self, step: Option<Step>, ns: u64, path: &mut Path, pieces: &mut BTreeMap<u32, u64>) {
        if ns > 0 {
            path.extend(step);
            *pieces.entry(self.paths.of(path)).or_default() += ns;
            path.truncate(path.len() - usize::from(step.is_some()));
        }
    }
}

/// A stage of a request.
fn step(record: &RequestRecord, cause: Cause, tid: u32) -> Step {
    let kind = direction(record.kind, cause);
    Step { cause, kind, device: Some(record.device), blamed: None, tid, syncs: false, occasion: None }
}
