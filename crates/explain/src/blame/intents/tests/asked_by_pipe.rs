//! Clients that ask by a pipe.

use crate::blame::tests::answer::{check, check_quiet};

/// The client writes its request, which wakes the server, and reads until the server has written the answer.
#[test]
fn a_read_of_a_pipe_that_was_asked_for_waits_for_the_answer() {
    let drawing = "
        off 7 |  ssssssssssss  | call=read stack=anon_pipe_read,fifo_pipe_read state=1 awaits=message waker=9
        off 9 |ss              | call=read stack=anon_pipe_read,fifo_pipe_read state=1 awaits=message waker=7
        off 9 |   sssssssss    | stack=xfs_log_force";
    check(drawing, "fs_log 9, unexplained 3", "thread 7: fs_log 9 < thread 9: fs_log 9");
    // Another task gave the writer its work; the reader is an event loop; the writer waited for another message
    // meanwhile.
    check_quiet(&drawing.replace("waker=7", "waker=11"));
    check_quiet(&drawing.replace(
        "call=read stack=anon_pipe_read,fifo_pipe_read state=1 awaits=message waker=9",
        "call=poll state=1 awaits=message waker=9",
    ));
    let meanwhile = "off 9 |            s   | call=read stack=pipe_read state=1 awaits=message waker=11";
    check_quiet(&format!("{drawing}\n        {meanwhile}"));
}
