//! Steps of actors that talk to each other: servers and their clients, through sockets and pipes.
//!
//! An address is `unix:PATH` or `tcp:PATH`; a server writes the port of the latter to that file.

use std::collections::HashMap;
use std::fs;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, epoll, poll};

use crate::datagrams::Datagrams;
use crate::sys;

/// After which a client looks up.
const SLICE: rustix::time::Timespec = rustix::time::Timespec { tv_sec: 0, tv_nsec: 30_000_000 };
/// What a pipe holds.
const PIPE_BYTES: usize = 64 << 10;

/// A connection to a server, or from a client.
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
    Udp(Datagrams),
}

impl Stream {
    fn to(address: &str) -> Stream {
        let (kind, path) = address.split_once(':').expect("KIND:PATH");
        if kind == "unix" {
            return Stream::Unix(UnixStream::connect(path).unwrap());
        }
        if kind.ends_with("udp") {
            return Stream::Udp(Datagrams::to(path, kind == "connected_udp"));
        }
        let port: u16 = fs::read_to_string(path).unwrap().parse().unwrap();
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        Stream::Tcp(stream)
    }

    fn duplicate(&self) -> Stream {
        match self {
            Stream::Unix(stream) => Stream::Unix(stream.try_clone().unwrap()),
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone().unwrap()),
            Stream::Udp(socket) => Stream::Udp(socket.duplicate()),
        }
    }

    /// Sends a message.
    fn send(&mut self) {
        match self {
            Stream::Unix(stream) => stream.write_all(b"message!").unwrap(),
            Stream::Tcp(stream) => stream.write_all(b"message!").unwrap(),
            Stream::Udp(socket) => socket.send(),
        }
    }

    /// Receives one; `false` at the end of the connection.
    fn receive(&mut self) -> bool {
        let mut message = [0; 8];
        match self {
            Stream::Unix(stream) => stream.read_exact(&mut message).is_ok(),
            Stream::Tcp(stream) => stream.read_exact(&mut message).is_ok(),
            Stream::Udp(socket) => socket.receive(),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Udp(socket) => socket.as_fd(),
        }
    }
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    fn at(address: &str) -> Listener {
        let (kind, path) = address.split_once(':').expect("KIND:PATH");
        let new = format!("{path}.new");
        if kind == "unix" {
            // A socket refuses clients between its bind and its listen.
            let listener = UnixListener::bind(&new).unwrap();
            fs::rename(&new, path).unwrap();
            return Listener::Unix(listener);
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        fs::write(&new, port.to_string()).unwrap();
        fs::rename(&new, path).unwrap();
        Listener::Tcp(listener)
    }

    fn accept(&self) -> Stream {
        match self {
            Listener::Unix(listener) => Stream::Unix(listener.accept().unwrap().0),
            Listener::Tcp(listener) => {
                let stream = listener.accept().unwrap().0;
                stream.set_nodelay(true).unwrap();
                Stream::Tcp(stream)
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(listener) => listener.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// The connections of a client, and its child that is a server.
#[derive(Default)]
pub struct Client {
    connections: HashMap<String, Stream>,
    child: Option<(Child, ChildStdin, ChildStdout)>,
}

impl Client {
    pub fn connect(&mut self, address: &str) {
        self.connections.insert(address.to_owned(), Stream::to(address));
    }

    /// By a thread that ends. A thread that connects and then waits is one that waits for the server, also where
    /// another one asks it.
    pub fn connect_by_thread(&mut self, address: &str) {
        let stream = std::thread::scope(|scope| scope.spawn(|| Stream::to(address)).join());
        self.connections.insert(address.to_owned(), stream.expect("the thread connects"));
    }

    /// Connects to a server that speaks first.
    pub fn meet(&mut self, address: &str, how: &str) {
        let mut stream = Stream::to(address);
        wait(&stream, how);
        assert!(stream.receive(), "the server is gone");
    }

    pub fn disconnect(&mut self, address: &str) {
        self.connections.remove(address).expect("it is connected");
    }

    /// Sends a request and waits for its answer.
    pub fn ask(&mut self, address: &str, how: &str) {
        let stream = self.connections.get_mut(address).expect("it is connected");
        stream.send();
        wait(stream, how);
        assert!(stream.receive(), "the server is gone");
    }

    /// Sends something that has no answer.
    pub fn report(&mut self, address: &str) {
        self.connections.get_mut(address).expect("it is connected").send();
    }

    /// Sends a request and waits for an answer of two messages.
    pub fn ask_for_two(&mut self, address: &str, how: &str) {
        self.ask(address, "recv");
        let stream = self.connections.get_mut(address).expect("it is connected");
        wait(stream, how);
        assert!(stream.receive(), "the server is gone");
    }

    /// Another thread sends the request.
    pub fn ask_by_thread(&mut self, address: &str) {
        let stream = self.connections.get_mut(address).expect("it is connected");
        let mut sender = stream.duplicate();
        std::thread::scope(|scope| drop(scope.spawn(move || sender.send())));
        assert!(stream.receive(), "the server is gone");
    }

    /// Sends a request and receives an answer of that many messages.
    pub fn ask_for_parts(&mut self, address: &str, parts: u32) {
        let stream = self.connections.get_mut(address).expect("it is connected");
        stream.send();
        (0..parts).for_each(|_| assert!(stream.receive(), "the server is gone"));
    }

    /// Starts a child that reads from a pipe and may answer through another one.
    pub fn start_child(&mut self, report: &str, script: &str) {
        let mut command = crate::ground::actor("child", report, script);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let pipes = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        self.child = Some((child, pipes.0, pipes.1));
    }

    /// So many times what a pipe holds.
    pub fn fill_child(&mut self, times: usize) {
        let (_, input, _) = self.child.as_mut().expect("it has a child");
        input.write_all(&vec![0; times * PIPE_BYTES]).unwrap();
    }

    pub fn await_child(&mut self) {
        let (child, ..) = self.child.as_mut().expect("it has a child");
        assert!(child.wait().unwrap().success(), "the child failed");
    }

    pub fn ask_child(&mut self) {
        let (_, input, output) = self.child.as_mut().expect("it has a child");
        input.write_all(b"message!").unwrap();
        output.read_exact(&mut [0; 8]).unwrap();
    }
}

fn wait(stream: &Stream, how: &str) {
    match how {
        "recv" => (),
        "poll" => drop(poll(&mut [PollFd::new(stream, PollFlags::IN)], None).unwrap()),
        "slices" => while poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&SLICE)).unwrap() == 0 {},
        "epoll" => {
            let set = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
            epoll::add(&set, stream, epoll::EventData::new_u64(0), epoll::EventFlags::IN).unwrap();
            let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }];
            epoll::wait(&set, &mut events, None).unwrap();
        }
        how => panic!("no such way to wait: {how}"),
    }
}

