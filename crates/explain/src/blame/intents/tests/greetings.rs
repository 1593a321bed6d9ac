//! Clients that have connected to a server that has not accepted them yet, or that speaks first.

use crate::blame::tests::answer::{check, check_quiet};

/// It is off the CPU from the moment at which the client connects.
#[test]
fn a_client_waits_for_a_server_that_is_to_accept_it() {
    check(
        "
        off 7 |  ssssssssssss  | call=poll awaits=answer asked=2 waker=9
        off 9 |swwwwwwwwwww    | call=accept4 state=1 awaits=message waker=7 cpu=1
        off 9 |              ss| call=accept4 state=1 awaits=message waker=7 cpu=3",
        "cpu_wait 10, running 2",
        "thread 7: cpu_wait 10 < thread 9: cpu_wait 10",
    );
}

/// What the server waits for before its greeting, and whatever a server does that waits for clients, or a client that
/// is left alone.
#[test]
fn a_client_waits_for_the_greeting_of_its_server() {
    check(
        "
        off 7 |  ssssssssssss  | call=recvfrom awaits=answer asked=2 waker=9
        off 9 |ss              | call=accept4 state=1 awaits=message waker=7 cpu=1
        off 9 |    sssssssss   | stack=xfs_log_force cpu=2
        off 9 |              ss| call=accept4 state=1 awaits=message waker=7 cpu=3",
        "fs_log 9, running 2, unexplained 1",
        "thread 7: fs_log 9 < thread 9: fs_log 9",
    );
    check_quiet("off 9 |ssssssssssssss  | call=accept4 state=1 awaits=message waker=7");
    check_quiet(
        "
        off 7 |  ssssssssssss  | call=recvfrom awaits=answer asked=2 waker=9
        off 9 |ssssssssssss    | call=epoll_wait state=1 awaits=message waker=5",
    );
}

/// A client that is refused at one address and goes on to another one waits for its answer there: nothing listens at
/// the first one later, and it is not tried again.
#[test]
fn a_refusal_that_is_not_tried_again_is_no_wait() {
    let asks = "call=poll state=1 awaits=answer waker=9 asked=2";
    let refused = format!("off 7 |  ssss        | {asks} tp=connection_refused lock=1");
    let answer = format!("off 7 |      ssssssss| {asks}");
    let server = "off 9 |  ssssssssss  | stack=xfs_log_force";
    check(
        &format!("{refused}\n{answer}\n{server}"),
        "fs_log 10, unexplained 2",
        "thread 7: fs_log 10 < thread 9: fs_log 10",
    );
    let sleep = "call=clock_nanosleep stack=hrtimer_nanosleep state=1 tp=connection_refused lock=1";
    check(
        &format!("off 7 |  ssss      | {sleep}\noff 7 |       ssss | {sleep}"),
        "peer 8, unexplained 1",
        "thread 7: peer 8",
    );
}
