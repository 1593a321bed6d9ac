//! Clients that wait for a server, and locks of user space.

use serde_json::Value;

use super::{GO, Test, alone, recorded, sharing};
use crate::ground::{Disk, Ground};
use crate::victim::{Recording, Truth, Victim};

pub const TESTS: &[Test] = &[
    sharing("unix_client", &[unix_client]),
    sharing("tcp_client_polls", &[tcp_client]),
    sharing("event_loop_client", &[event_loop_client]),
    sharing("client_of_datagrams", &[client_of_datagrams]),
    sharing("connected_client_of_datagrams", &[connected_client_of_datagrams]),
    sharing("datagrams_without_answers", &[datagrams_without_answers]),
    alone("client_with_a_timer", &[client_with_a_timer]),
    sharing("pipe_client", &[pipe_client]),
    sharing("request_of_another_thread", &[asked_by_thread_unix]),
    sharing("request_of_another_thread_to_a_pool", &[asked_by_thread_tcp]),
    sharing("answer_in_two", &[answer_in_two]),
    sharing("answer_in_two_polls", &[answer_in_two_polls]),
    sharing("full_pipe", &[full_pipe]),
    recorded("busy_reader_of_the_command", busy_reader),
    recorded("sleeping_reader_of_the_command", sleeping_reader),
    alone("answer_by_interrupt", &[answer_by_interrupt]),
    sharing("full_backlog", &[full_backlog]),
    sharing("greeting", &[greeting_unix]),
    sharing("greeting_polled", &[greeting_tcp]),
    sharing("thread_pool", &[thread_pool]),
    sharing("two_servers", &[two_servers]),
    sharing("proxy", &[proxy]),
    sharing("thinking_server", &[thinking_server]),
    sharing("row_of_a_database", &[row_lock]),
    sharing("row_waited_for_in_slices", &[row_lock_in_slices]),
    sharing("row_of_a_client_that_leaves", &[row_of_a_client_that_leaves]),
    recorded("statement_from_before_the_recording", old_statement),
    recorded("sleeping_server_of_the_command", sleeping_server_of_command),
    sharing("flock", &[flock]),
    sharing("posix_lock", &[posix_lock]),
    sharing("description_lock", &[description_lock]),
    sharing("lease", &[lease]),
    sharing("futex_of_processes", &[futex]),
    sharing("idle_server", &[idle_server]),
    sharing("sleeping_server", &[sleeping_server]),
    sharing("idle_pipes", &[idle_pipes]),
    sharing("idle_fifo", &[idle_fifo]),
];

/// A disk on which direct writes of 1 MiB take half a second.
pub(super) fn slow_disk(ground: &Ground) -> Disk {
    let disk = ground.ext4(64);
    ground.slow(&disk, "write_bps", 2 << 20);
    disk
}

/// Starts that server, and returns its address.
pub(super) fn server(ground: &Ground, kind: &str, script: &str) -> String {
    static MADE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let path = ground.at(&format!("address-{}", MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed)));
    let address = format!("{kind}:{path}");
    ground.neighbour(&script.replace("ADDRESS", &address));
    ground.wait_for(&path);
    address
}

/// A client that asks three times, and waits in that call.
fn client(ground: &Ground, address: &str, how: &str) -> Victim {
    Victim::start(ground, &format!("connect {address}\ntimes 3\nask {address} {how}\nsleep 50"))
}

fn unix_client() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let address = server(&ground, "unix", &format!("open {file} direct\nanswer ADDRESS write {file} 0 1m"));
    Truth { waited_for: Some("neighbour"), ..client(&ground, &address, "recv").suffered("io_throttle") }
}

fn tcp_client() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let address = server(&ground, "tcp", &format!("open {file} direct\nanswer ADDRESS write {file} 0 1m"));
    Truth { waited_for: Some("neighbour"), ..client(&ground, &address, "poll").suffered("io_throttle") }
}

fn event_loop_client() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let address = server(&ground, "unix", &format!("open {file} direct\nanswer ADDRESS write {file} 0 1m"));
    Truth { waited_for: Some("neighbour"), ..client(&ground, &address, "epoll").suffered("io_throttle") }
}

/// It sends to an address (DNS, by `sendto`), and waits in a `recv`.
fn client_of_datagrams() -> Truth {
    asks_by_datagrams("udp", "recv")
}

/// Its socket is connected, and in an event loop.
fn connected_client_of_datagrams() -> Truth {
    asks_by_datagrams("connected_udp", "epoll")
}

fn asks_by_datagrams(kind: &str, how: &str) -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let script = format!("open {file} direct\nanswer_datagrams ADDRESS write {file} 0 1m");
    let address = server(&ground, kind, &script);
    Truth { waited_for: Some("neighbour"), ..client(&ground, &address, how).suffered("io_throttle") }
}

