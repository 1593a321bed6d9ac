//! Waits of which /proc showed at the end who has their other end.

use model::detail::OtherEnd;
use model::stall::StallRecord;

use crate::blame::tests::stage::{chain, shares, stage};
use crate::blame::{Explanation, Scope, TaskState};

/// Of everything, or of task 7.
fn explained(drawing: &str, of: &[u32]) -> Explanation {
    let stage = stage(&format!("task 7 |n| name=client\n task 8 |n| name=proxy\n task 9 |n| name=server\n{drawing}"));
    stage.explain_scoped(Scope { pids: of.to_vec(), ..Scope::default() })
}

/// States: 1 asleep, 4 stopped.
fn check(drawing: &str, expected: &str) {
    let explanation = explained(drawing, &[7]);
    let chains: Vec<String> = explanation.stalls.iter().map(chain).collect();
    assert_eq!(format!("{}: {}", shares(&explanation), chains.join("; ")), expected, "{drawing}");
    assert!(explained(drawing, &[]).slow_operations > 0, "where nobody is asked about, too: {drawing}");
}

#[test]
fn a_client_of_a_stopped_server_hangs() {
    check(
        "lasting  7 |==========| cut state=1 awaits=answer call=recvfrom holder=9
         lasting  9 |==========| cut state=4",
        "stopped 10: client/7: stopped 10 < server/9: stopped 10",
    );
    // Through a proxy, and from the moment on at which the server was stopped.
    check(
        "lasting  7 |==========| cut state=1 awaits=answer call=recvfrom holder=8
         lasting  8 |==========| cut state=1 awaits=answer call=recvfrom holder=9
         blocked 9 |   =======| state=4
         lasting  9 |         =| state=4",
        "stopped 7, unexplained 3: client/7: stopped 7 < server/9: stopped 7",
    );
}

/// The tracer sees such a wait only from the moment on when it is there.
#[test]
fn a_wait_of_a_thread_that_never_ran_began_with_the_recording() {
    let drawing = |throughout: &str| {
        format!(
            "lasting  7 |==========| cut state=1 awaits=answer call=recvfrom holder=9
             blocked 7 |   =======| cut state=1 call=recvfrom
             lasting  9 |==========| {throughout} state=4
             blocked 9 |   =======| cut state=4"
        )
    };
    check(&drawing("cut"), "stopped 10: client/7: stopped 10 < server/9: stopped 10");
    check(&drawing(""), "stopped 7, unexplained 3: client/7: stopped 7 < server/9: stopped 7");
}

/// A server that works for somebody is no idle server.
#[test]
fn a_client_of_a_server_that_waits_for_a_lock_hangs() {
    check(
        "lasting  7 |==========| cut state=1 awaits=answer call=recvfrom holder=9
         lasting  9 |==========| cut state=1 awaits=lock call=flock holder=5
         lasting  5 |==========| cut state=1 call=clock_nanosleep",
        "lock 10: client/7: lock 10 < server/9: lock 10 < thread 5: sleep 10",
    );
    // Since a moment within the recording, at the disk.
    check(
        "lasting  7 |  ========| state=1 awaits=answer call=recvfrom holder=9
         blocked  9 |    ======| call=fsync stack=xfs_log_force state=2
         lasting  9 |         =| state=2 call=fsync",
        "fs_log 6, unexplained 2: client/7: fs_log 6 < server/9: fs_log 6",
    );
}

#[test]
fn a_task_that_may_idle_does_not_hang() {
    let stopped = "lasting  9 |==========| cut state=4";
    for quiet in [
        // A server of a stopped client, one of many that it may wait for, its own stop, and a server that sleeps.
        "lasting  7 |==========| cut state=1 awaits=message call=recvfrom holder=9",
        "lasting  7 |==========| cut state=1 awaits=answer call=epoll_wait holder=9 hint",
        "lasting  7 |==========| cut state=4 awaits=answer call=recvfrom holder=9",
        "lasting  7 |==========| cut state=1 awaits=answer call=recvfrom holder=8
         lasting  8 |==========| cut state=1 call=epoll_wait",
        // Nothing is known of how long it has slept.
        "lasting  7 |         =| state=1 awaits=answer call=recvfrom holder=9",
    ] {
        let explanation = explained(&format!("{quiet}\n{stopped}"), &[]);
        assert_eq!(explanation.slow_operations, 0, "{quiet}");
    }
}

