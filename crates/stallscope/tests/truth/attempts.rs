//! What a program tries again until it succeeds.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

/// Shorter than a slow operation.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(25);

/// Sleeps between attempts that fail because another task has not acted yet.
pub fn until<T>(attempt: impl Fn() -> io::Result<T>) {
    let fails = |error: &io::Error| {
        matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::ConnectionRefused | ErrorKind::NotFound)
    };
    while let Err(error) = attempt() {
        assert!(fails(&error), "{error}");
        std::thread::sleep(BETWEEN_ATTEMPTS);
    }
}

/// Makes a folder if it is missing (`mkdir -p`).
pub fn ensure_folder(path: &str) {
    let made = std::fs::create_dir(path);
    assert!(made.is_ok() || made.is_err_and(|error| error.kind() == ErrorKind::AlreadyExists));
}

/// Connects to `unix:PATH` or `port:NUMBER` as soon as somebody listens there.
pub fn reach(address: &str) {
    match at(address) {
        Address::Path(path) => until(|| UnixStream::connect(path)),
        Address::Port(port) => until(|| TcpStream::connect(("127.0.0.1", port))),
    }
}

/// Listens there, and accepts one connection.
pub fn accept_one(address: &str) {
    match at(address) {
        Address::Path(path) => drop(UnixListener::bind(path).unwrap().accept().unwrap()),
        Address::Port(port) => drop(TcpListener::bind(("127.0.0.1", port)).unwrap().accept().unwrap()),
    }
}

enum Address<'a> {
    Path(&'a str),
    Port(u16),
}

fn at(address: &str) -> Address<'_> {
    match address.split_once(':').expect("KIND:ADDRESS") {
        ("port", number) => Address::Port(number.parse().unwrap()),
        (_, path) => Address::Path(path),
    }
}
