//! Directories for temporary images.

use std::path::PathBuf;

use crate::recording::own_path::refuse_replaceable;

/// The first of /var/tmp, the temporary and the current directory with more than this much free space.
pub fn directory_with_space(bytes: u64) -> Option<PathBuf> {
    let free_bytes = |directory: &PathBuf| {
        rustix::fs::statvfs(directory).map_or(0, |space| space.f_bavail.saturating_mul(space.f_frsize))
    };
    let candidates = [PathBuf::from("/var/tmp"), std::env::temp_dir(), PathBuf::from(".")];
    candidates.into_iter().find(|directory| free_bytes(directory) > bytes && refuse_replaceable(directory).is_ok())
}
