//! What threads still waited for when the recording ended, as /proc showed it then.

use model::detail::{Detail, OtherEnd};
use model::stall::{Awaits, StallKind, StallRecord, stall_flags};

use super::RunIndex;
use crate::blame::facts::rows::Row;
use crate::thresholds::LOOKS_APART_NS;

/// What a wait had at its other end.
pub(crate) fn other_end(known: &StallRecord) -> Option<&OtherEnd> {
    known.detail.as_ref().and_then(Detail::other_end)
}

impl RunIndex {
    /// `false` for an inconsistent record.
    pub(crate) fn insert(&mut self, record: &StallRecord) -> bool {
        if record.kind == StallKind::LastingWait {
            let known = self.lasting.entry(record.tid).or_insert_with(|| record.clone());
            if order(known) < order(record) {
                known.clone_from(record);
            }
            return true;
        }
        let Some(row) = Row::new(record, &mut self.names) else { return record.duration_ns == 0 };
        if let Some(request) = row.request.get() {
            self.requests.name(request);
        }
        self.arrived.push(row);
        true
    }

    /// Adds rows of those that the tracer did not report itself: of all that lasted throughout, and of those for
    /// another task that began when the tracer was not yet there. Call this before the rows are sorted.
    pub(super) fn add_lasting_waits(&mut self) {
        self.lengthen_waits_from_before();
        let mut missing: Vec<&StallRecord> = self.lasting.values().filter(|known| lasts(known)).collect();
        missing.sort_unstable_by_key(|known| known.tid);
        for row in self.arrived.iter().filter(|row| row.kind == StallKind::Blocked && row.switched) {
            if let Ok(at) = missing.binary_search_by_key(&row.tid, |known| known.tid)
                && row.end_ns.saturating_add(LOOKS_APART_NS) >= missing[at].end_ns()
            {
                missing.remove(at);
            }
        }
        let rows: Vec<StallRecord> = missing.into_iter().map(bare).collect();
        let rows: Vec<Row> = rows.iter().filter_map(|record| Row::new(record, &mut self.names)).collect();
        rows.into_iter().for_each(|row| self.arrived.push(row));
    }

    /// A thread that never ran is in one wait, which the tracer saw when it was there: some time after the recorder saw
    /// it first.
    fn lengthen_waits_from_before(&mut self) {
        let throughout = |tid: u32| self.lasting.get(&tid).filter(|known| has_begun_before(known));
        for row in self.arrived.iter_mut().filter(|row| row.cut && row.kind == StallKind::Blocked && row.switched) {
            if let Some(known) = throughout(row.tid) {
                row.start_ns = row.start_ns.min(known.start_ns);
            }
        }
    }
}

/// Whether a wait lasted throughout, or for what another task was asked for.
fn lasts(known: &StallRecord) -> bool {
    let is_asked = known.duration_ns > 1 && known.awaits.is_some_and(|awaits| awaits != Awaits::Message);
    is_asked || has_begun_before(known)
}

fn has_begun_before(known: &StallRecord) -> bool {
    known.flags.is_some_and(|flags| flags & stall_flags::CUT != 0)
}

/// The latest of a thread counts; the result does not depend on the order of arrival.
fn order(record: &StallRecord) -> impl Ord + '_ {
    let what = (record.state, record.holder_tid, record.flags, record.bytes, record.stack);
    let awaits = record.awaits.map(Awaits::name);
    (record.end_ns(), record.start_ns, what, awaits, &record.call, &record.detail, &record.work)
}

/// The wait itself, without what it is for.
fn bare(known: &StallRecord) -> StallRecord {
    let plain = StallRecord::new(StallKind::Blocked, known.tid, known.start_ns, known.end_ns());
    StallRecord {
        state: known.state,
        stack: known.stack,
        call: known.call.clone(),
        flags: has_begun_before(known).then_some(stall_flags::CUT),
        ..plain
    }
}
