//! Who has the other end of what a thread waits on.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use model::detail::{OtherEnd as End, Progress};
use model::stall::Awaits;
use model::system_call::{traits, traits_of};

use super::super::earlier_locks::EarlierLocks;
use super::super::open_file_locks::other_holder;
use super::super::threads::parent_of;
use super::call::{self, InCall, On};
use super::descriptors::{Holders, access, inode, target};
use super::servers;
use super::sessions::Sessions;
use super::sockets::{Side, Sockets};
use super::title;
use crate::bytes::read_text;

/// In the stacks of threads that wait for a page of a file.
const PAGES: [&str; 3] = ["folio_wait", "wait_on_page", "lock_page"];

/// What a thread waits on, and who has its other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OtherEnd {
    /// A process, or a thread of the same process.
    pub(super) peer: Option<u32>,
    /// Whether it is certain that it waits for that one.
    pub(super) is_hint: bool,
    /// Whether it is certain that no process has it.
    pub(super) is_missing: bool,
    pub(super) awaits: Awaits,
    /// `None`: unknown.
    pub(super) end: Option<End>,
    /// Bytes that it has received and not read.
    pub(super) unread: u64,
    /// Of a client that has asked a server: the server's end of their connection.
    pub(super) asked: Option<u64>,
}

impl OtherEnd {
    pub(super) fn of(end: End, awaits: Awaits, peer: Option<u32>) -> OtherEnd {
        OtherEnd { peer, awaits, ..OtherEnd::nobody(Some(end)) }
    }

    fn nobody(end: Option<End>) -> OtherEnd {
        let (is_hint, is_missing) = (false, false);
        OtherEnd { peer: None, is_hint, is_missing, awaits: Awaits::Message, end, unread: 0, asked: None }
    }
}

/// What of the machine is read once, when it is needed.
pub(super) struct Machine {
    proc: PathBuf,
    processes: Vec<u32>,
    /// Processes with a thread that sleeps uninterruptibly, perhaps with the lock on their memory: a read of that would
    /// wait for it.
    blocked: HashSet<u32>,
    /// Processes with a thread that a signal or a debugger has stopped.
    stopped: HashSet<u32>,
    holders: OnceCell<Holders>,
    locks: OnceCell<EarlierLocks>,
    /// Of processes, each of which many may ask for.
    titles: RefCell<HashMap<u32, Option<String>>>,
    /// By network namespace.
    sockets: RefCell<HashMap<PathBuf, Rc<Sockets>>>,
}

impl Machine {
    pub(super) fn new(proc: PathBuf, processes: Vec<u32>, (blocked, stopped): (HashSet<u32>, HashSet<u32>)) -> Machine {
        let (holders, locks) = (OnceCell::new(), OnceCell::new());
        let (titles, sockets) = (RefCell::default(), RefCell::default());
        Machine { proc, processes, blocked, stopped, holders, locks, titles, sockets }
    }

    pub(super) fn is_blocked(&self, pid: u32) -> bool {
        self.blocked.contains(&pid)
    }

    /// What a process says that it does. Its title is in its memory.
    pub(super) fn title(&self, pid: u32) -> Option<String> {
        let read = || if self.is_blocked(pid) { None } else { title::of(&self.proc, pid) };
        self.titles.borrow_mut().entry(pid).or_insert_with(read).clone()
    }

    fn holders(&self) -> &Holders {
        self.holders.get_or_init(|| Holders::read(&self.proc, self.processes.iter().copied()))
    }

    fn sockets(&self, pid: u32) -> Rc<Sockets> {
        let process = self.proc.join(pid.to_string());
        let namespace = |process: &Path| std::fs::read_link(process.join("ns/net")).unwrap_or_default();
        let its = namespace(&process);
        let is_own = namespace(&self.proc.join("self")) == its;
        let mut known = self.sockets.borrow_mut();
        Rc::clone(known.entry(its).or_insert_with(|| Rc::new(Sockets::read(&process, is_own))))
    }