/// Does the work for each request, in an event loop, until the actor is killed. `parts`: of an answer; the work
/// precedes the last.
pub fn serve(address: &str, parts: u32, mut work: impl FnMut()) {
    answer_each(address, |client| {
        (1..parts).for_each(|_| client.send());
        work();
        client.send();
    });
}

/// Does the work before it accepts each connection; one more may wait.
pub fn admit_slowly(address: &str, mut work: impl FnMut()) {
    let listener = Listener::at(address);
    sys::let_one_wait(&listener.as_fd());
    loop {
        work();
        drop(listener.accept());
    }
}

/// Speaks first, after the work, to each client.
pub fn greet(address: &str, mut work: impl FnMut()) {
    let listener = Listener::at(address);
    loop {
        let mut client = listener.accept();
        work();
        client.send();
    }
}

/// The work precedes every part.
pub fn serve_slowly(address: &str, parts: u32, mut work: impl FnMut()) {
    answer_each(address, |client| {
        for _ in 0..parts {
            work();
            client.send();
        }
    });
}

fn answer_each(address: &str, mut answer: impl FnMut(&mut Stream)) {
    let listener = Listener::at(address);
    let mut connections: Vec<Stream> = Vec::new();
    loop {
        for ready in ready(&listener, &connections, None) {
            match ready.checked_sub(1) {
                None => connections.push(listener.accept()),
                Some(at) if connections[at].receive() => answer(&mut connections[at]),
                Some(at) => {
                    connections.remove(at);
                    break;
                }
            }
        }
    }
}

