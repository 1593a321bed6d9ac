//! An RPC's way to its target and back.

use crate::observer::Operation;

use super::extent::State;
use super::plan::PAGE_BYTES;
use super::rpc::{Reason, Rpc};
use super::simulation::{Due, Simulation};
use super::writer::ptlrpcd_tid;

impl Simulation<'_> {
    /// osc_build_rpc: sends the extents over the client's link, which all its OSCs share.
    pub(super) fn send(&mut self, object: usize, extents: Vec<usize>, reason: Reason) {
        let now_ns = self.agenda.now_ns();
        let synchronous = self.extents[extents[0]].state == State::Sync;
        self.take_for_rpc(object, &extents);
        let pages: u64 = extents.iter().map(|extent| self.extents[*extent].pages).sum();
        let (pieces, partial_stripes) = self.pieces(&extents);
        let osc = self.objects[object].osc;
        let client = self.oscs[osc].client;
        self.oscs[osc].in_flight += 1;
        let oldest_ns = extents.iter().map(|extent| self.extents[*extent].dirty_since_ns).min().unwrap_or(now_ns);
        self.account.sent(pages, pieces, reason, self.oscs[osc].in_flight, self.plan.rpc_pages);
        self.account.age(now_ns - oldest_ns, pages < self.plan.rpc_pages);
        let granted_pages = if synchronous { 0 } else { pages };
        if synchronous {
            self.account.sync_rpcs += 1;
        }
        let rpc = self.add_rpc(Rpc { osc, extents, pages, pieces, partial_stripes, granted_pages, sent_ns: now_ns });
        let begin_ns = self.link_free_ns[client].max(now_ns);
        let end_ns = begin_ns + (pages as f64 * self.plan.send_page_ns) as u64;
        self.link_free_ns[client] = end_ns;
        self.agenda.at(end_ns + self.plan.one_way_ns, Due::Arrived(rpc));
    }

    /// The target serves one RPC at a time; what it does for several at once is part of the round trip.
    pub(super) fn arrived(&mut self, id: usize) {
        let fixed_ns = self.about_ns(self.plan.ost_rpc_ns);
        let rpc = &self.rpcs[id];
        let data_ns = (rpc.pages as f64 * self.plan.ost_page_ns) as u64;
        let pieces_ns = (rpc.pieces - 1) * self.plan.ost_fragment_ns;
        let service_ns = fixed_ns + data_ns + pieces_ns + rpc.partial_stripes * self.plan.ost_partial_ns;
        let free_ns = &mut self.target_free_ns[self.oscs[rpc.osc].target];
        *free_ns = self.agenda.now_ns().max(*free_ns) + service_ns;
        self.account.target_busy_ns += service_ns;
        self.agenda.at(*free_ns + self.plan.one_way_ns, Due::Replied(id));
    }

    /// brw_interpret: returns grant and dirty room, and wakes their waiters. Before any of them can run, the OSC looks
    /// for the next RPC.
    pub(super) fn replied(&mut self, id: usize) {
        let rpc = std::mem::take(&mut self.rpcs[id]);
        self.unused_rpcs.push(id);
        let bytes = rpc.pages * PAGE_BYTES;
        self.account.written_pages += rpc.pages;
        self.observer.operation(Operation {
            class: "rpc",
            tid: ptlrpcd_tid(self.oscs[rpc.osc].client),
            start_ns: rpc.sent_ns,
            end_ns: self.agenda.now_ns(),
            bytes,
        });
        self.oscs[rpc.osc].grant_pages += rpc.granted_pages;
        for extent in rpc.extents {
            if rpc.granted_pages > 0 {
                self.oscs[rpc.osc].dirty_pages -= self.extents[extent].pages;
            }
            self.wake_cache_waiters(rpc.osc);
            self.finish_extent(extent);
        }
        self.oscs[rpc.osc].in_flight -= 1;
        self.wake_cache_waiters(rpc.osc);
        self.check_rpcs(rpc.osc);
    }

    fn add_rpc(&mut self, rpc: Rpc) -> usize {
        match self.unused_rpcs.pop() {
            Some(id) => {
                self.rpcs[id] = rpc;
                id
            }
            None => {
                self.rpcs.push(rpc);
                self.rpcs.len() - 1
            }
        }
    }

    /// Contiguous pieces of all extents, and RAID stripes within which a piece begins or ends.
    fn pieces(&self, extents: &[usize]) -> (u64, u64) {
        let mut runs: Vec<(u64, u64)> =
            extents.iter().map(|id| (self.extents[*id].first, self.extents[*id].last() + 1)).collect();
        runs.sort_unstable();
        runs.dedup_by(|next, run| {
            let continues = run.1 == next.0;
            if continues {
                run.1 = next.1;
            }
            continues
        });
        let stripe = self.plan.raid_pages;
        let partial = runs.iter().map(|(begin, end)| {
            let (begins_within, ends_within) = (!begin.is_multiple_of(stripe), !end.is_multiple_of(stripe));
            let same = begin / stripe == (end - 1) / stripe;
            if same {
                u64::from(begins_within || ends_within)
            } else {
                u64::from(begins_within) + u64::from(ends_within)
            }
        });
        (runs.len() as u64, partial.sum())
    }
}