    /// What a thread in that call waits for. Its kernel stack shows what its arguments do not.
    pub(super) fn other_end(&self, (pid, tid): (u32, u32), call: &InCall, frames: &[String]) -> OtherEnd {
        let is_in = |name: &str| frames.iter().any(|frame| frame.contains(name));
        // A read of the page cache looks the same on every file system.
        let is_for_page = || PAGES.iter().any(|page| is_in(page)) && servers::is_on_fuse(&self.proc, pid, &call.on);
        if is_in("request_wait_answer") || is_in("fuse_simple_request") || is_for_page() {
            let server = servers::of_fuse(&self.proc, pid, &call.on, self.holders());
            return OtherEnd::of(End::FuseServer, Awaits::Answer, server);
        }
        if is_in("fanotify_get_response") || is_in("fanotify_handle_event") {
            let listener = servers::of_fanotify(&self.proc, self.holders());
            return OtherEnd::of(End::FanotifyListener, Awaits::Answer, listener);
        }
        if is_in("wait_for_partner") || is_in("fifo_open") {
            let path = if let On::Path(path) = &call.on { Some(path.clone()) } else { None };
            return OtherEnd { is_missing: true, ..OtherEnd::nobody(Some(End::Fifo(path))) };
        }
        match &call.on {
            On::Descriptor(fd) => self.of_descriptor((pid, *fd), call.name, frames),
            On::Descriptors(fds) => self.of_many((pid, tid), fds),
            // What is no mutex of glibc may have any number there.
            On::Mutex { owner, private } if *owner != tid && self.is_thread(pid, *owner, *private) => {
                OtherEnd { is_hint: true, ..OtherEnd::of(End::Mutex, Awaits::Lock, Some(*owner)) }
            }
            On::Child(child) => {
                let children = read_text(self.proc.join(format!("{pid}/task/{tid}/children")));
                let child = child
                    .or_else(|| only(children.unwrap_or_default().split_whitespace().filter_map(|id| id.parse().ok())));
                OtherEnd::of(End::Child, Awaits::Child, child)
            }
            On::Semaphore(semaphore) => {
                OtherEnd::of(End::SystemVSemaphore, Awaits::Lock, semaphore.holder(&self.proc, pid))
            }
            On::Timer => OtherEnd::nobody(Some(End::Timer)),
            On::Signal => self.of_signal(pid),
            _ => OtherEnd::nobody(None),
        }
    }

    fn is_thread(&self, pid: u32, tid: u32, private: bool) -> bool {
        let of_process = self.proc.join(format!("{pid}/task/{tid}"));
        of_process.exists() || (!private && tid > 1 && self.proc.join(format!("{tid}/stat")).exists())
    }

    fn of_descriptor(&self, (pid, fd): (u32, u32), call: &str, frames: &[String]) -> OtherEnd {
        let call_traits = traits_of(call);
        if call_traits.has(traits::LOCKS_FILE) {
            let locks = self.locks.get_or_init(|| EarlierLocks::read(&self.proc));
            let taken_by = locks.of(pid, Some(call)).map_or(0, |lock| lock.holder);
            let holder = other_holder(&self.proc, taken_by, (pid, fd));
            let holder = holder.or(Some(taken_by).filter(|pid| *pid != 0));
            return OtherEnd::of(End::FileLock, Awaits::Lock, holder);
        }
        let Some(target) = target(&self.proc, pid, fd) else { return OtherEnd::nobody(None) };
        if frames.iter().any(|frame| frame.contains("pipe_read") || frame.contains("pipe_write")) {
            return self.of_pipe(pid, &target, frames.iter().any(|frame| frame.contains("pipe_read")));
        }
        self.of_target(pid, &target, call_traits.has(traits::SENDS))
            .unwrap_or_else(|| OtherEnd::nobody(end_of(&target)))
    }

