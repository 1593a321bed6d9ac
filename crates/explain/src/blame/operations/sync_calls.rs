//! Calls that write a file to its disk, and whose file it is.

use std::collections::BTreeMap;

use model::detail::Detail;
use model::stall::StallKind;
use model::system_call::traits;

use crate::blame::facts::names::Name;
use crate::blame::facts::run_index::RunIndex;
use crate::hashing::FastMap;
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

/// Of threads that wrote the same file to its disk several times: whether the file mostly had the size that it had the
/// time before. What was written then lies where the file had space already, if it has no holes: its journal has
/// nothing that a read of the data needs.
pub(crate) fn keep_sizes(index: &RunIndex, tids: impl Iterator<Item = u32>) -> BTreeMap<u32, bool> {
    tids.filter_map(|tid| Some((tid, keeps_size(index, tid)?))).collect()
}

/// `None`: no file was synced twice, or the tracer saw no sizes.
fn keeps_size(index: &RunIndex, tid: u32) -> Option<bool> {
    let mut sizes: FastMap<Name, u64> = FastMap::default();
    let (mut kept, mut changed) = (0_u64, 0_u64);
    for (_, row) in index.rows_of(tid).filter(|(_, row)| row.kind == StallKind::SystemCall) {
        let (Some(path), Some(Detail::FileSize(bytes))) = (row.path, index.detail(row)) else { continue };
        match sizes.insert(path, *bytes) {
            Some(before) if before == *bytes => kept += 1,
            Some(_) => changed += 1,
            None => (),
        }
    }
    (kept + changed > 0).then_some(kept > changed)
}
