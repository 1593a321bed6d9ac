//! Waits for storage that had not ended with the recording.

use super::stage::{shares, stage};

/// The wait of a task of a cgroup, after one of another task.
fn check(call: &str, before: &str, expected: &str) {
    let drawing = format!(
        "
        task    7 |n                | cgroup=/a
        task    8 |n                | cgroup=/a
        task    9 |n                | cgroup=/b
        blocked 7 |      ===========| call={call} stack=folio_wait_bit_common,filemap_read
        {before}
        request 1 |  QIDC           | device=8,0 kind=W throttled
        request 2 | Q   DC          | device=8,0 kind=W"
    );
    assert_eq!(shares(&stage(&drawing).explain()), expected, "{drawing}");
}

#[test]
fn the_request_of_a_wait_that_lasts_is_taken_for_one_like_those_before() {
    check("write", "", "device 11");
    check("write", "off 8 |sss   | call=write stack=iomap_dio_rw request=1", "io_throttle 11");
    // Of another cgroup, or a read.
    check("write", "off 9 |sss   | call=write stack=iomap_dio_rw request=1", "device 11");
    check("pread64", "off 8 |sss   | call=write stack=iomap_dio_rw request=1", "device 11");
    // The device took the time.
    check("write", "off 8 | ssss | call=write stack=iomap_dio_rw request=2", "device 11");
    // The task's own requests come first.
    let both = "off 8 |sss   | call=write stack=iomap_dio_rw request=1
        off 7 | ssss | call=write stack=iomap_dio_rw request=2";
    check("write", both, "device 11");
}