    /// `reads`: the thread does.
    fn of_pipe(&self, pid: u32, target: &str, reads: bool) -> OtherEnd {
        let opposite = |&&(other, fd): &&(u32, u32)| {
            other != pid
                && access(&self.proc, other, fd)
                    .is_some_and(|(can_read, can_write)| if reads { can_write } else { can_read })
        };
        let mut others: Vec<u32> = self.holders().of(target).iter().filter(opposite).map(|(other, _)| *other).collect();
        others.dedup();
        let (end, awaits) = if reads { (End::Pipe, Awaits::Answer) } else { (End::PipeRoom, Awaits::Room) };
        let end = if others.is_empty() { End::AbandonedPipe } else { end };
        // A shell may have both ends open beside its children. If it waits for one of them, that works; else the latest
        // process may.
        if others.len() > 1 {
            let working: Vec<u32> =
                others.iter().copied().filter(|other| !self.awaits_one_of(*other, &others)).collect();
            others = if working.is_empty() { others } else { working };
        }
        let is_hint = others.len() > 1;
        OtherEnd { is_hint, ..OtherEnd::of(end, awaits, others.into_iter().max()) }
    }

    /// Whether a process waits for a child that is one of these.
    fn awaits_one_of(&self, pid: u32, others: &[u32]) -> bool {
        let call = call::read(&self.proc.join(format!("{pid}/task/{pid}")), self.is_blocked(pid));
        let Some(On::Child(child)) = call.map(|call| call.on) else { return false };
        match child {
            Some(child) => others.contains(&child),
            None => others.iter().any(|other| parent_of(&self.proc, *other) == Some(pid)),
        }
    }

    fn of_target(&self, pid: u32, target: &str, sends: bool) -> Option<OtherEnd> {
        let sockets = self.sockets(pid);
        let connection = sockets.of(inode(target, "socket")?)?;
        if let Some(listener) = inode(target, "socket").and_then(|inode| sockets.not_accepted(inode)) {
            let servers = self.holders().others(&format!("socket:[{listener}]"), pid);
            let end = connection.end.clone().with_progress(Progress::NotAccepted);
            // Any process of a server that has several may accept it: one that is stopped, and did not, says why.
            let stopped = servers.iter().copied().find(|server| self.stopped.contains(server));
            return Some(OtherEnd {
                is_hint: servers.len() > 1,
                ..OtherEnd::of(end, Awaits::Answer, stopped.or(servers.into_iter().min()))
            });
        }
        let Some(peer) = connection.peer else {
            let listens = connection.side == Side::Listens;
            let end = if listens { End::Listener } else { connection.end.clone() };
            return Some(OtherEnd::nobody(Some(end)));
        };
        let others = self.holders().others(&format!("socket:[{peer}]"), pid);
        let unread = sockets.unread(peer);
        let awaits = match sockets.side(connection) {
            _ if sends => Awaits::Room,
            Side::Client => Awaits::Answer,
            _ if unread > 0 => Awaits::Answer,
            _ => Awaits::Message,
        };
        // A server that forks for each client may have it open, too: the latest process works for it.
        let is_hint = others.len() > 1;
        let asked = Some(peer).filter(|_| awaits == Awaits::Answer && !is_hint);
        let peer = others.into_iter().max();
        Some(OtherEnd { unread, is_hint, asked, ..OtherEnd::of(connection.end.clone(), awaits, peer) })
    }

    /// What the threads of a server, with their states, wait for.
    pub(super) fn sessions(&self, pid: u32, threads: impl Iterator<Item = (u32, u8)>) -> Sessions {
        let mut sessions = Sessions::default();
        for (tid, state) in threads {
            let call = call::read(&self.proc.join(format!("{pid}/task/{tid}")), self.is_blocked(pid));
            let socket = |fd| inode(&target(&self.proc, pid, fd)?, "socket");
            sessions.add((tid, state), call.as_ref().map(|call| &call.on), socket);
        }
        sessions
    }