/// curl polls for a second at a time. /proc shows that it waits for one of several; the tracer saw that it has asked.
#[test]
fn a_client_that_polls_hangs_since_it_asked() {
    check(
        "off      7 |sss       | call=poll state=1 awaits=answer asked=0 waker=5 waker_stack=hrtimer_wakeup
         off      7 |   sss    | call=poll state=1 awaits=answer asked=0 waker=5 waker_stack=hrtimer_wakeup
         blocked  7 |      ====| call=poll state=1 awaits=answer asked=0
         lasting  7 |         =| call=poll state=1 awaits=message holder=9 hint
         lasting  9 |==========| cut state=4",
        "stopped 10: client/7: stopped 10 < server/9: stopped 10",
    );
}

/// The tracer saw that it asked; whether the server idles shows in what that does.
#[test]
fn a_client_hangs_as_long_as_its_server_works() {
    let client = "blocked  7 |==========| call=recvfrom state=1 awaits=answer asked=0
         lasting  7 |         =| state=1 awaits=answer call=recvfrom holder=9
         lasting  9 |         =| state=2";
    let at_the_disk = "off 9 |ssssssss  | stack=xfs_log_force\n blocked 9 |        ==| stack=xfs_log_force state=2";
    check(&format!("{client}\n {at_the_disk}"), "fs_log 10: client/7: fs_log 8 < server/9: fs_log 8");
    assert_eq!(explained(client, &[]).slow_operations, 0);
    // The main thread of a server sleeps for another one: which one would answer is not known.
    let of_threads = "blocked  7 |==========| call=recvfrom state=1 awaits=answer asked=0
         lasting  7 |         =| any state=1 awaits=answer call=recvfrom holder=9
         lasting  9 |==========| cut state=1 call=futex stack=futex_do_wait,do_futex";
    assert_eq!(explained(of_threads, &[]).slow_operations, 0);
}

/// Its stack shows a read like any other; /proc shows where the file is.
#[test]
fn a_reader_of_pages_of_a_fuse_file_system_waits_for_its_server() {
    let reader = "blocked 7 |==========| call=read state=2 stack=folio_wait_bit_common,filemap_get_pages,filemap_read";
    let of_fuse = "lasting 7 |        ==| state=2 awaits=answer call=read holder=9 detail=fuse_server
         lasting 9 |==========| cut state=4";
    let answer = "network_fs 10: client/7: network_fs 10 < server/9: stopped 10";
    check(&format!("{reader}\n {of_fuse}"), answer);
    check(reader, "device 10: client/7: device 10");
}

/// The reader of a pipe sleeps for a time; one that waits for a message itself may be a pager.
#[test]
fn a_writer_hangs_while_its_reader_rests() {
    let writer = "blocked 7 |==========| call=write state=1 awaits=room asked=0 stack=anon_pipe_write
         lasting  7 |         =| state=1 awaits=room call=write holder=9 detail=pipe_room";
    check(
        &format!("{writer}\n lasting  9 |         =| state=1 call=clock_nanosleep detail=timer"),
        "peer 10: client/7: peer 10 < server/9: unexplained 10",
    );
    let pager = format!("{writer}\n lasting  9 |         =| state=1 call=read detail=terminal");
    assert_eq!(explained(&pager, &[]).slow_operations, 0);
}

#[test]
fn a_listed_sleep_says_for_whom_it_was() {
    let drawing = "
        lasting  7 |==========| cut state=1 awaits=answer call=poll holder=8 detail=unix_socket
        lasting  8 |==========| cut state=1 awaits=lock call=epoll_wait holder=9 hint work=waiting
        lasting  9 |==========| cut state=1 awaits=message call=read holder=7 detail=pipe";
    let explanation = explained(drawing, &[7]);
    let [sleep] = &explanation.sleeps.longest[..] else { panic!("{:?}", explanation.sleeps) };
    let ends: Vec<_> = sleep.other_ends.iter().map(|end| (end.task.to_string(), end.is_certain, end.state)).collect();
    let asleep = Some("asleep");
    let expected = [("proxy/8", true, asleep), ("server/9", false, asleep), ("client/7", true, asleep)];
    let named = ends.into_iter().map(|(task, certain, state)| (task, certain, state.map(TaskState::name)));
    let ends: Vec<_> = named.collect();
    assert_eq!(ends, expected.map(|(task, certain, state)| (task.to_owned(), certain, state)));
    assert_eq!((sleep.throughout, sleep.waker.is_none(), explanation.slow_operations), (true, true, 0));
    assert_eq!(sleep.other_ends[0].title.as_deref(), Some("waiting"));
}

