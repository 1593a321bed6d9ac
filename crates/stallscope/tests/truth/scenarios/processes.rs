//! Waits of processes for each other: for children, semaphores, a lock that is tried again and again, a server's
//! threads.

use std::time::Duration;

use serde_json::Value;

use super::clients::slow_disk;
use super::limits::fuse;
use super::{GO, Test, recorded, sharing};
use crate::ground::{Ground, tool};
use crate::sys::{Queue, Semaphore};
use crate::victim::{ANY, Recording, Truth, Victim};

pub const TESTS: &[Test] = &[
    sharing("child_of_many_waits", &[child_of_many_waits]),
    sharing("child_that_is_listed", &[child_that_is_listed]),
    sharing("child_that_computes", &[child_that_computes]),
    sharing("thread_that_is_joined", &[joined_thread]),
    sharing("semaphore", &[semaphore]),
    sharing("semaphore_with_a_sleeping_holder", &[semaphore_of_sleeper]),
    sharing("full_queue", &[full_queue]),
    sharing("lock_that_is_tried_again", &[tries]),
    sharing("lock_that_is_tried_once", &[one_try]),
    sharing("thread_of_a_server", &[thread_of_server]),
    sharing("answer_in_many_parts", &[many_parts]),
    sharing("server_whose_child_was_stopped", &[stopped_child_of_server]),
    recorded("followed_task", followed),
    recorded("sleep_throughout_the_recording", asleep_throughout),
    recorded("thread_that_works_for_the_command", working_thread),
];

/// A parent that starts a child with that script and waits for its end, which is all that is judged: not its start.
fn parent(ground: &Ground, script: &str) -> Victim {
    let report = ground.at("child-report");
    Victim::start(ground, &format!("child {report} {script}\nawait_child"))
}

/// Each read is below the threshold; the parent's wait for all of them is not.
fn child_of_many_waits() -> Truth {
    let ground = Ground::new();
    let (file, _) = fuse(&ground, "sleep 8");
    // So many that the start of the child, which is in the parent's step, too, hardly counts.
    let script = format!("open {file};times 100;read {file} 1m 4k");
    Truth { waited_for: Some("child"), ..parent(&ground, &script).suffered(ANY) }
}

/// Its write is an operation: that its parent waited for it is not another one.
fn child_that_is_listed() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    quiet(parent(&ground, &format!("open {file} direct;write {file} 0 1m")))
}

/// Nor that another thread waited for its end (pthread_join): the launcher of a Java program does so all the time.
fn joined_thread() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    quiet(Victim::start(&ground, &format!("open {file} direct\njoin write {file} 0 1m")))
}

fn child_that_computes() -> Truth {
    quiet(parent(&Ground::new(), "think 300;sleep 300"))
}

/// Nothing is reported of its wait.
fn quiet(parent: Victim) -> Truth {
    Truth { parts: Vec::new(), quiet: true, ..parent.suffered(ANY) }
}

/// Its holder writes to a slow disk.
fn semaphore() -> Truth {
    let ground = Ground::new();
    let (lock, held, go) = (ground.at("lock"), ground.at("held"), ground.at(GO));
    let (file, semaphore) = (slow_disk(&ground).file("data"), Semaphore::new());
    std::fs::write(&lock, semaphore.set().to_string()).unwrap();
    let victim = Victim::start(&ground, &format!("open {lock}\nawait {go}\nlock semaphore {lock}"));
    ground.wait_for(&format!("{go}.awaited"));
    ground.neighbour(&format!(
        "open {file} direct\nopen {lock}\nlock semaphore {lock}\nsignal {held}\nwrite {file} 0 3m\nunlock semaphore \
         {lock}\nsleep 3000"
    ));
    ground.wait_for(&held);
    ground.go(&go);
    Truth { waited_for: Some("neighbour"), ..victim.suffered("io_throttle") }
}

fn semaphore_of_sleeper() -> Truth {
    let ground = Ground::new();
    let (lock, held, go) = (ground.at("lock"), ground.at("held"), ground.at(GO));
    let semaphore = Semaphore::new();
    std::fs::write(&lock, semaphore.set().to_string()).unwrap();
    let victim = Victim::start(&ground, &format!("open {lock}\nawait {go}\nlock semaphore {lock}"));
    ground.wait_for(&format!("{go}.awaited"));
    let holder = ground.neighbour(&format!(
        "open {lock}\nlock semaphore {lock}\nsignal {held}\nsleep 900\nunlock semaphore {lock}\nsleep 3000"
    ));
    ground.wait_for(&held);
    ground.go(&go);
    Truth { held_by: Some(holder), says: Some("asleep in"), ..victim.suffered("lock") }
}

