//! Whom a task waits for is known by the channel that it used, not by the number of a descriptor: a program with
//! hundreds of them.

#[path = "../trace_stage/mod.rs"]
mod trace_stage;

mod sys;

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use model::stall::{Awaits, StallKind, StallRecord};
use trace_stage::{most_of_it, trace};

/// The scenario that a process plays, which this test started from its own program.
const SCENARIO: &str = "STALLSCOPE_TEST_CHANNELS";
/// The thread whose waits are looked at.
const WAITING: &str = "waiting";
const WORK: Duration = Duration::from_millis(200);
const CONNECTIONS: usize = 100;

/// Both ends of connections, the clients' first: 200 descriptors.
fn connections() -> Vec<(UnixStream, UnixStream)> {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join("server")).unwrap();
    let connect = |_| {
        let client = UnixStream::connect(folder.path().join("server")).unwrap();
        (client, listener.accept().unwrap().0)
    };
    (0..CONNECTIONS).map(connect).collect()
}

/// Two connections whose descriptors at that end are the same number modulo 64.
fn alike(
    mut all: Vec<(UnixStream, UnixStream)>,
    end: fn(&(UnixStream, UnixStream)) -> i32,
) -> [(UnixStream, UnixStream); 2] {
    // The first may lie among descriptors that were open before.
    let alike = |first: usize| (first + 1..all.len()).find(|at| (end(&all[*at]) - end(&all[first])) % 64 == 0);
    let found = (0..all.len()).find_map(|first| Some((first, alike(first)?)));
    let (first, second) = found.expect("100 connections have descriptors that are 64 apart");
    let (second, first) = (all.swap_remove(second), all.swap_remove(first));
    // The others stay open until the process ends.
    std::mem::forget(all);
    [first, second]
}

fn send(mut to: &UnixStream) {
    to.write_all(b"x").unwrap();
}

fn receive(mut from: &UnixStream) {
    from.read_exact(&mut [0]).unwrap();
}

/// Runs the second in a thread of its own, named as the one that waits.
fn beside(other: impl FnOnce() + Send, waiting: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(other);
        thread::Builder::new().name(WAITING.to_owned()).spawn_scoped(scope, waiting).unwrap();
    });
}

/// A client has asked one server, and gets a message of another one before it waits for the answer.
fn client() {
    let [(asked, server), (other, talker)] = alike(connections(), |(client, _)| client.as_raw_fd());
    let serve = || {
        receive(&server);
        send(&talker);
        thread::sleep(WORK);
        send(&server);
    };
    beside(serve, || {
        send(&other);
        send(&asked);
        receive(&other);
        receive(&asked);
    });
}

/// A server has a client's request, sends something to another client, and then waits for what a thread of its own
/// gives it.
fn server() {
    let [(client, asked), (_idle, other)] = alike(connections(), |(_, server)| server.as_raw_fd());
    let (mut result, mut worker) = std::io::pipe().unwrap();
    let (started, starts) = std::sync::mpsc::channel();
    let work = move || {
        starts.recv().unwrap();
        thread::sleep(WORK);
        worker.write_all(b"x").unwrap();
    };
    send(&client);
    beside(work, || {
        receive(&asked);
        send(&other);
        started.send(()).unwrap();
        result.read_exact(&mut [0]).unwrap();
    });
}

/// A client asks all servers at once. All but one have answered before it waits for the last answer.
fn many() {
    let all = connections();
    let serve = || {
        all.iter().for_each(|(_, server)| receive(server));
        all[1..].iter().for_each(|(_, server)| send(server));
        thread::sleep(WORK);
        send(&all[0].1);
    };
    beside(serve, || {
        all.iter().for_each(|(client, _)| send(client));
        all[1..].iter().for_each(|(client, _)| receive(client));
        receive(&all[0].0);
    });
}

/// A client asks by one queue, and waits for the answer in another one.
fn queues(make: fn() -> Box<dyn sys::Queue>) {
    let (requests, answers) = (make(), make());
    let serve = || {
        requests.receive();
        thread::sleep(WORK);
        answers.send();
    };
    beside(serve, || {
        requests.send();
        answers.receive();
    });
}

/// What the long wait of the waiting thread was for. Other tests run at the same time.
fn awaited(scenario: &str, call: &str) -> Option<Option<Awaits>> {
    let this = std::env::current_exe().unwrap();
    let command = format!("{SCENARIO}={scenario} exec {} --exact plays_a_scenario --nocapture", this.display());
    let seen = trace(&most_of_it(), &command)?;
    let names = &seen.traced.tasks;
    let is_waiting = |row: &StallRecord| {
        names.iter().any(|task| task.tid == row.tid && task.pid == seen.shell && task.name == WAITING)
    };
    let is_long = |row: &&StallRecord| row.kind == StallKind::OffCpu && row.end_ns() - row.start_ns > 150_000_000;
    let waits: Vec<_> = seen.traced.stalls.iter().filter(is_long).filter(|row| is_waiting(row)).collect();
    let [wait] = waits[..] else { panic!("{scenario}: {waits:#?}") };
    assert_eq!(wait.call.as_deref(), Some(call), "{wait:#?}");
    Some(wait.awaits)
}

fn check(scenario: &str, call: &str, expected: Awaits) {
    if let Some(awaits) = awaited(scenario, call) {
        assert_eq!(awaits, Some(expected), "{scenario}");
    }
}

/// In the process that `awaited` starts.
#[test]
fn plays_a_scenario() {
    match std::env::var(SCENARIO).as_deref() {
        Ok("client") => client(),
        Ok("many") => many(),
        Ok("server") => server(),
        Ok("system_v") => queues(sys::system_v),
        Ok("posix") => queues(sys::posix),
        Ok(other) => panic!("no scenario {other}"),
        Err(_) => (),
    }
}

/// Both descriptors were one bit: the other server's message seemed to be a part of the answer.
#[test]
fn a_client_waits_for_the_server_that_it_asked() {
    check("client", "recvfrom", Awaits::Answer);
}

/// More than a task's note has place for.
#[test]
fn a_client_of_a_hundred_servers_waits_for_the_last() {
    check("many", "recvfrom", Awaits::Answer);
}

/// Both were one bit: the other client's message seemed to be the answer.
#[test]
fn a_server_owes_an_answer_to_the_client_that_asked() {
    check("server", "read", Awaits::ForClient);
}

#[test]
fn a_request_by_a_queue_of_system_v_wants_an_answer() {
    check("system_v", "msgrcv", Awaits::Answer);
}

#[test]
fn a_request_by_a_queue_of_posix_wants_an_answer() {
    check("posix", "mq_timedreceive", Awaits::Answer);
}