    /// The process with the other end of a server's connection, if that is the only one and not the server itself.
    pub(super) fn client(&self, server: u32, end: u64) -> Option<u32> {
        let sockets = self.sockets(server);
        let connection = sockets.of(end).filter(|connection| sockets.side(connection) == Side::Server)?;
        only(self.holders().others(&format!("socket:[{}]", connection.peer?), server).into_iter())
    }

    /// One of several descriptors: the one that it waits on, if it asked a single server.
    fn of_many(&self, (pid, tid): (u32, u32), fds: &[u32]) -> OtherEnd {
        let targets: Vec<String> = fds.iter().filter_map(|fd| target(&self.proc, pid, *fd)).collect();
        let others = targets.iter().filter(|target| !self.is_to_itself(pid, target));
        let mut ends: Vec<OtherEnd> = others.filter_map(|target| self.of_target(pid, target, false)).collect();
        if let [only] = targets.as_slice() {
            let pipe =
                only.starts_with("pipe:").then(|| self.of_pipe(pid, only, true)).filter(|end| end.peer.is_some());
            return pipe.or(ends.pop()).unwrap_or_else(|| OtherEnd::nobody(end_of(only)));
        }
        let listens = ends.iter().any(|end| end.end == Some(End::Listener));
        let asked: Vec<&OtherEnd> =
            ends.iter().filter(|end| end.awaits == Awaits::Answer && end.peer.is_some()).collect();
        let busy: Vec<&&OtherEnd> = asked.iter().filter(|end| end.unread > 0).collect();
        match (busy.as_slice(), asked.as_slice()) {
            ([end], _) => return (**end).clone(),
            // It may as well wait for a client of its own.
            ([], [end]) => {
                let is_sure = ends.len() == 1 && !targets.iter().any(|target| is_terminal(target));
                let awaits = if is_sure { Awaits::Answer } else { Awaits::Message };
                return OtherEnd { awaits, is_hint: !is_sure, ..(*end).clone() };
            }
            _ => {}
        }
        let mut clients = ends.iter().filter(|end| end.peer.is_some());
        match (clients.next(), clients.next(), listens) {
            (Some(end), None, false) => OtherEnd { awaits: Awaits::Message, ..end.clone() },
            (None, None, false) => self.of_signal(tid),
            _ => OtherEnd::nobody(Some(End::AnyOfSeveral)),
        }
    }

    /// Whether a socket is one of a pair by which the threads of the process wake one another.
    fn is_to_itself(&self, pid: u32, target: &str) -> bool {
        let sockets = self.sockets(pid);
        let connection = inode(target, "socket").and_then(|inode| sockets.of(inode));
        let peer = connection.filter(|connection| connection.side == Side::Either).and_then(|of| of.peer);
        peer.is_some_and(|peer| {
            let holders = self.holders().of(&format!("socket:[{peer}]"));
            !holders.is_empty() && holders.iter().all(|(other, _)| *other == pid)
        })
    }

    /// A signal, or an event of another process: whose is known where programs say in their titles what they do.
    fn of_signal(&self, pid: u32) -> OtherEnd {
        match title::holder(&self.proc, pid, &self.processes, |pid| self.title(pid)) {
            Some(holder) => OtherEnd { is_hint: true, ..OtherEnd::of(End::ServerLock, Awaits::Lock, Some(holder)) },
            None => OtherEnd::nobody(Some(End::Signal)),
        }
    }
}

fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.next().is_none().then_some(first)
}

fn is_terminal(target: &str) -> bool {
    ["/dev/pts/", "/dev/tty", "/dev/console"].iter().any(|begin| target.starts_with(begin))
}

fn end_of(target: &str) -> Option<End> {
    match target {
        _ if is_terminal(target) => Some(End::Terminal),
        "/dev/fuse" => Some(End::FuseRequests),
        "anon_inode:[eventfd]" | "anon_inode:[signalfd]" => Some(End::Signal),
        "anon_inode:[timerfd]" => Some(End::Timer),
        _ => None,
    }
}
