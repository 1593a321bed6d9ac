//! What is below a wait: flushes, loop devices, paths of multipath, and servers of disks of the network.

use model::run::{Device, Mapper, Mount, RunDescription};

use crate::blame::tests::stage::{chain, check, description, shares, stage};

const THROTTLED: &str = "
    task      7 |                  | name=app
    op:write  7 |==================|
    off       7 | ssssssssssssssss | stack=submit_bio_wait request=2
    request   1 |             DC   | tid=3 device=8,0 throttled
    request   2 | D             C  | tid=7 device=7,0 lower=1";

#[test]
fn a_request_below_a_loop_device_gives_its_stages() {
    let explanation = stage(THROTTLED).explain();
    assert_eq!(shares(&explanation), "io_throttle 12, device 4, running 2");
    assert_eq!(chain(&explanation.stalls[0]), "app/7: io_throttle 12 < thread 3: io_throttle 12");
    let culprit = &explanation.culprits[0];
    assert_eq!((culprit.task.as_ref().unwrap().tid, culprit.device.unwrap().to_string()), (7, "8,0".to_owned()));
    // The row of a request below may come after the one above it, or never.
    let after = THROTTLED.replace("request   1", "request   4").replace("lower=1", "lower=4");
    assert_eq!(shares(&stage(&after).explain()), "io_throttle 12, device 4, running 2");
    let never = THROTTLED.replace("lower=1", "lower=9");
    assert_eq!(shares(&stage(&never).explain()), "device 16, running 2");
}

#[test]
fn loop_devices_on_loop_devices_are_followed() {
    check(
        "
        op:write  7 |==================|
        off       7 | ssssssssssssssss | stack=submit_bio_wait request=3
        request   1 |    I      D C    | device=8,0
        request   2 |   D          C   | device=7,0 lower=1
        request   3 | D             C  | device=7,1 lower=2",
        "device 9, scheduler_queue 7, running 2",
    );
}

#[test]
fn a_worker_that_sleeps_gives_its_own_cause() {
    let drawing = "
        task      7 |                  | name=app
        task      5 |                  | name=kworker
        task      9 |                  | name=fsfreeze
        op:write  7 |==================|
        off       7 | ssssssssssssssss | stack=submit_bio_wait request=2
        off       5 |  ssssssssss      | stack=percpu_rwsem_wait,lo_rw_aio,loop_process_work work=loop0 waker=9
        request   1 |             DC   | device=8,0
        request   2 | D             C  | device=7,0 lower=1";
    let explanation = stage(drawing).explain();
    assert_eq!(shares(&explanation), "frozen 10, device 6, running 2");
    assert_eq!(chain(&explanation.stalls[0]), "app/7: frozen 10 < kworker/5: frozen 10");
    let other = drawing.replace("work=loop0", "work=loop1");
    assert_eq!(shares(&stage(&other).explain()), "device 16, running 2");
}

/// A sync waits for the flusher, the flusher for a page that another task locks to write it, and this task for the
/// limit.
#[test]
fn a_wait_for_the_flusher_takes_the_causes_of_its_waits() {
    let drawing = "
        task      7 |                  | name=sync
        task      9 |                  | name=kworker/u8:1
        task      8 |                  | name=dd
        op:sync   7 |==================|
        off       7 | ssssssssssssssss | stack=wb_wait_for_completion waker=9
        off       9 |   ssssssss       | stack=__folio_lock,mpage_prepare_extent_to_map waker=8
        off       8 |ssssssssss        | stack=folio_wait_writeback request=1
        request   1 |        QDC       | tid=5 device=8,0 throttled kind=W";
    let explanation = stage(drawing).explain();
    assert_eq!(shares(&explanation), "writeback_wait 9, io_throttle 6, running 2, device 1");
    // A page that is read is no page under writeback.
    let read = drawing.replace("__folio_lock,mpage_prepare_extent_to_map", "__folio_lock,filemap_update_page");
    assert_eq!(shares(&stage(&read).explain()), "writeback_wait 8, device 8, running 2");
    // A timer that interrupts another task ends no writeback.
    let timer = drawing
        .replace("wb_wait_for_completion waker=9", "wb_wait_for_completion waker=9 waker_stack=hrtimer_interrupt");
    assert_eq!(shares(&stage(&timer).explain()), "writeback_wait 16, running 2");
}

