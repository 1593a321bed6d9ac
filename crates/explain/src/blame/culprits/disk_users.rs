//! Who uses which disk, beside what requests show: journals, and files that are written out.

use std::collections::HashSet;

use model::block::DeviceNumber;
use model::system_call::traits;

use crate::blame::facts::names::Name;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;

/// A journal is that of a partition or a disk.
pub(crate) fn find_disk_users(index: &mut RunIndex, disks: &Disks) {
    let journals: Vec<DeviceNumber> = index.usage.journals().collect();
    let places = journals.into_iter().filter_map(|journal| Some((journal, disks.number(&journal.to_string())?)));
    places.for_each(|(journal, disk)| index.usage.put_above(journal, disk));
    know_writers(index, disks);
}

/// A task that waits for a file to be written out uses its disk, also where all of the requests were submitted before
/// the recording.
fn know_writers(index: &mut RunIndex, disks: &Disks) {
    let rows = index.rows.iter().filter(|row| index.does(row, traits::SYNCS_FILE));
    let files: HashSet<(Name, u32)> =
        rows.filter_map(|row| Some((row.path?, index.tasks.process_of(row.tid, row.end_ns)))).collect();
    for (path, pid) in files {
        if let Some(disk) = disks.of_path(index.names.get(path)) {
            index.usage.know(disk, pid);
        }
    }
}
