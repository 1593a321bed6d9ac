//! Who stopped a task: where a manager does so because a client asked it to, that client; where a daemon does so by
//! itself, the daemon.

mod trace_stage;

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use model::stall::StallRecord;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, connect, socket};
use rustix::process::{Pid, Signal, kill_process};
use trace_stage::{most_of_it, trace};

/// The role that a process plays, which this test started from its own program.
const ROLE: &str = "STALLSCOPE_TEST_STOPPER";
const SOCKET: &str = "STALLSCOPE_TEST_SOCKET";
const STOPPED: Duration = Duration::from_millis(200);

fn play(role: &str, socket: &Path) -> Child {
    let this = std::env::current_exe().unwrap();
    let words = ["--exact", "plays_a_role", "--nocapture"];
    Command::new(this).args(words).env(ROLE, role).env(SOCKET, socket).spawn().unwrap()
}

/// A process that runs all the time.
fn busy() -> Child {
    Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()
}

fn stop_for_a_while(victim: &Child) {
    let pid = Pid::from_child(victim);
    kill_process(pid, Signal::STOP).unwrap();
    thread::sleep(STOPPED);
    kill_process(pid, Signal::CONT).unwrap();
    thread::sleep(STOPPED / 4);
}

/// Notes the victim, and the task that has to be named.
fn end(folder: &Path, mut victim: Child, named: u32) {
    victim.kill().unwrap();
    victim.wait().unwrap();
    std::fs::write(folder.join("processes"), format!("{} {named}", victim.id())).unwrap();
}

/// Stops a process because a client says so.
fn manager(folder: &Path, client: &str) {
    let path = folder.join("manager");
    let listener = UnixListener::bind(&path).unwrap();
    let victim = busy();
    let mut asker = play(client, &path);
    let (mut connection, _) = listener.accept().unwrap();
    connection.read_exact(&mut [0]).unwrap();
    stop_for_a_while(&victim);
    connection.write_all(b"x").unwrap();
    asker.wait().unwrap();
    end(folder, victim, asker.id());
}

/// How a daemon waits for its next message.
#[derive(Clone, Copy)]
enum Waits {
    InPoll,
    InRead,
}

/// Receives a message that wants no answer, waits for the next one, which does not come, and then stops a process by
/// itself.
fn daemon(folder: &Path, waits: Waits) {
    let path = folder.join("daemon");
    let listener = UnixListener::bind(&path).unwrap();
    let victim = busy();
    let mut notifier = play("notifier", &path);
    let (mut connection, _) = listener.accept().unwrap();
    connection.read_exact(&mut [0]).unwrap();
    let wait = STOPPED / 4;
    match waits {
        Waits::InPoll => {
            let timeout = Timespec::try_from(wait).unwrap();
            let ready = poll(&mut [PollFd::new(&connection, PollFlags::IN)], Some(&timeout));
            assert_eq!(ready, Ok(0), "no second message");
        }
        Waits::InRead => {
            connection.set_read_timeout(Some(wait)).unwrap();
            connection.read(&mut [0]).unwrap_err();
        }
    }
    stop_for_a_while(&victim);
    drop(connection);
    notifier.wait().unwrap();
    end(folder, victim, rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs());
}

/// Says something, and stays connected until the daemon ends.
fn notify(mut daemon: UnixStream) {
    daemon.write_all(b"x").unwrap();
    assert_eq!(daemon.read(&mut [0]).unwrap(), 0, "an answer");
}

fn ask(mut manager: UnixStream) {
    manager.write_all(b"x").unwrap();
    manager.read_exact(&mut [0]).unwrap();
}

/// A client that gives its own end a name, as those of D-Bus do.
fn connect_with_a_name(path: &Path) -> UnixStream {
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    let name = format!("stallscope-test-{}", std::process::id());
    bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap()).unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket.into()
}

/// In the processes that the tests start.
#[test]
fn plays_a_role() {
    let path = PathBuf::from(std::env::var_os(SOCKET).unwrap_or_default());
    match std::env::var(ROLE).as_deref() {
        Ok("manager") => manager(&path, "client"),
        Ok("manager of a client with a name") => manager(&path, "client with a name"),
        Ok("daemon that polls") => daemon(&path, Waits::InPoll),
        Ok("daemon that reads") => daemon(&path, Waits::InRead),
        Ok("notifier") => notify(UnixStream::connect(path).unwrap()),
        Ok("client") => ask(UnixStream::connect(path).unwrap()),
        Ok("client with a name") => ask(connect_with_a_name(&path)),
        Ok(other) => panic!("no role {other}"),
        Err(_) => (),
    }
}

/// A stopped process waits for the task that this role says.
fn check(role: &str) {
    let folder = tempfile::tempdir().unwrap();
    let this = std::env::current_exe().unwrap();
    let command = format!(
        "{ROLE}='{role}' {SOCKET}={} exec {} --exact plays_a_role --nocapture",
        folder.path().display(),
        this.display()
    );
    let Some(seen) = trace(&most_of_it(), &command) else { return };
    let processes = std::fs::read_to_string(folder.path().join("processes")).unwrap();
    let (victim, stopper) = processes.split_once(' ').unwrap();
    let (victim, stopper): (u32, u32) = (victim.parse().unwrap(), stopper.parse().unwrap());
    let is_long = |row: &&StallRecord| row.tid == victim && row.end_ns() - row.start_ns > 150_000_000;
    let stops: Vec<_> = seen.traced.stalls.iter().filter(is_long).collect();
    let [stop] = stops[..] else { panic!("{stops:#?}") };
    assert_eq!(stop.holder_tid, Some(stopper), "{stop:#?}");
    let is_named = |tid: u32| seen.traced.tasks.iter().any(|task| task.tid == tid && !task.name.is_empty());
    assert!(is_named(stopper), "{:#?}", seen.traced.tasks);
}

#[test]
fn a_task_is_stopped_by_the_client_of_its_manager() {
    check("manager");
}

#[test]
fn a_client_that_gives_its_end_a_name_is_one() {
    check("manager of a client with a name");
}

#[test]
fn a_daemon_stops_a_task_by_itself_after_a_message_that_wants_no_answer() {
    check("daemon that polls");
    check("daemon that reads");
}
