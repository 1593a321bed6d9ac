//! Calls that write a file to its disk, and whose file it is.

use std::collections::BTreeMap;

use super::run_index::RunIndex;
use crate::waits::SqliteJournal;

/// Those of one file.
pub(super) const OF_FILES: [&str; 4] = ["fsync", "fdatasync", "msync", "sync_file_range"];
const OF_FILE_SYSTEMS: &str = "syncfs";

/// Whether a row is a part of such a call.
pub(super) fn is_in_sync(index: &RunIndex, row: u32) -> bool {
    let call = index.row(row).call.map(|call| index.names.get(call));
    call.is_some_and(|call| OF_FILES.contains(&call) || call == OF_FILE_SYSTEMS)
}

/// The journals of SQLite that these threads waited for.
pub(super) fn sqlite(index: &RunIndex, tids: impl Iterator<Item = u32>) -> BTreeMap<u32, SqliteJournal> {
    let of = |tid| index.rows_of(tid).find_map(|(_, row)| SqliteJournal::of(index.names.get(row.path?)));
    tids.filter_map(|tid| Some((tid, of(tid)?))).collect()
}
