//! Waits that began before the recording and last beyond it: nobody wakes anybody.

use std::time::Duration;

use serde_json::Value;

use super::{GO, Test, recorded};
use crate::actor::now_ns;
use crate::ground::{Ground, tool};
use crate::victim::{Recording, Truth, Victim};

pub const TESTS: &[Test] = &[
    recorded("server_stopped_throughout", stopped_server),
    recorded("server_stopped_throughout_before_it_accepted", stopped_listener),
    recorded("writer_of_a_pipe_stopped_throughout", stopped_writer),
    recorded("idle_server_throughout", idle_server),
    recorded("idle_client_throughout", idle_client),
    recorded("server_behind_a_lock_throughout", server_behind_lock),
    recorded("reader_of_a_fifo_with_a_late_writer", late_writer),
    recorded("reader_of_a_fifo_without_writer", fifo_without_writer),
    recorded("writer_of_a_fifo_without_reader", fifo_without_reader),
];

fn signal(name: &str, pid: u32) {
    drop(tool("kill", &[name, &pid.to_string()]));
}

/// A victim that sleeps in that kernel function from before the recording on, for a process that was stopped before it
/// went to sleep.
fn hung(ground: &Ground, victim: Victim, stopped: u32, (function, call): (&str, &'static str)) -> (Value, Truth) {
    let go = ground.at(GO);
    ground.wait_for(&format!("{go}.awaited"));
    signal("-STOP", stopped);
    ground.go(&go);
    ground.wait_until_in(victim.pid(), function);
    let begin_ns = now_ns();
    let recording = Recording::following(victim.pid());
    std::thread::sleep(Duration::from_millis(900));
    let explained = recording.explained();
    let suffered = victim.suffers("stopped", (begin_ns, now_ns()), 900_000_000);
    signal("-CONT", stopped);
    let truth = Truth { operation: Some(call), waited_for: Some("neighbour"), culprit: Some("neighbour"), ..suffered };
    (explained, Truth { cut: Some(true), finished: Some(false), ..truth })
}

fn stopped_server() -> (Value, Truth) {
    let ground = Ground::new();
    let path = ground.at("address");
    let server = ground.neighbour(&format!("answer tcp:{path} sleep 0"));
    ground.wait_for(&path);
    let script = format!("connect tcp:{path}\nask tcp:{path} recv\nawait {}\nask tcp:{path} recv", ground.at(GO));
    let victim = Victim::start(&ground, &script);
    hung(&ground, victim, server, ("tcp_recvmsg", "recvfrom"))
}

fn stopped_listener() -> (Value, Truth) {
    let ground = Ground::new();
    let path = ground.at("address");
    let server = ground.neighbour(&format!("answer unix:{path} sleep 0"));
    ground.wait_for(&path);
    let script = format!("await {}\nconnect unix:{path}\nask unix:{path} recv", ground.at(GO));
    let victim = Victim::start(&ground, &script);
    hung(&ground, victim, server, ("unix_stream_read_generic", "recvfrom"))
}

/// Its child, which it asks through pipes.
fn stopped_writer() -> (Value, Truth) {
    let ground = Ground::new();
    let report = ground.at("child-report");
    let script = format!("child {report} answer_parent sleep 0\nask_child\nawait {}\nask_child", ground.at(GO));
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{}.awaited", ground.at(GO)));
    let pid = victim.pid();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let child = children.trim().parse().expect("one child");
    let (explained, truth) = hung(&ground, victim, child, ("pipe_read", "read"));
    (explained, Truth { waited_for: None, culprit: None, ..truth })
}

fn idles(pid: u32) -> (Value, Truth) {
    let recording = Recording::following(pid);
    std::thread::sleep(Duration::from_millis(700));
    let explained = recording.explained();
    (explained, Truth { tid: pid, spans: vec![(0, u64::MAX / 2)], quiet: true, ..Truth::default() })
}

/// Its client does not ask.
fn idle_server() -> (Value, Truth) {
    let ground = Ground::new();
    let (path, asked) = (ground.at("address"), ground.at("asked"));
    let server = ground.neighbour(&format!("answer unix:{path} sleep 0"));
    ground.wait_for(&path);
    ground.neighbour(&format!("connect unix:{path}\nask unix:{path} recv\nsignal {asked}\nsleep 60000"));
    ground.wait_for(&asked);
    idles(server)
}

/// Like a subscriber: it receives what its server may send one day.
fn idle_client() -> (Value, Truth) {
    let ground = Ground::new();
    let path = ground.at("address");
    ground.neighbour(&format!("answer unix:{path} sleep 0"));
    ground.wait_for(&path);
    let program = format!("[s:=__import__('socket').socket(1),s.connect('{path}'),s.recv(1)]");
    let victim = Victim::start(&ground, &format!("become python3 -c {program}"));
    ground.wait_until_in(victim.pid(), "unix_stream_read_generic");
    idles(victim.pid())
}

/// Its server has asked for a lock that another process keeps.
fn server_behind_lock() -> (Value, Truth) {
    let ground = Ground::new();
    let (path, lock, held) = (ground.at("address"), ground.at("lock"), ground.at("held"));
    std::fs::write(&lock, "").unwrap();
    ground.program("holder", &format!("open {lock}\nlock flock {lock}\nsignal {held}\nsleep 60000"));
    ground.wait_for(&held);
    ground.neighbour(&format!("open {lock}\nanswer tcp:{path} lock flock {lock}"));
    ground.wait_for(&path);
    let victim = Victim::start(&ground, &format!("connect tcp:{path}\nask tcp:{path} recv"));
    let (explained, truth) = waits_throughout(&ground, victim, "tcp_recvmsg", "recvfrom");
    (explained, Truth { waited_for: Some("holder"), culprit: Some("holder"), ..truth })
}

/// A victim that waits in that kernel function for a lock, or for a server that does, and goes on to wait.
fn waits_throughout(ground: &Ground, victim: Victim, function: &str, call: &'static str) -> (Value, Truth) {
    ground.wait_until_in(victim.pid(), function);
    let begin_ns = now_ns();
    let recording = Recording::following(victim.pid());
    std::thread::sleep(Duration::from_millis(900));
    let explained = recording.explained();
    let suffers = victim.suffers("lock", (begin_ns, now_ns()), 900_000_000);
    (explained, Truth { operation: Some(call), cut: Some(true), finished: Some(false), ..suffers })
}

/// The victim opens a FIFO for a writer that has to sleep first.
fn late_writer() -> (Value, Truth) {
    let ground = Ground::new();
    let (fifo, go) = (ground.at("fifo"), ground.at(GO));
    drop(tool("mkfifo", &[&fifo]));
    let victim = Victim::start(&ground, &format!("await {go}\nreopen {fifo}"));
    let recording = Recording::following_from(&victim, &ground, &go);
    ground.neighbour(&format!("sleep 900\nopen {fifo}"));
    ground.wait_for_neighbours();
    let truth = victim.suffered("sleep");
    (recording.explained(), Truth { operation: Some("openat"), waited_for: Some("neighbour"), ..truth })
}

fn fifo_without_writer() -> (Value, Truth) {
    lone_end_of_fifo("")
}

fn fifo_without_reader() -> (Value, Truth) {
    lone_end_of_fifo(",'w'")
}

/// No operation: nobody was asked for anything. But it is listed with what it waits for.
fn lone_end_of_fifo(mode: &str) -> (Value, Truth) {
    let ground = Ground::new();
    let fifo = ground.at("fifo");
    drop(tool("mkfifo", &[&fifo]));
    let victim = Victim::start(&ground, &format!("become python3 -c open('{fifo}'{mode})"));
    ground.wait_until_in(victim.pid(), "wait_for_partner");
    let (explained, truth) = idles(victim.pid());
    let listed = explained["sleeps"]["longest"].as_array().expect("sleeps are listed");
    let words = format!("the FIFO {fifo}, which no process has open at its other end");
    let is_it =
        |sleep: &&Value| sleep["waits_for"] == *words && sleep["throughout"] == true && sleep["call"] == "openat";
    assert!(listed.iter().any(|sleep| is_it(&sleep)), "{words} is not in {listed:#?}");
    (explained, truth)
}
