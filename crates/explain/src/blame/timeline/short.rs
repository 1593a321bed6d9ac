//! Sums of short waits: how they are placed in a task's time.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use model::stall::StallKind;

use crate::blame::facts::cause::{Cause, Evidence};
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::request;
use crate::blame::timeline::slot::Slot;

/// The cause of a sum of short waits; `None` for other rows.
fn cause_of_sum(index: &RunIndex, row: &Row) -> Option<(Cause, Evidence)> {
    match row.kind {
        StallKind::ShortCpuWaits => Some((Cause::CpuWait, Evidence::Correlation)),
        StallKind::ShortSpans => Some((row.announced?.cause, Evidence::Correlation)),
        StallKind::ShortSleeps | StallKind::ShortRequestWaits => {
            // The request is the last of many. Its longest stage stands for all of them.
            match index.request(row).map(request::main_cause) {
                Some(cause) => Some((cause, Evidence::Correlation)),
                None if row.kind == StallKind::ShortRequestWaits => Some((Cause::Device, Evidence::Correlation)),
                None => match index.asleep(row, row.end_ns) {
                    (cause, Evidence::None) => Some((cause, Evidence::None)),
                    (cause, _) => Some((cause, Evidence::Correlation)),
                },
            }
        }
        _ => None,
    }
}

/// The parts (of 2^32) that sums of short waits take of each piece of time, with an example row.
pub(crate) struct Shares {
    changes: Peekable<IntoIter<Change>>,
    open: BTreeMap<Layer, Open>,
    /// Of the last piece that was asked about.
    shares: Vec<ShortShare>,
}

impl Shares {
    pub(crate) fn new(index: &RunIndex, tid: u32, borders: &[u64], slots: &[Slot]) -> Shares {
        let mut changes = changes(index, tid, borders, slots);
        changes.sort_unstable();
        Shares { changes: changes.into_iter().peekable(), open: BTreeMap::new(), shares: Vec::new() }
    }

    /// Those of a piece; in order of time.
    pub(crate) fn of(&mut self, at: usize, slot: &Slot) -> &[ShortShare] {
        let Shares { changes, open, shares } = self;
        shares.clear();
        while let Some((_, layer, begins, part, row)) = changes.next_if(|change| change.0 <= at) {
            let entry = open.entry(layer).or_default();
            if begins {
                *entry = Open { part: entry.part + part, count: entry.count + 1, row };
            } else {
                *entry = Open { part: entry.part - part, count: entry.count - 1, row: entry.row };
            }
            if entry.count == 0 {
                open.remove(&layer);
            }
        }
        if let Some(region) = region(slot) {
            let inside = open.iter().filter(|((of, ..), _)| *of == region);
            shares.extend(inside.map(|(&(.., cause, evidence), open)| ShortShare {
                cause,
                evidence,
                part: open.part.min(1 << 32),
                row: open.row,
            }));
            subtract_inner(shares);
        }
        shares
    }
}

/// The start or end of a sum: piece, layer, whether it starts, part of 2^32, row.
type Change = (usize, Layer, bool, u64, u32);

/// Starts and ends of sums.
fn changes(index: &RunIndex, tid: u32, borders: &[u64], slots: &[Slot]) -> Vec<Change> {
    let mut available: Option<[Vec<u64>; 2]> = None;
    let mut changes = Vec::new();
    for (row, short) in index.rows_of(tid) {
        let Some((cause, evidence)) = cause_of_sum(index, short) else { continue };
        let available = available
            .get_or_insert_with(|| [Region::Free, Region::Reclaim].map(|region| available_ns(region, borders, slots)));
        let piece = |at_ns: u64| borders.partition_point(|&border| border < at_ns);
        let (from, to) = (piece(short.start_ns), piece(short.end_ns));
        let mut left_ns = short.busy_ns;
        // Time that reclaim itself spends is placed within reclaim first.
        let inner = short.kind == StallKind::ShortSpans && is_of_reclaim(cause);
        for region in [Region::Reclaim, Region::Free].into_iter().skip(usize::from(!inner)) {
            let available_ns = available[region as usize][to] - available[region as usize][from];
            let taken_ns = left_ns.min(available_ns);
            left_ns -= taken_ns;
            if taken_ns > 0 {
                let part = ((u128::from(taken_ns) << 32) + u128::from(available_ns / 2)) / u128::from(available_ns);
                let layer = (region, rank(short.kind), cause, evidence);
                changes.push((from, layer, true, part as u64, row));
                changes.push((to, layer, false, part as u64, row));
            }
        }
    }
    changes
}

/// Time in which sums of short waits can be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Region {
    /// No longer wait covers it.
    Free,
    /// A span of direct reclaim covers it, which may contain shrinkers and throttling.
    Reclaim,
}

fn region(slot: &Slot) -> Option<Region> {
    match slot {
        Slot::Free => Some(Region::Free),
        Slot::Is(Cause::DirectReclaim, ..) | Slot::OnCpuIn(Cause::DirectReclaim, _) => Some(Region::Reclaim),
        _ => None,
    }
}

/// Available time before each border.
fn available_ns(wanted: Region, borders: &[u64], slots: &[Slot]) -> Vec<u64> {
    let mut sum_ns = 0;
    let mut before = vec![0];
    for (slot, pair) in slots.iter().zip(borders.windows(2)) {
        sum_ns += if region(slot) == Some(wanted) { pair[1] - pair[0] } else { 0 };
        before.push(sum_ns);
    }
    before
}

fn is_of_reclaim(cause: Cause) -> bool {
    matches!(cause, Cause::Shrinker | Cause::ReclaimThrottle)
}

/// Sums of short reclaims include the shrinkers and throttling within them; subtract those.
fn subtract_inner(shares: &mut Vec<ShortShare>) {
    let inner: u64 = shares.iter().filter(|share| is_of_reclaim(share.cause)).map(|share| share.part).sum();
    for share in shares.iter_mut().filter(|share| share.cause == Cause::DirectReclaim) {
        share.part = share.part.saturating_sub(inner);
    }
    shares.retain(|share| share.part > 0);
}

/// Sums of one layer add up. Layers take time in this order where they exceed it.
type Layer = (Region, u8, Cause, Evidence);

/// The sums of a layer at one moment.
#[derive(Debug, Default)]
struct Open {
    part: u64,
    count: u32,
    row: u32,
}

fn rank(kind: StallKind) -> u8 {
    match kind {
        StallKind::ShortSpans => 0,
        StallKind::ShortRequestWaits => 1,
        StallKind::ShortSleeps => 2,
        _ => 3,
    }
}

/// A part of a piece of time.
#[derive(Debug, Clone)]
pub(crate) struct ShortShare {
    pub(crate) cause: Cause,
    pub(crate) evidence: Evidence,
    /// Of 2^32.
    pub(crate) part: u64,
    /// An example row.
    pub(crate) row: u32,
}