/// A server reports each request by a datagram (statsd), and waits for the next one, which comes after a wait of its
/// client for the disk.
fn datagrams_without_answers() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let (path, reports) = (ground.at("address"), server(&ground, "udp", "swallow_datagrams 3 ADDRESS"));
    let victim = Victim::start(&ground, &format!("connect {reports}\nanswer unix:{path} report {reports}"));
    ground.wait_for(&path);
    ground.neighbour(&format!(
        "open {file} direct\nconnect unix:{path}\ntimes 3\nwrite {file} 0 1m\nask unix:{path} recv"
    ));
    ground.wait_for_neighbours();
    victim.idled()
}

/// Its timer cuts its waits (curl, drivers), and interrupts programs that read.
fn client_with_a_timer() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let address = server(&ground, "tcp", &format!("open {file} direct\nanswer ADDRESS write {file} 0 1m"));
    for _ in 0..2 {
        ground.neighbour("open /dev/zero\nnice 19\nforever\nreadon /dev/zero 8m");
    }
    Truth { waited_for: Some("neighbour"), ..client(&ground, &address, "slices").suffered("io_throttle") }
}

/// The child's script is one line, because it is a step of the victim's.
fn pipe_client() -> Truth {
    let ground = Ground::new();
    let (file, report) = (slow_disk(&ground).file("data"), ground.at("child-report"));
    let script = format!(
        "open {file} direct\nchild {report} answer_parent write {file} 0 1m\nsleep 200\ntimes 3\nask_child\nsleep 50"
    );
    let victim = Victim::start(&ground, &script);
    Truth { waited_for: Some("child"), ..victim.suffered("io_throttle") }
}

/// One thread sends the request, another one waits for the answer (Go, asynchronous runtimes).
fn asked_by_thread_unix() -> Truth {
    asked_by_thread("unix", "answer")
}

/// Of the server's threads, too, one receives the request and another one works for it.
fn asked_by_thread_tcp() -> Truth {
    asked_by_thread("tcp", "answer_with_pool")
}

fn asked_by_thread(kind: &str, answer: &str) -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let address = server(&ground, kind, &format!("open {file} direct\n{answer} ADDRESS write {file} 0 1m"));
    let victim =
        Victim::start(&ground, &format!("connect_by_thread {address}\ntimes 3\nask_by_thread {address}\nsleep 50"));
    Truth { waited_for: Some("neighbour"), operation: Some("server_request"), ..victim.suffered("io_throttle") }
}

/// The first part of the answer comes at once: the second one waits for the disk.
fn answer_in_two() -> Truth {
    in_two("recv")
}

fn answer_in_two_polls() -> Truth {
    in_two("epoll")
}

fn in_two(how: &str) -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let address = server(&ground, "unix", &format!("open {file} direct\nanswer_in_two ADDRESS write {file} 0 1m"));
    let victim = Victim::start(&ground, &format!("connect {address}\ntimes 3\nask_for_two {address} {how}\nsleep 50"));
    Truth { waited_for: Some("neighbour"), ..victim.suffered("io_throttle") }
}

/// Its child reads a pipeful, and then writes to a slow disk.
fn full_pipe() -> Truth {
    let ground = Ground::new();
    let (file, report) = (slow_disk(&ground).file("data"), ground.at("child-report"));
    let script = format!(
        "open {file} direct\nrealtime\nchild {report} drain_parent write {file} 0 1m\nsleep 200\ntimes 2\nfill_child 3"
    );
    let victim = Victim::start(&ground, &script);
    Truth { waited_for: Some("child"), ..victim.suffered("io_throttle") }
}

/// The server accepts no connection before it has written.
fn full_backlog() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let address = server(&ground, "unix", &format!("open {file} direct\nadmit ADDRESS write {file} 0 1m"));
    let victim = Victim::start(&ground, &format!("times 5\nreconnect {address}"));
    Truth { waited_for: Some("neighbour"), operation: Some("connect"), ..victim.suffered("io_throttle") }
}

/// The server speaks first (SMTP, MariaDB), after it has written.
fn greeting_unix() -> Truth {
    greeting("unix", "recv")
}

fn greeting_tcp() -> Truth {
    greeting("tcp", "poll")
}

fn greeting(kind: &str, how: &str) -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let address = server(&ground, kind, &format!("open {file} direct\ngreet ADDRESS write {file} 0 1m"));
    let victim = Victim::start(&ground, &format!("times 3\nmeet {address} {how}\nsleep 50"));
    Truth { waited_for: Some("neighbour"), ..victim.suffered("io_throttle") }
}

