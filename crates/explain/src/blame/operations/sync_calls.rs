//! Calls that write a file to its disk, and whose file it is.

use std::collections::BTreeMap;

use model::system_call::traits;

use crate::blame::facts::run_index::RunIndex;
use crate::waits::SqliteJournal;

/// Whether a row is a part of such a call.
pub(crate) fn is_in_sync(index: &RunIndex, row: u32) -> bool {
    index.does(index.row(row), traits::SYNCS_FILE | traits::SYNCS_FILE_SYSTEM)
}

/// The journals of SQLite that these threads waited for.
pub(crate) fn sqlite(index: &RunIndex, tids: impl Iterator<Item = u32>) -> BTreeMap<u32, SqliteJournal> {
    let of = |tid| index.rows_of(tid).find_map(|(_, row)| SqliteJournal::of(index.names.get(row.path?)));
    tids.filter_map(|tid| Some((tid, of(tid)?))).collect()
}
