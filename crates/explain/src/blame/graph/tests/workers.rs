//! Kernel workers, which do one work after the other, and waits that are not for storage.

use crate::blame::tests::stage::{chain, stage};

fn first_chain(drawing: &str) -> String {
    let explanation = stage(drawing).explain();
    let of_victim = explanation.stalls.iter().find(|stall| stall.task.tid == 7);
    of_victim.map(chain).unwrap_or_default()
}

/// A worker ended the writeback of this file's pages after it had waited for another file system.
#[test]
fn what_a_worker_waited_for_in_other_work_is_not_followed() {
    let drawing = "
        call:write 7 |==============|
        off 7 | ssssssssssss | tp=folio_wait_writeback stack=folio_wait_writeback detail=inode;7,2;13 waker=9 WAKER
        off 9 |   sssssss    | stack=btrfs_start_delalloc_roots,flush_space,btrfs_async_reclaim,process_one_work
        task 9 | n           | name=kworker/u8:1";
    let by = |waker: &str| first_chain(&drawing.replace("WAKER", waker));
    let other = by("waker_stack=folio_end_writeback,ext4_end_io_rsv_work,process_one_work");
    assert_eq!(other, "thread 7: writeback_wait 12");
    let same = by("waker_stack=folio_end_writeback,btrfs_async_reclaim,process_one_work");
    assert!(same.starts_with("thread 7: writeback_wait 12 < kworker/u8:1/9: "), "{same}");
}

/// A discard writes no page, and a loop device's page is written by a request of that device.
#[test]
fn a_request_of_another_disk_ends_no_writeback() {
    let drawing = "
        call:write 7 |==============|
        off 7 | ssssssssssss | tp=folio_wait_writeback stack=folio_wait_writeback detail=inode;7,2;13 request=1 waker=9
        request 1 |          QD C  | tid=3 device=7,2 kind=W
        task 9 | n           | name=kworker/u8:1";
    let chain = first_chain(drawing);
    assert!(chain.starts_with("thread 7: writeback_wait 9 < thread 3: "), "{chain}");
    for other in ["device=7,4 kind=W", "device=7,2 kind=DS"] {
        let chain = first_chain(&drawing.replace("device=7,2 kind=W", other));
        assert_eq!(chain, "thread 7: writeback_wait 9", "{other}");
    }
}

/// Another recorder ends: the kernel waits for readers of RCU. The recorded command's own wait counts all the same.
#[test]
fn detaching_a_tracer_is_no_wait_for_storage() {
    let drawing = "
        call:close 7 |==============|
        off 7 | ssssssssssss | stack=synchronize_rcu_normal,tracepoint_probe_unregister,bpf_link_free waker=9";
    assert_eq!(stage(drawing).explain().slow_operations, 0);
    assert_eq!(stage(&drawing.replace("waker=9", "waker=9 watched")).explain().slow_operations, 1);
    assert_eq!(
        stage(&drawing.replace("tracepoint_probe_unregister,bpf_link_free", "path_umount")).explain().slow_operations,
        1
    );
}
