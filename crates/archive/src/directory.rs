//! The run directory: names of its files.

use std::path::Path;

/// The description of a run, written once.
pub(crate) const DESCRIPTION_FILE: &str = "run.json";
/// Lists what is live.
pub(crate) const JOURNAL_FILE: &str = "journal";
/// How far the journal and the recent file had been written.
pub(crate) const WATERMARK_FILE: &str = "watermark";
/// Space reserved for a full disk.
pub(crate) const RESERVE_FILE: &str = "reserve";

/// Whether a directory holds the files of a run, also of one that lacks its description.
pub fn is_run(dir: &Path) -> bool {
    let is_file = |name: &str| dir.join(name).symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    is_file(DESCRIPTION_FILE) || is_file(JOURNAL_FILE) && is_file(WATERMARK_FILE)
}
