//! Rows that are parts of others.

use model::stall::StallKind;

use crate::blame::facts::rows::Row;
use crate::hashing::FastMap;

/// A wait reported several times while it lasts is one wait: its longest row covers it. So is a system call that is
/// reported when it returns, and again when its work on the way back to user space is done.
pub(crate) fn drop_partial_rows(rows: &mut Vec<Row>) {
    let repeats = |row: &Row| matches!(row.kind, StallKind::Blocked | StallKind::SystemCall);
    let mut ends: FastMap<(u32, u64, bool), u64> = FastMap::default();
    let key = |row: &Row| (row.tid, row.start_ns, row.kind == StallKind::Blocked);
    for row in rows.iter().filter(|row| repeats(row)) {
        let end_ns = ends.entry(key(row)).or_default();
        *end_ns = row.end_ns.max(*end_ns);
    }
    rows.retain(|row| {
        !repeats(row)
            || ends.get_mut(&key(row)).is_some_and(|end_ns| {
                let whole = *end_ns == row.end_ns;
                // Keep one of several equal rows.
                *end_ns = if whole { 0 } else { *end_ns };
                whole
            })
    });
}