/// Each wait for the reader is short; the call, which writes many pipefuls, is not.
fn busy_reader() -> (Value, Truth) {
    let (explained, truth) = reader("think 15", 30);
    (explained, Truth { waited_for: Some("child"), culprit: Some("child"), ..truth.because("running") })
}

fn sleeping_reader() -> (Value, Truth) {
    let (explained, truth) = reader("sleep 300", 4);
    (explained, Truth { waited_for: Some("child"), says: Some("asleep in"), ..truth.because("sleep") })
}

/// That many pipefuls are written to a child that does that for each.
fn reader(work: &str, pipefuls: u32) -> (Value, Truth) {
    let ground = Ground::new();
    let (report, go) = (ground.at("child-report"), ground.at(GO));
    let script = format!("realtime\nchild {report} drain_parent {work}\nawait {go}\ntimes 2\nfill_child {pipefuls}");
    let victim = Victim::start(&ground, &script);
    let recording = Recording::following_from(&victim, &ground, &go);
    let truth = victim.suffered("running");
    (recording.explained(), Truth { operation: Some("write"), ..truth })
}

/// Another CPU receives the answer: who is interrupted there wakes the client, and did not send it.
fn answer_by_interrupt() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let steering = "/sys/class/net/lo/queues/rx-0/rps_cpus";
    if std::fs::exists(steering).unwrap() {
        ground.set(steering, "1");
    }
    let address = server(&ground, "tcp", &format!("open {file} direct\npin\nanswer ADDRESS write {file} 0 1m"));
    Truth { waited_for: Some("neighbour"), ..client(&ground, &address, "recv").suffered("io_throttle") }
}

/// The event loop that answers has no work of its own: one of its threads does it.
fn thread_pool() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let address = server(&ground, "tcp", &format!("open {file} direct\nanswer_with_pool ADDRESS write {file} 0 1m"));
    Truth { waited_for: Some("neighbour"), ..client(&ground, &address, "recv").suffered("io_throttle") }
}

fn two_servers() -> Truth {
    behind_another("unix", |last| format!("connect {last}\nanswer ADDRESS ask {last} recv"), "poll")
}

/// Its immediate server idles in an event loop.
fn proxy() -> Truth {
    behind_another("tcp", |last| format!("forward ADDRESS {last}"), "epoll")
}

/// A client of a server that asks another one, whose disk is slow.
fn behind_another(kind: &str, first: impl Fn(&str) -> String, how: &str) -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let last = server(&ground, kind, &format!("open {file} direct\nanswer ADDRESS write {file} 0 1m"));
    let first = server(&ground, "tcp", &first(&last));
    Truth { waited_for: Some("neighbour"), ..client(&ground, &first, how).suffered("io_throttle") }
}

/// No storage is involved, but the client waited.
fn thinking_server() -> Truth {
    let ground = Ground::new();
    let address = server(&ground, "unix", "realtime\nanswer ADDRESS think 300");
    let truth = client(&ground, &address, "recv").suffered("running");
    Truth { waited_for: Some("neighbour"), culprit: Some("neighbour"), ..truth }
}

/// A victim waits for a lock that a neighbour holds while it writes to a slow disk.
fn lock(how: &'static str) -> Truth {
    let ground = Ground::new();
    let (file, lock, go) = (slow_disk(&ground).file("data"), ground.at("lock"), ground.at(GO));
    std::fs::write(&lock, [0; 4096]).unwrap();
    let held = ground.at("held");
    let victim = Victim::start(&ground, &format!("open {lock}\nawait {go}\nlock {how} {lock}"));
    ground.wait_for(&format!("{go}.awaited"));
    ground.neighbour(&format!(
        "open {file} direct\nopen {lock}\nlock {how} {lock}\nsignal {held}\nwrite {file} 0 3m\nunlock {how} \
         {lock}\nsleep 3000"
    ));
    ground.wait_for(&held);
    ground.go(&go);
    let cause = if how == "futex" { "io_throttle" } else { "lock" };
    Truth { waited_for: Some("neighbour"), ..victim.suffered(cause) }
}

fn flock() -> Truth {
    lock("flock")
}

fn posix_lock() -> Truth {
    lock("posix")
}

fn description_lock() -> Truth {
    lock("description")
}

fn futex() -> Truth {
    lock("futex")
}

/// Another program cannot open a file until its lease is given back.
fn lease() -> Truth {
    let ground = Ground::new();
    let (file, leased, go) = (slow_disk(&ground).file("data"), ground.at("leased"), ground.at(GO));
    std::fs::write(&leased, "").unwrap();
    let held = ground.at("held");
    let victim = Victim::start(&ground, &format!("await {go}\nresize {leased} 0"));
    ground.wait_for(&format!("{go}.awaited"));
    ground.neighbour(&format!(
        "open {file} direct\nopen {leased}\nlock lease {leased}\nsignal {held}\nwrite {file} 0 3m\nunlock lease \
         {leased}\nsleep 3000"
    ));
    ground.wait_for(&held);
    ground.go(&go);
    Truth { waited_for: Some("neighbour"), ..victim.suffered("lock") }
}

