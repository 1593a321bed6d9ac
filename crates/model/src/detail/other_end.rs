//! What a thread that waited when the recording ended has at the other end of its wait.

use serde::{Deserialize, Serialize};

/// Declares the kinds of other ends: the variant, its name in the archive and in JSON, and the field's words for it.
macro_rules! other_ends {
    ($($(#[$doc:meta])* $end:ident, $name:literal, $words:literal;)*) => {
        /// The other end of a wait.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum OtherEnd {
            $($(#[$doc])* $end,)*
            /// A FIFO that no process has open at its other end, with its path where that is known.
            Fifo(Option<String>),
            /// A TCP connection within this machine's network namespace.
            Tcp(Progress),
            /// A TCP connection to another machine, or another network namespace.
            TcpElsewhere(Progress),
            /// A UNIX socket.
            UnixSocket(Progress),
        }

        /// Those without particulars.
        const PLAIN: &[(OtherEnd, &str, &str)] = &[$((OtherEnd::$end, $name, $words),)*];
    };
}

other_ends! {
    /// The server of a FUSE file system.
    FuseServer, "fuse_server", "a FUSE file system";
    /// A program that decides about accesses to files.
    FanotifyListener, "fanotify_listener", "a listener's permission (fanotify)";
    /// The owner of a mutex.
    Mutex, "mutex", "a mutex";
    /// A child.
    Child, "child", "a child";
    /// A timer that the thread has set itself.
    Timer, "timer", "its own timer";
    /// A signal, or an event of another process.
    Signal, "signal", "a signal or an event";
    /// The holder of a file's lock.
    FileLock, "file_lock", "a lock of a file";
    /// The holder of a lock that a server keeps for its clients.
    ServerLock, "server_lock", "a lock of its server";
    /// The writer of a pipe.
    Pipe, "pipe", "a pipe";
    /// Nobody: no other process has the pipe open.
    AbandonedPipe, "abandoned_pipe", "a pipe that nobody else has open";
    /// The reader of a pipe that is full.
    PipeRoom, "pipe_room", "room in a pipe";
    /// Who is sent datagrams by UDP, within this machine's network namespace.
    UdpSocket, "udp_socket", "a UDP socket";
    /// Clients that connect.
    Listener, "listener", "new connections";
    /// A terminal.
    Terminal, "terminal", "a terminal";
    /// The users of a FUSE file system, of which the thread is the server.
    FuseRequests, "fuse_requests", "requests to its FUSE file system";
    /// Who releases a System V semaphore.
    SystemVSemaphore, "system_v_semaphore", "a System V semaphore";
    /// Who sends a message to a System V queue.
    SystemVMessage, "system_v_message", "a message in a System V queue";
    /// Who receives a message from a full System V queue.
    SystemVRoom, "system_v_room", "room in a System V queue";
    /// Who sends a message to a POSIX queue.
    PosixMessage, "posix_message", "a message in a POSIX queue";
    /// Another process that opens a FIFO.
    FifoOpener, "fifo_opener", "another process to open the FIFO";
    /// Who releases a semaphore, or signals a condition, that processes share.
    SharedFutex, "shared_futex", "a semaphore or condition that processes share (a futex)";
    /// Any of several descriptors.
    AnyOfSeveral, "any_of_several", "any of several descriptors";
}

/// How far a server is with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Progress {
    /// Nothing special is known.
    Open,
    /// The server has not accepted it.
    NotAccepted,
    /// No thread of the server waits for what comes on it: one works on the request.
    Taken,
}

impl Progress {
    /// All of them.
    pub const ALL: [Progress; 3] = [Progress::Open, Progress::NotAccepted, Progress::Taken];

    /// The name in the archive.
    pub fn name(self) -> &'static str {
        match self {
            Progress::Open => "open",
            Progress::NotAccepted => "not_accepted",
            Progress::Taken => "taken",
        }
    }

    /// The progress of that name.
    pub fn from_name(name: &str) -> Option<Progress> {
        Progress::ALL.into_iter().find(|progress| progress.name() == name)
    }

    fn words(self) -> &'static str {
        match self {
            Progress::Open => "",
            Progress::NotAccepted => " that its server has not accepted",
            Progress::Taken => " whose server works on the request",
        }
    }
}

impl OtherEnd {
    /// The name in the archive and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            OtherEnd::Fifo(_) => "fifo",
            OtherEnd::Tcp(_) => "tcp_connection",
            OtherEnd::TcpElsewhere(_) => "tcp_connection_elsewhere",
            OtherEnd::UnixSocket(_) => "unix_socket",
            plain => PLAIN.iter().find(|(end, ..)| end == plain).map_or("", |(_, name, _)| name),
        }
    }

    /// The other end of that name, with a path or a connection's progress.
    pub fn from_name(name: &str, particulars: Option<&str>) -> Option<OtherEnd> {
        let progress = || Progress::from_name(particulars.unwrap_or(Progress::Open.name()));
        match name {
            "fifo" => Some(OtherEnd::Fifo(particulars.map(str::to_owned))),
            "tcp_connection" => progress().map(OtherEnd::Tcp),
            "tcp_connection_elsewhere" => progress().map(OtherEnd::TcpElsewhere),
            "unix_socket" => progress().map(OtherEnd::UnixSocket),
            _ => PLAIN.iter().find(|(_, known, _)| *known == name).map(|(end, ..)| end.clone()),
        }
    }

    /// Those without particulars.
    pub fn plain() -> impl Iterator<Item = OtherEnd> {
        PLAIN.iter().map(|(end, ..)| end.clone())
    }

    /// How far the server is with it, if it is a connection.
    pub fn progress(&self) -> Option<Progress> {
        match self {
            OtherEnd::Tcp(progress) | OtherEnd::TcpElsewhere(progress) | OtherEnd::UnixSocket(progress) => {
                Some(*progress)
            }
            _ => None,
        }
    }

    /// The same connection with another progress; anything else as it is.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> OtherEnd {
        match self {
            OtherEnd::Tcp(_) => OtherEnd::Tcp(progress),
            OtherEnd::TcpElsewhere(_) => OtherEnd::TcpElsewhere(progress),
            OtherEnd::UnixSocket(_) => OtherEnd::UnixSocket(progress),
            other => other,
        }
    }
}

impl std::fmt::Display for OtherEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (words, progress) = match self {
            OtherEnd::Fifo(path) => {
                let path = path.as_ref().map_or_else(String::new, |path| format!(" {path}"));
                return write!(f, "the FIFO{path}, which no process has open at its other end");
            }
            OtherEnd::Tcp(progress) => ("a TCP connection", *progress),
            OtherEnd::TcpElsewhere(progress) => ("a TCP connection to another machine or network", *progress),
            OtherEnd::UnixSocket(progress) => ("a UNIX socket", *progress),
            plain => (PLAIN.iter().find(|(end, ..)| end == plain).map_or("", |(_, _, words)| *words), Progress::Open),
        };
        write!(f, "{words}{}", progress.words())
    }
}