/// Nobody is asked about, and the holder of the lock that PostgreSQL's session waits for is not known.
#[test]
fn a_task_that_waits_for_one_that_says_that_it_waits_does_not_idle() {
    let hangs = |of_server: &str| {
        let drawing = format!(
            "lasting  7 |==========| cut state=1 awaits=answer call=poll holder=8
             lasting  8 |==========| cut state=1 call=epoll_wait {of_server}"
        );
        let sleeps = explained(&drawing, &[]).sleeps;
        sleeps.longest.iter().filter(|sleep| sleep.hangs).map(|sleep| sleep.task.tid).collect::<Vec<_>>()
    };
    assert_eq!(hangs("work=postgres:~ALTER~TABLE~waiting"), [7]);
    assert_eq!(hangs("work=postgres:~idle"), []);
    assert_eq!(hangs("awaits=message detail=tcp_connection;;;not_accepted"), [7]);
}

/// A server with a thread for each client: which one works for this is not known, but that all of them wait for another
/// client.
#[test]
fn the_possible_holder_of_the_lock_of_a_server_with_threads_is_said() {
    let ends = |of_connection: &str, of_server: &str| {
        let drawing = format!(
            "lasting  7 |==========| cut any state=1 awaits=answer call=recvfrom holder=8 \
             detail=unix_socket{of_connection}
             lasting  8 |==========| cut state=1 call=futex {of_server}"
        );
        let sleeps = explained(&drawing, &[]).sleeps;
        let hung = sleeps.longest.iter().filter(|sleep| sleep.hangs && sleep.task.tid == 7);
        let certain = |end: &crate::blame::OtherEnd| (end.task.tid, end.is_certain);
        hung.map(|sleep| sleep.other_ends.iter().map(certain).collect::<Vec<_>>()).next_back()
    };
    let (taken, lock) = (";;;taken", "awaits=lock holder=9 hint");
    assert_eq!(ends(taken, lock), Some(vec![(8, true), (9, false)]));
    assert_eq!(ends(taken, ""), Some(vec![(8, true)]));
    assert_eq!(ends("", ""), None, "it may have asked for nothing");
}

/// A parent writes all input of a filter, which writes to a pipe that the parent does not read yet.
#[test]
fn tasks_that_wait_for_each_other_to_read_hang() {
    let waits = |mine: &str, other: &str| {
        let drawing = format!(
            "blocked  7 |==========| call=write stack=anon_pipe_write,vfs_write state=1
             blocked  9 |==========| call=write stack=anon_pipe_write,vfs_write state=1
             lasting  7 |==========| cut state=1 awaits={mine} call=write holder=9
             lasting  9 |==========| cut state=1 awaits={other} call=write holder=7"
        );
        explained(&drawing, &[7])
    };
    let waits_for_server = |mine: &str, other: &str| {
        waits(mine, other).stalls.iter().any(|stall| chain(stall) == "client/7: peer 10 < server/9: peer 10")
    };
    assert!(waits_for_server("room", "room"));
    assert!(waits_for_server("room", "answer"), "the other one reads another pipe");
    assert!(!waits_for_server("room", "message"), "the other one may idle");
    assert!(!waits_for_server("answer", "answer"), "both read");
}

/// Nobody can be named, but what it is for.
#[test]
fn a_sleep_for_an_end_that_nobody_has_says_what_it_is_for() {
    let explanation = explained("lasting  7 |==========| cut state=1 call=openat detail=fifo;;;/a", &[7]);
    let [sleep] = &explanation.sleeps.longest[..] else { panic!("{:?}", explanation.sleeps) };
    assert_eq!((sleep.waits_for.clone(), sleep.other_ends.len()), (Some(OtherEnd::Fifo(Some("/a".into()))), 0));
    assert_eq!((sleep.throughout, explanation.slow_operations), (true, 0));
}

#[test]
fn damaged_rows_of_the_end_are_no_circle() {
    let of = |tid: u32, peer: u32| StallRecord {
        state: Some(1),
        flags: Some(2),
        holder_tid: Some(peer),
        bytes: Some(1),
        awaits: Some(model::stall::Awaits::Answer),
        ..StallRecord::new(model::stall::StallKind::LastingWait, tid, 0, 10_000_000)
    };
    let mut stage = stage("");
    stage.stalls = vec![of(7, 8), of(8, 7), of(9, 9)];
    let explanation = stage.explain_scoped(Scope::default());
    assert!(explanation.wall_ns <= 30_000_000);
}
