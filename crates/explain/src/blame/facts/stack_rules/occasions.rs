//! Why a call waits that did not ask for it: functions that the kernel calls for nothing else.

use model::occasion::Occasion::{self, AccessTime, CopyUp, DiscardAtCommit, NearlyFull, OverlaySync, StablePage};

/// One of these functions is on the stack, called by one of the others; empty: by any.
type Row = (&'static [&'static str], &'static [&'static str], Occasion);

/// Seen on Linux 5.10 to 6.18.
const TABLE: &[Row] = &[
    (&["touch_atime"], &[], AccessTime),
    (&["xfs_flush_inodes", "ext4_nonda_switch", "ext4_should_retry_alloc"], &[], NearlyFull),
    // The compiler may merge xfs_flush_inodes, which waits for its worker, into its caller.
    (&["__flush_work", "flush_work"], &["xfs_file_buffered_write", "xfs_file_buffered_aio_write"], NearlyFull),
    (&["ovl_copy_up_flags", "ovl_copy_up_one", "ovl_do_copy_up", "ovl_copy_up_file", "ovl_copy_up_data"], &[], CopyUp),
    (&["ovl_sync_fs"], &[], OverlaySync),
    (&["folio_wait_stable", "wait_for_stable_page"], &[], StablePage),
    (
        &["ext4_process_freed_data", "xfs_discard_extents", "btrfs_issue_discard", "btrfs_discard_extent"],
        &[],
        DiscardAtCommit,
    ),
];

/// That of a stack, the innermost function first.
pub(crate) fn occasion(frames: &[&str]) -> Option<Occasion> {
    let is_called =
        |at: usize, by: &[&str]| by.is_empty() || frames.get(at + 1).is_some_and(|frame| by.contains(frame));
    let of = |at: usize| TABLE.iter().find(|(functions, by, _)| functions.contains(&frames[at]) && is_called(at, by));
    (0..frames.len()).find_map(of).map(|(.., occasion)| *occasion)
}

#[cfg(test)]
mod tests {
    use model::occasion::Occasion;

    use super::occasion;

    #[test]
    fn a_function_says_why_its_caller_waits() {
        let of = |stack: &str| occasion(&stack.split(" < ").collect::<Vec<_>>());
        let read =
            "submit_bio_wait < jbd2_log_do_checkpoint < ext4_dirty_inode < touch_atime < filemap_read < vfs_read";
        assert_eq!(of(read), Some(Occasion::AccessTime));
        assert_eq!(of("__flush_work < xfs_file_buffered_write < vfs_write"), Some(Occasion::NearlyFull));
        // Others flush works, too.
        assert_eq!(of("__flush_work < xfs_inodegc_flush < xfs_fs_statfs"), None);
        assert_eq!(of(""), None);
    }
}
