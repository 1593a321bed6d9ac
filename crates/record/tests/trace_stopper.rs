//! Who stopped a task: where a manager does so because a client asked it to, that client.

mod trace_stage;

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use model::stall::StallRecord;
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

/// Stops a process, which runs all the time, because a client says so.
fn manager(folder: &Path, client: &str) {
    let path = folder.join("manager");
    let listener = UnixListener::bind(&path).unwrap();
    let mut victim = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let mut asker = play(client, &path);
    let (mut connection, _) = listener.accept().unwrap();
    connection.read_exact(&mut [0]).unwrap();
    let pid = Pid::from_child(&victim);
    kill_process(pid, Signal::STOP).unwrap();
    thread::sleep(STOPPED);
    kill_process(pid, Signal::CONT).unwrap();
    thread::sleep(STOPPED / 4);
    connection.write_all(b"x").unwrap();
    asker.wait().unwrap();
    victim.kill().unwrap();
    victim.wait().unwrap();
    std::fs::write(folder.join("processes"), format!("{} {}", victim.id(), asker.id())).unwrap();
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
        Ok("client") => ask(UnixStream::connect(path).unwrap()),
        Ok("client with a name") => ask(connect_with_a_name(&path)),
        Ok(other) => panic!("no role {other}"),
        Err(_) => (),
    }
}

fn stopped_by_its_client(manager: &str) {
    let folder = tempfile::tempdir().unwrap();
    let this = std::env::current_exe().unwrap();
    let command = format!(
        "{ROLE}='{manager}' {SOCKET}={} exec {} --exact plays_a_role --nocapture",
        folder.path().display(),
        this.display()
    );
    let Some(seen) = trace(&most_of_it(), &command) else { return };
    let processes = std::fs::read_to_string(folder.path().join("processes")).unwrap();
    let (victim, client) = processes.split_once(' ').unwrap();
    let (victim, client): (u32, u32) = (victim.parse().unwrap(), client.parse().unwrap());
    let is_long = |row: &&StallRecord| row.tid == victim && row.end_ns() - row.start_ns > 150_000_000;
    let stops: Vec<_> = seen.traced.stalls.iter().filter(is_long).collect();
    let [stop] = stops[..] else { panic!("{stops:#?}") };
    assert_eq!(stop.holder_tid, Some(client), "{stop:#?}");
    let is_named = |tid: u32| seen.traced.tasks.iter().any(|task| task.tid == tid && !task.name.is_empty());
    assert!(is_named(client), "{:#?}", seen.traced.tasks);
}

#[test]
fn a_task_is_stopped_by_the_client_of_its_manager() {
    stopped_by_its_client("manager");
}

#[test]
fn a_client_that_gives_its_end_a_name_is_one() {
    stopped_by_its_client("manager of a client with a name");
}
