use model::stall::StackRecord;

use super::Stack;
use crate::blame::rows::Names;
use crate::blame::rules::RANKS;

/// The cause of a stack written as `a < b < c`, and the words.
fn check(stack: &str, expected: &str) {
    let frames = stack.split(" < ").map(str::to_owned).collect();
    let stack_known = Stack::new(&StackRecord { stack: 0, frames }, &mut Names::default());
    let found = stack_known.rule.map_or("none".to_owned(), |rule| format!("{}: {}", rule.cause.name(), rule.words));
    assert_eq!(found, expected, "of {stack}");
}

#[test]
fn a_mechanism_counts_more_than_the_lock_it_is_made_of() {
    check("mutex_lock_io < __jbd2_log_wait_for_space < start_this_handle", "journal: space in the journal");
    check("rwsem_down_write_slowpath < down_write < ext4_buffered_write_iter", "lock: a lock, to write");
    check("io_schedule < folio_wait_bit_common < shrink_folio_list < shrink_lruvec", "direct_reclaim: freeing memory");
    check(
        "io_schedule_timeout < balance_dirty_pages < generic_perform_write",
        "dirty_throttle: paused, because too much is dirty",
    );
    check("schedule < worker_thread < kthread", "none");
}

#[test]
fn offsets_modules_and_what_compilers_append_do_not_matter() {
    check("xlog_grant_head_wait+0xc1/0x1a0 [xfs] < xfs_trans_reserve", "fs_log: space in the XFS log");
    check("do_get_write_access.isra.0 < ext4_new_inode", "journal: a metadata block that the journal is writing");
}

#[test]
fn every_rule_can_be_read() {
    for rule in RANKS.iter().copied().flatten() {
        assert!(!rule.frames.is_empty() && !rule.words.is_empty(), "{rule:?}");
        assert!(rule.seen_on.iter().all(|version| version.starts_with(|c: char| c.is_ascii_digit())), "{rule:?}");
    }
}