/// Who should receive writes to a slow disk before each message.
fn full_queue() -> Truth {
    let ground = Ground::new();
    let (go, ready, queue) = (ground.at(GO), ground.at("ready"), Queue::full());
    let (file, id) = (slow_disk(&ground).file("data"), queue.id());
    let victim = Victim::start(&ground, &format!("await {go}\ntimes 3\nenqueue {id}\nsleep 50"));
    ground.wait_for(&format!("{go}.awaited"));
    ground.neighbour(&format!("open {file} direct\nawait {ready}\ntimes 8\ndequeue {id} write {file} 0 1m"));
    ground.wait_for(&format!("{ready}.awaited"));
    ground.go(&go);
    ground.go(&ready);
    let truth = victim.suffered("io_throttle");
    Truth { waited_for: Some("neighbour"), operation: Some("msgsnd"), ..truth }
}

/// As SQLite does: it sleeps between its attempts, and never waits for the lock.
fn tries() -> Truth {
    let ground = Ground::new();
    let (file, lock, go) = (slow_disk(&ground).file("data"), ground.at("lock"), ground.at(GO));
    std::fs::write(&lock, "").unwrap();
    let held = ground.at("held");
    let victim = Victim::start(&ground, &format!("open {lock}\nawait {go}\nlock tries {lock}"));
    ground.wait_for(&format!("{go}.awaited"));
    let holder = ground.neighbour(&format!(
        "open {file} direct\nopen {lock}\nlock tries {lock}\nsignal {held}\nwrite {file} 0 3m\nunlock tries \
         {lock}\nsleep 3000"
    ));
    ground.wait_for(&held);
    ground.go(&go);
    Truth { held_by: Some(holder), says: Some("file lock (fcntl)"), ..victim.suffered("lock") }
}

/// It was refused the lock, and does something else.
fn one_try() -> Truth {
    let ground = Ground::new();
    let (lock, held) = (ground.at("lock"), ground.at("held"));
    std::fs::write(&lock, "").unwrap();
    ground.neighbour(&format!("open {lock}\nlock tries {lock}\nsignal {held}\nsleep 3000"));
    ground.wait_for(&held);
    Victim::start(&ground, &format!("open {lock}\ntry {lock}\nsleep 400")).idled()
}

/// The server waits for its thread as if for work, but it owes its client an answer. The client's clock is the witness.
fn thread_of_server() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let address = format!("unix:{}", ground.at("address"));
    let server = ground.neighbour(&format!("open {file} direct\nanswer_by_thread {address} write {file} 0 1m"));
    ground.wait_for(&ground.at("address"));
    let client = Victim::start(&ground, &format!("connect {address}\ntimes 3\nask {address} recv\nsleep 50"));
    Truth { tid: server, name: Some("neighbour"), waited_for: Some("neighbour"), ..client.suffered("io_throttle") }
}

/// The wait for each part of the answer is below the threshold; that for the whole answer is not.
fn many_parts() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let address = super::clients::server(
        &ground,
        "unix",
        &format!("open {file} direct\nanswer_in_parts 20 ADDRESS write {file} 0 64k"),
    );
    let victim = Victim::start(&ground, &format!("connect {address}\ntimes 2\nask_for_parts 20 {address}\nsleep 50"));
    Truth { waited_for: Some("neighbour"), ..victim.suffered("io_throttle") }
}

/// A server that asks its child by pipes, and that a signal wakes when the child goes on.
const SERVER_WITH_CHILD: &str = "
import os, signal, socket, subprocess, sys
signal.signal(signal.SIGCHLD, lambda *arguments: None)
child = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
open(sys.argv[2], 'w').write(str(child.pid))
os.rename(sys.argv[2], sys.argv[2] + '.ready')
client = listener.accept()[0]
while message := client.recv(8):
    child.stdin.write(message)
    client.send(child.stdout.read(8))";