#[test]
fn flushes_before_and_after_the_data_are_at_the_device() {
    check(
        "
        op:write  7 |====================|
        off       7 | ssssssssssssssssss | stack=jbd2_journal_commit_transaction request=1
        request   1 | Q P  I D T F     C | device=8,0 kind=FWFS",
        "device 12, request_wait 4, scheduler_queue 2, running 2",
    );
}

#[test]
fn a_limit_holds_a_flush_that_its_task_submitted() {
    let drawing = "
        op:fsync  7 |==========|
        off       7 | ssssssss | stack=submit_bio_wait,blkdev_issue_flush request=1
        request   1 |      Q DC| device=8,0 kind=FWS";
    check(drawing, "io_throttle 5, request_wait 2, running 2, device 1");
    check(&drawing.replace("submit_bio_wait,blkdev_issue_flush", "xlog_wait_on_iclog"), "fs_log 8, running 2");
}

/// The wait of a journal for such a flush is due to the limit.
#[test]
fn a_limit_holds_the_flush_of_a_checkpoint() {
    let explanation = stage(
        "
        op:read   7 |================|
        off       7 | ssssssssssssss | stack=submit_bio_wait,blkdev_issue_flush,jbd2_log_do_checkpoint,touch_atime \
        request=1
        request   1 |            QDC | device=8,0 kind=FWS",
    )
    .explain();
    let stall = &explanation.stalls[0];
    assert_eq!(
        (shares(&explanation), chain(stall)),
        ("journal 14, running 2".into(), "thread 7: journal 14 < : io_throttle 14".into())
    );
    assert_eq!(stall.chain[0].detail.as_deref(), Some("journal space, to update an access time"));
}

/// Its reader, or the worker of a loop device over its file, sleeps for a page like any other.
#[test]
fn pages_of_a_fuse_file_system_come_from_its_server() {
    let drawing = "
        task      7 |                  | name=app
        task      4 |                  | name=server
        op:read   7 |==================|
        off       7 | ssssssssssssssss | stack=folio_wait_bit_common,filemap_read waker=4 \
        waker_stack=fuse_request_end,fuse_dev_do_write
        off       4 |  ssssssssssssss  | stack=jbd2_log_wait_commit";
    let explanation = stage(drawing).explain();
    assert_eq!(shares(&explanation), "network_fs 16, running 2");
    assert_eq!(chain(&explanation.stalls[0]), "app/7: network_fs 16 < server/4: journal 14");
    check(&drawing.replace("folio_wait_bit_common", "filemap_fault"), "network_fs 16, running 2");
    check(&drawing.replace("folio_wait_bit_common", "try_to_free_pages"), "direct_reclaim 16, running 2");
    let timer = drawing.replace("waker_stack=", "waker_stack=hrtimer_interrupt,");
    check(&timer, "device 16, running 2");
    check(
        "
        op:write  7 |==================|
        off       7 | ssssssssssssssss | stack=submit_bio_wait request=2
        off       5 |  ssssssssss      | stack=folio_wait_bit_common,loop_process_work work=loop0 waker=4 \
        waker_stack=fuse_request_end
        request   2 | D             C  | device=7,0",
        "network_fs 10, device 6, running 2",
    );
}

#[test]
fn a_path_gives_the_stages_of_a_request_of_multipath() {
    check(
        "
        op:read   7 |==================|
        off       7 | ssssssssssssssss | stack=submit_bio_wait request=2
        request   1 |   I     D    C   | device=8,0
        request   2 | D             C  | device=253,0 lower=1",
        "device 10, scheduler_queue 6, running 2",
    );
}