/// The same by a thread, which the server waits for.
pub fn serve_by_thread(address: &str, work: impl FnMut() + Send) {
    with_worker(work, |done| serve(address, 1, done));
}

/// Beside a thread that does the work each time it is asked to, and says when it is done.
fn with_worker(mut work: impl FnMut() + Send, user: impl FnOnce(&mut dyn FnMut())) {
    let ((request, requests), (done, finished)) = (channel(), channel());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while requests.recv().is_ok() {
                work();
                done.send(()).unwrap();
            }
        });
        user(&mut || {
            request.send(()).unwrap();
            finished.recv().unwrap();
        });
        drop(request);
    });
}

/// The same with worker threads: the event loop hands requests to them, is woken through a pipe, and answers.
pub fn serve_with_pool<Work: FnMut()>(address: &str, worker: impl Fn(u32) -> Work + Sync) {
    let listener = Listener::at(address);
    let (requests, waiting) = channel();
    let (done, finished) = std::io::pipe().unwrap();
    let (waiting, worker) = (Arc::new(Mutex::new(waiting)), &worker);
    std::thread::scope(|scope| {
        for number in 1..3 {
            let (waiting, finished) = (waiting.clone(), finished.try_clone().unwrap());
            scope.spawn(move || work_on(&waiting, finished, worker(number)));
        }
        hand_over(&listener, &requests, done);
    });
}

fn work_on(waiting: &Mutex<Receiver<u8>>, mut finished: PipeWriter, mut work: impl FnMut()) {
    loop {
        let Ok(request) = waiting.lock().unwrap().recv() else { return };
        work();
        finished.write_all(&[request]).unwrap();
    }
}

fn hand_over(listener: &Listener, requests: &Sender<u8>, mut done: PipeReader) {
    let mut connections: Vec<Stream> = Vec::new();
    loop {
        for ready in ready(listener, &connections, Some(&done)) {
            if ready == 0 {
                connections.push(listener.accept());
            } else if ready > connections.len() {
                let mut which = [0];
                done.read_exact(&mut which).unwrap();
                connections[usize::from(which[0])].send();
            } else if connections[ready - 1].receive() {
                requests.send(ready as u8 - 1).unwrap();
            } else {
                return;
            }
        }
    }
}