/// A server waits for requests of a client that writes to a slow disk before each.
fn idle_server() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let path = ground.at("address");
    let victim = Victim::start(&ground, &format!("answer unix:{path} sleep 1"));
    ground.wait_for(&path);
    ground.neighbour(&format!(
        "open {file} direct\nconnect unix:{path}\ntimes 3\nwrite {file} 0 1m\nask unix:{path} recv"
    ));
    ground.wait_for_neighbours();
    victim.idled()
}

/// The server sleeps on a timer: its client waits for no stall.
fn sleeping_server() -> Truth {
    let ground = Ground::new();
    let address = server(&ground, "unix", "answer ADDRESS sleep 300");
    client(&ground, &address, "poll").idled()
}

/// The recorded command waited all the same, and has to know whom for.
fn sleeping_server_of_command() -> (Value, Truth) {
    let ground = Ground::new();
    let (address, go) = (server(&ground, "unix", "answer ADDRESS sleep 300"), ground.at(GO));
    let script = format!("connect {address}\nawait {go}\ntimes 3\nask {address} poll\nsleep 50");
    let victim = Victim::start(&ground, &script);
    let recording = Recording::following_from(&victim, &ground, &go);
    let truth = victim.suffered("sleep");
    (recording.explained(), Truth { waited_for: Some("neighbour"), says: Some("asleep in"), ..truth })
}

/// The server's thread waits for a condition that the thread of another client brings about, which idles in between
/// (InnoDB).
fn row_lock() -> Truth {
    row(60_000, "ask ADDRESS recv")
}

/// In between, it wakes up by a timer and waits again (metadata locks of MariaDB: each second).
fn row_lock_in_slices() -> Truth {
    row(550, "ask ADDRESS recv")
}

/// The lock is that of a connection (`GET_LOCK`).
fn row_of_a_client_that_leaves() -> Truth {
    row(60_000, "disconnect ADDRESS")
}

fn row(patience_ms: u32, give_back: &str) -> Truth {
    let ground = Ground::new();
    let (held, go) = (ground.at("held"), ground.at(GO));
    let address = server(&ground, "unix", &format!("answer_rows ADDRESS {patience_ms}"));
    let victim = Victim::start(&ground, &format!("connect {address}\nawait {go}\nask {address} recv"));
    ground.wait_for(&format!("{go}.awaited"));
    let give_back = give_back.replace("ADDRESS", &address);
    ground.neighbour(&format!(
        "connect {address}\nask {address} recv\nsignal {held}\nsleep 900\n{give_back}\nsleep 3000"
    ));
    ground.wait_for(&held);
    ground.go(&go);
    Truth { waited_for: Some("neighbour"), ..victim.suffered("lock") }
}

/// Others wait for a statement that its client sent before the recording (ALTER TABLE of MariaDB).
fn old_statement() -> (Value, Truth) {
    let ground = Ground::new();
    let (release, go) = (ground.at("release"), ground.at(GO));
    let address = server(&ground, "unix", &format!("answer_in_turn ADDRESS await {release}"));
    ground.neighbour(&format!("connect {address}\nask {address} recv"));
    ground.wait_for(&format!("{release}.awaited"));
    let victim = Victim::start(&ground, &format!("connect {address}\nawait {go}\nask {address} recv"));
    ground.wait_for(&format!("{go}.awaited"));
    let recording = Recording::start();
    ground.go(&go);
    std::thread::sleep(std::time::Duration::from_millis(900));
    ground.go(&release);
    let truth = victim.suffered("lock");
    (recording.explained(), Truth { waited_for: Some("neighbour"), ..truth })
}

/// What a command writes after it has waited for its disk: who reads it asked for nothing.
fn idle_pipes() -> Truth {
    let ground = Ground::new();
    let file = slow_disk(&ground).file("data");
    let command = format!(
        "for i in 1 2; do dd if=/dev/zero of={file} bs=1M count=1 oflag=direct conv=notrunc 2>/dev/null; echo $i; done \
         | cat | cat"
    );
    Victim::start(&ground, &format!("shell {command}")).idled()
}

fn idle_fifo() -> Truth {
    let ground = Ground::new();
    let (file, fifo) = (slow_disk(&ground).file("data"), ground.at("fifo"));
    let command = format!(
        "mkfifo {fifo}; (dd if=/dev/zero of={file} bs=1M count=1 oflag=direct 2>/dev/null; echo done > {fifo}) & read \
         x < {fifo}"
    );
    Victim::start(&ground, &format!("shell {command}")).idled()
}