/// The kernel's worker receives the answer. What the server waited for before a request came is not that request's.
#[test]
fn a_request_of_a_disk_of_the_network_waits_for_what_its_server_waits_for() {
    let drawing = "
        task      7 |                  | name=app
        task      4 |                  | name=nbd-server
        op:read   7 |==================|
        off       7 | ssssssssssssssss | stack=submit_bio_wait request=2
        off       5 |ssssssssssssssss  | state=1 stack=sk_wait_data,recv_work work=nbd0-recv waker=4
        off       4 |sss               | stack=folio_wait_bit_common,filemap_read
        off       4 |    sssssssssss   | stack=jbd2_log_wait_commit
        request   2 |   D           C  | device=43,0";
    let of_disk = |name: &str, drawing: &str| {
        let disk = Device { number: "43:0".into(), name: name.into(), ..Device::default() };
        let run = RunDescription { devices: vec![disk], ..description(true) };
        let explanation = stage(drawing).explain_run(&run, None);
        (shares(&explanation), chain(&explanation.stalls[0]))
    };
    let (causes, tasks) = of_disk("nbd0", drawing);
    assert_eq!(causes, "journal 11, device 5, running 2");
    assert_eq!(tasks, "app/7: journal 11 < nbd-server/4: journal 11");
    assert_eq!(of_disk("nbd0", &drawing.replace("nbd0-recv", "knbd0-recv")).0, causes);
    // That of another disk, and one on another machine, whose answer an interrupt delivers.
    assert_eq!(of_disk("nbd1", drawing).0, "device 16, running 2");
    let remote = drawing.replace("waker=4", "waker=4 waker_stack=asm_common_interrupt");
    assert_eq!(of_disk("nbd0", &remote).0, "device 16, running 2");
}

/// The request comes when the mapper passes the write on. What a file system keeps under writeback above a disk has no
/// other place.
#[test]
fn what_a_mapper_holds_back_is_at_its_device() {
    let drawing = "
        call:fsync 7 |==================| path=/x/f
        off        7 | ssssssssssssssss | tp=folio_wait_writeback stack=folio_wait_writeback detail=inode;253,1;13 \
        request=1
        request    1 |             Q DC | tid=9 device=8,0 kind=W";
    let disk = |name: &str, number: &str, mapper: Option<(&str, &str)>| Device {
        number: number.into(),
        name: name.into(),
        mapper: mapper.map(|(kind, below)| Mapper {
            kind: Some(kind.into()),
            below: vec![below.into()],
            ..Mapper::default()
        }),
        ..Device::default()
    };
    let explained = |kind: &str, drawing: &str| {
        let devices = vec![
            disk("sda", "8:0", None),
            disk("dm-0", "253:0", Some((kind, "sda"))),
            disk("dm-1", "253:1", Some(("linear", "dm-0"))),
        ];
        let mounts = vec![Mount {
            point: "/x".into(),
            source: "/dev/mapper/x".into(),
            fs_type: "xfs".into(),
            options: String::new(),
            device: "253:1".into(),
        }];
        let explanation = stage(drawing).explain_run(&RunDescription { devices, mounts, ..description(true) }, None);
        let detail = explanation.stalls[0].causes[0].detail.clone().unwrap_or_default();
        (shares(&explanation), detail)
    };
    let held = "held back in dm-0 (delay): no request below it yet".to_owned();
    let expected = ("device 14, request_wait 2, running 2".to_owned(), held.clone());
    assert_eq!(explained("delay", drawing), expected);
    let unknown = drawing.replace("request=1", "");
    assert_eq!(explained("delay", &unknown), ("device 16, running 2".to_owned(), held));
    // Without an announcement the file of the call says where it is.
    let by_stack = drawing.replace("tp=folio_wait_writeback ", "").replace("detail=inode;253,1;13", "");
    assert_eq!(explained("delay", &by_stack), expected);
    // What passes on at once has nothing to hold, and another disk is no mapper.
    assert_eq!(explained("linear", drawing).0, "writeback_wait 12, request_wait 2, device 2, running 2");
    let other = drawing.replace("253,1", "8,0");
    assert_eq!(explained("delay", &other).0, "writeback_wait 12, request_wait 2, device 2, running 2");
}