/// 0: the listener; then the connections; then the pipe.
fn ready(listener: &Listener, connections: &[Stream], pipe: Option<&PipeReader>) -> Vec<usize> {
    let mut all = vec![PollFd::new(listener, PollFlags::IN)];
    all.extend(connections.iter().map(|stream| PollFd::new(stream, PollFlags::IN)));
    all.extend(pipe.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    poll(&mut all, None).unwrap();
    (0..all.len()).filter(|&at| !all[at].revents().is_empty()).collect()
}

/// Reads from standard input, and works after each pipeful.
pub fn drain_parent(mut work: impl FnMut()) {
    let mut bytes = vec![0; PIPE_BYTES];
    while std::io::stdin().read_exact(&mut bytes).is_ok() {
        work();
    }
}

/// A database of one row, with a thread for each client: what a client sends first takes the row, what it sends next,
/// or that it leaves, gives it back. Who waits for the row looks for deadlocks each time that its patience ends.
pub fn serve_rows(address: &str, patience: Duration) -> ! {
    let listener = Listener::at(address);
    let row = Arc::new((Mutex::new(false), Condvar::new()));
    loop {
        let (mut client, row) = (listener.accept(), row.clone());
        std::thread::spawn(move || {
            for has_row in [false, true].into_iter().cycle() {
                let stays = client.receive();
                if !stays && !has_row {
                    return;
                }
                let mut is_taken = row.0.lock().unwrap();
                while *is_taken && !has_row {
                    is_taken = row.1.wait_timeout(is_taken, patience).unwrap().0;
                }
                *is_taken = !has_row;
                drop(is_taken);
                row.1.notify_one();
                if !stays {
                    return;
                }
                client.send();
            }
        });
    }
}

/// A proxy: an event loop that hands the requests of a client over to another server, and its answers back.
pub fn forward(address: &str, server: &str) {
    let listener = Listener::at(address);
    let mut connections = vec![Stream::to(server)];
    loop {
        for ready in ready(&listener, &connections, None) {
            match ready.checked_sub(1) {
                None => connections.push(listener.accept()),
                Some(from) if connections[from].receive() => connections[usize::from(from == 0)].send(),
                Some(_) => return,
            }
        }
    }
}

/// A thread for each client, and one statement at a time.
pub fn serve_in_turn<Work: FnMut() + Send + 'static>(address: &str, worker: impl Fn() -> Work) -> ! {
    let listener = Listener::at(address);
    loop {
        let (mut client, mut work) = (listener.accept(), worker());
        std::thread::spawn(move || {
            while client.receive() {
                in_turn(&mut work);
                client.send();
            }
        });
    }
}

/// Does what asks a child for something, as sshfs does: one thread writes to it, and another one reads its answers. The
/// child's id goes to that file.
pub fn relay(child: &str, report: &str, script: &str) -> impl FnMut() + use<> {
    let mut client = Client::default();
    client.start_child(report, script);
    let (process, mut input, mut output) = client.child.take().expect("it has a child");
    fs::write(child, process.id().to_string()).unwrap();
    let (answered, answers) = channel();
    std::thread::spawn(move || {
        let _child = process;
        while output.read_exact(&mut [0; 8]).is_ok() {
            answered.send(()).unwrap();
        }
    });
    move || {
        input.write_all(b"message!").unwrap();
        answers.recv().unwrap();
    }
}

/// Does the work when no other thread does its own: a monitor, as Java has.
pub fn in_turn(mut work: impl FnMut()) {
    static IS_TAKEN: Mutex<bool> = Mutex::new(false);
    static IS_FREE: Condvar = Condvar::new();
    *IS_FREE.wait_while(IS_TAKEN.lock().unwrap(), |is_taken| *is_taken).unwrap() = true;
    work();
    *IS_TAKEN.lock().unwrap() = false;
    IS_FREE.notify_one();
}

/// Lets a thread do the work, and waits until it says so.
pub fn by_thread(work: impl FnMut() + Send) {
    with_worker(work, |done| done());
}

/// Hands out work to a thread that waits for it: its id goes to that file. Before each piece, it does the steps.
pub fn hand_out(worker: &str, times: u32, mut work: impl FnMut()) {
    let (handed_out, condition) = (Mutex::new(0), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            fs::write(worker, rustix::thread::gettid().as_raw_nonzero().to_string()).unwrap();
            let mut handed_out = handed_out.lock().unwrap();
            while *handed_out < times {
                handed_out = condition.wait(handed_out).unwrap();
            }
        });
        for _ in 0..times {
            work();
            *handed_out.lock().unwrap() += 1;
            condition.notify_all();
        }
    });
}

/// Answers requests that come through standard input.
pub fn serve_parent(mut work: impl FnMut()) {
    let mut message = [0; 8];
    while std::io::stdin().read_exact(&mut message).is_ok() {
        work();
        std::io::stdout().write_all(&message).unwrap();
        std::io::stdout().flush().unwrap();
    }
}
