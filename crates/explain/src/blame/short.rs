//! Sums of short losses: where in the time of a task they are taken to lie.

use std::collections::BTreeMap;

use model::stall::StallKind;

use super::cause::{Cause, Evidence};
use super::run_index::RunIndex;
use super::slot::Slot;

/// For each piece of time, what sums of short losses say of it: their parts of 2^32, and an example.
pub(super) fn shares(index: &RunIndex, tid: u32, borders: &[u64], slots: &[Slot]) -> Vec<Vec<ShortShare>> {
    let mut shares = vec![Vec::new(); slots.len()];
    let mut changes = changes(index, tid, borders, slots);
    changes.sort_unstable();
    let mut changes = changes.into_iter().peekable();
    let mut open: BTreeMap<Layer, Open> = BTreeMap::new();
    for (at, shares) in shares.iter_mut().enumerate() {
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
        let Some(place) = place(&slots[at]) else { continue };
        let here = open.iter().filter(|((there, ..), _)| *there == place);
        shares.extend(here.map(|(&(.., cause, evidence), open)| ShortShare {
            cause,
            evidence,
            part: open.part.min(1 << 32),
            row: open.row,
        }));
        leave_out_inner(shares);
    }
    shares
}

/// Where sums begin and end: piece, layer, whether it begins, part of 2^32, row.
fn changes(index: &RunIndex, tid: u32, borders: &[u64], slots: &[Slot]) -> Vec<(usize, Layer, bool, u64, u32)> {
    let mut room: Option<[Vec<u64>; 2]> = None;
    let mut changes = Vec::new();
    for (row, short) in index.rows_of(tid) {
        let Some((cause, evidence)) = index.short(short) else { continue };
        let room =
            room.get_or_insert_with(|| [Place::Free, Place::Reclaim].map(|place| room_of(place, borders, slots)));
        let piece = |at_ns: u64| borders.partition_point(|&border| border < at_ns);
        let (from, to) = (piece(short.start_ns), piece(short.end_ns));
        let mut left_ns = short.busy_ns;
        // What reclaim itself spends on is looked for there first.
        let inner = short.kind == StallKind::ShortSpans && is_of_reclaim(cause);
        for place in [Place::Reclaim, Place::Free].into_iter().skip(usize::from(!inner)) {
            let room_ns = room[place as usize][to] - room[place as usize][from];
            let taken_ns = left_ns.min(room_ns);
            left_ns -= taken_ns;
            if taken_ns > 0 {
                let part = ((u128::from(taken_ns) << 32) + u128::from(room_ns / 2)) / u128::from(room_ns);
                let layer = (place, rank(short.kind), cause, evidence);
                changes.push((from, layer, true, part as u64, row));
                changes.push((to, layer, false, part as u64, row));
            }
        }
    }
    changes
}

/// Time that sums of short losses can lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Nothing longer holds it.
    Free,
    /// A span of direct reclaim holds it, within which shrinkers and pauses may be.
    Reclaim,
}

fn place(slot: &Slot) -> Option<Place> {
    match slot {
        Slot::Free => Some(Place::Free),
        Slot::Is(Cause::DirectReclaim, ..) | Slot::OnCpuIn(Cause::DirectReclaim, _) => Some(Place::Reclaim),
        _ => None,
    }
}

/// The room before each border.
fn room_of(wanted: Place, borders: &[u64], slots: &[Slot]) -> Vec<u64> {
    let mut room_ns = 0;
    let mut before = vec![0];
    for (slot, pair) in slots.iter().zip(borders.windows(2)) {
        room_ns += if place(slot) == Some(wanted) { pair[1] - pair[0] } else { 0 };
        before.push(room_ns);
    }
    before
}

fn is_of_reclaim(cause: Cause) -> bool {
    matches!(cause, Cause::Shrinker | Cause::ReclaimThrottle)
}

/// Short reclaims are told whole, and so are the shrinkers and pauses within them: only the rest is reclaim itself.
fn leave_out_inner(shares: &mut Vec<ShortShare>) {
    let inner: u64 = shares.iter().filter(|share| is_of_reclaim(share.cause)).map(|share| share.part).sum();
    for share in shares.iter_mut().filter(|share| share.cause == Cause::DirectReclaim) {
        share.part = share.part.saturating_sub(inner);
    }
    shares.retain(|share| share.part > 0);
}

/// Sums of one layer add up; layers are taken in this order where there are more than time.
type Layer = (Place, u8, Cause, Evidence);

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
pub(super) struct ShortShare {
    pub(super) cause: Cause,
    pub(super) evidence: Evidence,
    /// Of 2^32.
    pub(super) part: u64,
    /// An example.
    pub(super) row: u32,
}