fn stopped_child_of_server() -> Truth {
    let ground = Ground::new();
    let (address, script, pid, go) = (ground.at("address"), ground.at("server.py"), ground.at("pid"), ground.at(GO));
    std::fs::write(&script, SERVER_WITH_CHILD).unwrap();
    ground.neighbour(&format!("become python3 {script} {address} {pid}"));
    ground.wait_for(&format!("{pid}.ready"));
    let child = std::fs::read_to_string(format!("{pid}.ready")).unwrap();
    let ask = format!("ask unix:{address} recv");
    let victim = Victim::start(&ground, &format!("connect unix:{address}\n{ask}\nawait {go}\n{ask}"));
    ground.wait_for(&format!("{go}.awaited"));
    drop(tool("kill", &["-STOP", &child]));
    ground.go(&go);
    std::thread::sleep(Duration::from_millis(700));
    drop(tool("kill", &["-CONT", &child]));
    Truth { waited_for: Some("cat"), stopped_by: Some("kill"), ..victim.suffered("stopped") }
}

/// A pool: the main thread waits for what it gave a thread to do.
fn working_thread() -> (Value, Truth) {
    let ground = Ground::new();
    let (file, go) = (slow_disk(&ground).file("data"), ground.at(GO));
    let script = format!("open {file} direct\nawait {go}\ntimes 3\nby_thread write {file} 0 1m\nsleep 50");
    let victim = Victim::start(&ground, &script);
    let recording = Recording::following_from(&victim, &ground, &go);
    let truth = victim.suffered("io_throttle");
    (recording.explained(), Truth { operation: Some("futex"), ..truth })
}

/// A thread that waits for work is no stall, but all sleeps of a followed task are listed, with the tasks that ended
/// them.
fn followed() -> (Value, Truth) {
    let ground = Ground::new();
    let worker = ground.at("worker");
    let pid = ground.neighbour(&format!("hand_out {worker} 1000 sleep 300"));
    ground.wait_for(&worker);
    let recording = Recording::following(pid);
    std::thread::sleep(Duration::from_millis(1500));
    let explained = recording.explained();
    let tid: u32 = std::fs::read_to_string(&worker).unwrap().parse().unwrap();
    let (thread, waker) = (format!("neighbour/{tid}"), format!("neighbour/{pid}"));
    let sleeps = explained["sleeps"]["longest"].as_array().expect("sleeps are listed");
    let is_known = |sleep: &&Value| {
        sleep["task"] == *thread && sleep["call"] == "futex" && sleep["waker"] == *waker && sleep["stack"].is_string()
    };
    assert!(sleeps.iter().any(|sleep| is_known(&sleep)), "{thread} is not among {sleeps:#?}");
    (explained, Truth { tid, spans: vec![(0, u64::MAX / 2)], quiet: true, ..Truth::default() })
}

/// Who holds it sleeps all the while, too: nothing wakes anybody.
fn asleep_throughout() -> (Value, Truth) {
    let ground = Ground::new();
    let (lock, held, asking, semaphore) = (ground.at("lock"), ground.at("held"), ground.at("asking"), Semaphore::new());
    std::fs::write(&lock, semaphore.set().to_string()).unwrap();
    let holder = ground.neighbour(&format!("open {lock}\nlock semaphore {lock}\nsignal {held}\nsleep 60000"));
    ground.wait_for(&held);
    let tid = ground.neighbour(&format!("open {lock}\nsignal {asking}\nlock semaphore {lock}"));
    ground.wait_for(&asking);
    ground.wait_until_in(tid, "semtimedop");
    let recording = Recording::following(tid);
    std::thread::sleep(Duration::from_millis(600));
    let explained = recording.explained();
    let sleeps = explained["sleeps"]["longest"].as_array().expect("sleeps are listed");
    let (task, holder) = (format!("neighbour/{tid}"), format!("neighbour/{holder}"));
    let is_it = |sleep: &&Value| {
        let is_listed = sleep["task"] == *task && sleep["waits_for"] == "a System V semaphore";
        is_listed && sleep["throughout"] == true && sleep["hangs"] == true && sleep["other_ends"][0]["task"] == *holder
    };
    assert!(sleeps.iter().any(|sleep| is_it(&sleep)), "{task} is not among {sleeps:#?}");
    (explained, Truth { tid, spans: vec![(0, u64::MAX / 2)], quiet: true, ..Truth::default() })
}
