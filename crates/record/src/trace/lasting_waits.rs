//! What threads still wait for when the recording ends, and while it lasts: a wait that began before the recording and
//! lasts beyond it has neither a begin nor a waker that the tracer could have seen. /proc shows the object of each such
//! wait, and who has its other end.

mod call;
pub(super) mod descriptors;
mod last_run;
mod other_end;
mod runs;
mod semaphores;
mod servers;
mod sessions;
mod sockets;
#[cfg(test)]
mod tests;
mod title;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::iter::successors;
use std::path::{Path, PathBuf};

use model::detail::{Detail, OtherEnd as End, Progress};
use model::stall::{Awaits, StallKind, StallRecord, stall_flags};

use super::background::Background;
use super::blocked::{BlockedWait, frames};
use super::threads::{Thread, each_thread, parent_of};
use crate::bytes::shown;
use crate::pace::Pace;
use call::InCall;
use last_run::LastRuns;
use other_end::{Machine, OtherEnd};
use runs::Runs;
use sessions::Sessions;

/// Threads whose waits are looked at, those of the recorded command first.
const MOST: usize = 2048;
/// Threads of a server whose sessions are looked at.
const MOST_OF_SERVER: usize = 512;
/// Threads of a process among which the one that waits for another process is looked for.
const MOST_OF_PROCESS: usize = 64;
/// Threads that wait for what they have asked for are remembered for the next look.
const MOST_ASKING: usize = 512;
/// While the recording lasts, threads are looked at so often.
const EVERY_NS: u64 = 1_000_000_000;
/// A thread that has slept for so long is looked at while the recording lasts.
const LASTS_NS: u64 = 1_000_000_000;
/// Functions of a task that is frozen.
const FREEZES: [&str; 3] = ["do_freezer_trap", "__refrigerator", "cgroup_freezing"];

/// States as in the kernel's `__state`.
const INTERRUPTIBLE: u32 = 1;
const UNINTERRUPTIBLE: u32 = 2;
const STOPPED: u32 = 4;
const TRACED: u32 = 8;
const FROZEN: u32 = 0x8000;

/// For whom waits are looked at while the recording lasts: which part of a CPU that may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attention {
    /// Somebody watches now: a 100th.
    Watched,
    /// A recorder that stays on, for years: a 400th.
    Unattended,
}

impl Attention {
    /// Times the cost of a look that the pause after it lasts.
    fn pauses(self) -> u64 {
        match self {
            Attention::Watched => 100,
            Attention::Unattended => 400,
        }
    }
}

/// A thread that exists when the recording ends.
struct Seen {
    pid: u32,
    name: String,
    state: u8,
}

/// Knows which threads have not run for long, and what they wait for.
pub(super) struct LastingWaits {
    proc: PathBuf,
    own_pid: u32,
    /// When the recording began.
    begun: Background<Runs>,
    /// At the last look.
    seen: Option<Runs>,
    /// Threads that the tracer has seen to wait for what they had asked for since then.
    asking: Vec<u32>,
    pace: Pace,
    /// Whether the waits of some threads were not looked at.
    left_out: bool,
}

impl LastingWaits {
    /// Call this when the recording begins.
    pub(super) fn begin(proc: PathBuf, own_pid: u32) -> LastingWaits {
        let folder = proc.clone();
        // Of very many threads this takes longer than the recorded command should wait.
        let begun = Background::start("lasting-waits", move || Runs::count(&folder, own_pid));
        LastingWaits {
            proc,
            own_pid,
            begun,
            seen: None,
            asking: Vec::new(),
            pace: Pace::new(Attention::Watched.pauses()),
            left_out: false,
        }
    }

    /// Remembers the threads of rows that wait for what they have asked for, as far as there is room.
    pub(super) fn note_asking(&mut self, rows: &[StallRecord]) {
        let asks = |row: &&StallRecord| row.kind == StallKind::StillBlocked && row.awaits.is_some();
        let room = MOST_ASKING.saturating_sub(self.asking.len());
        self.asking.extend(rows.iter().filter(asks).take(room).map(|row| row.tid));
    }

    /// Whether it is time for a look.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        self.pace.is_due(now_ns)
    }

    /// Sets the time of the next look by the cost of this one.
    pub(super) fn looked(&mut self, now_ns: u64, cost_ns: u64, attention: Attention) {
        self.pace.set_pauses(attention.pauses());
        self.pace.done(now_ns, cost_ns, EVERY_NS);
    }

    /// Call this while it lasts: what waits now and has for a second, or for what it has asked for.
    pub(super) fn look(&mut self, now_ns: u64) -> Vec<BlockedWait> {
        let counted = Runs::count(&self.proc, self.own_pid);
        let runs = match self.seen.take() {
            Some(seen) => counted.since(&seen),
            None => counted.since(self.begun.get()),
        };
        let long = runs.by(now_ns.saturating_sub(LASTS_NS));
        self.seen = Some(runs);
        Walk::new(&self.proc, self.own_pid, &long, now_ns).finish(&std::mem::take(&mut self.asking)).0
    }

    /// Call this when it ends: the waits that have not ended, those of the `first` threads before others, and in any
    /// case.
    pub(super) fn finish(&mut self, first: &[u32], now_ns: u64) -> Vec<BlockedWait> {
        let before = self.begun.get();
        let (rows, is_whole) = Walk::new(&self.proc, self.own_pid, before, now_ns).finish(first);
        self.left_out = !is_whole || before.is_full();
        rows
    }

    /// What was left out at the end, in words.
    pub(super) fn left_out(&self) -> Option<String> {
        self.left_out.then(|| {
            format!("of very many threads, what {MOST} wait for at the end is recorded, those of the command first")
        })
    }
}

/// A thread's wait.
struct Known {
    call: Option<InCall>,
    frames: Vec<String>,
    state: u32,
    end: Option<OtherEnd>,
    /// The thread at the other end, and whether any of its process may be meant.
    peer: Option<(u32, bool)>,
    /// Since when it has not run; `None` if it has run since the threads were counted.
    since_ns: Option<u64>,
    /// When it ran last, if it has run since.
    ran_ns: Option<u64>,
}

struct Walk<'a> {
    proc: &'a Path,
    runs: &'a Runs,
    last_runs: Option<LastRuns>,
    machine: Machine,
    /// What started the recorder, what started that, and so on.
    ancestors: HashSet<u32>,
    threads: HashMap<u32, Seen>,
    of_process: HashMap<u32, Vec<u32>>,
    known: HashMap<u32, Known>,
    /// By process: [`Walk::thread_of`], which many may wait for.
    waited_for: HashMap<u32, (u32, bool)>,
    /// By server.
    sessions: HashMap<u32, Served>,
    now_ns: u64,
}

/// A server with a thread for each client.
struct Served {
    sessions: Sessions,
    /// Processes that wait for it, and the thread that may serve them.
    clients: HashSet<u32>,
    thread: Option<u32>,
}

impl<'a> Walk<'a> {
    fn new(proc: &'a Path, own_pid: u32, runs: &'a Runs, now_ns: u64) -> Walk<'a> {
        let mut threads = HashMap::new();
        let mut of_process: HashMap<u32, Vec<u32>> = HashMap::new();
        let (mut blocked, mut stopped) = (HashSet::new(), HashSet::new());
        each_thread(proc, own_pid, |Thread { pid, tid, name, state }| {
            threads.insert(tid, Seen { pid, name: shown(name), state });
            of_process.entry(pid).or_default().push(tid);
            blocked.extend((state == b'D').then_some(pid));
            stopped.extend(b"Tt".contains(&state).then_some(pid));
        });
        let mut processes: Vec<u32> = of_process.keys().copied().collect();
        processes.sort_unstable();
        let machine = Machine::new(proc.to_owned(), processes, (blocked, stopped));
        let (known, waited_for, sessions) = (HashMap::new(), HashMap::new(), HashMap::new());
        Walk {
            proc,
            runs,
            last_runs: LastRuns::new(proc),
            machine,
            ancestors: successors(parent_of(proc, own_pid), |pid| parent_of(proc, *pid)).take(64).collect(),
            threads,
            of_process,
            known,
            waited_for,
            sessions,
            now_ns,
        }
    }

    /// The rows, and whether all threads were looked at.
    fn finish(mut self, first: &[u32]) -> (Vec<BlockedWait>, bool) {
        let is_whole = self.look(first);
        self.find_idle_holders();
        (self.rows(), is_whole)
    }

    /// Whether all were looked at.
    fn look(&mut self, first: &[u32]) -> bool {
        let asleep = |seen: &Seen| b"SDTt".contains(&seen.state);
        let mut others: Vec<u32> = self.threads.iter().filter(|(_, seen)| asleep(seen)).map(|(tid, _)| *tid).collect();
        others.retain(|tid| self.runs.knows(*tid));
        others.sort_unstable();
        let first = first.iter().copied().filter(|tid| self.threads.contains_key(tid));
        let mut queue: VecDeque<u32> = first.chain(others).collect();
        while let Some(tid) = queue.pop_front() {
            if self.known.len() >= MOST {
                return false;
            }
            if self.known.contains_key(&tid) {
                continue;
            }
            let Some(known) = self.wait(tid) else { continue };
            // The whole chain of a thread comes before the next one.
            known.peer.iter().for_each(|(peer, _)| queue.push_front(*peer));
            self.known.insert(tid, known);
        }
        true
    }

    fn wait(&mut self, tid: u32) -> Option<Known> {
        let Seen { pid, state, .. } = *self.threads.get(&tid)?;
        let folder = self.proc.join(format!("{pid}/task/{tid}"));
        let call = call::read(&folder, self.machine.is_blocked(pid));
        let frames = frames(&folder);
        let is_frozen = frames.iter().any(|frame| FREEZES.contains(&frame.as_str()));
        let state = match state {
            _ if is_frozen => FROZEN,
            b'S' => INTERRUPTIBLE,
            b'D' => UNINTERRUPTIBLE,
            b'T' => STOPPED,
            b't' => TRACED,
            _ => 0,
        };
        let sleeps = state == INTERRUPTIBLE || state == UNINTERRUPTIBLE;
        let since_ns = self.runs.since_ns(self.proc, pid, tid);
        let is_new = sleeps && since_ns.is_none();
        let ran_ns = self.last_runs.filter(|_| is_new).and_then(|runs| runs.of(&folder));
        let mut end = call.as_ref().filter(|_| sleeps).map(|call| self.machine.other_end((pid, tid), call, &frames));
        if let Some(taken) = end.as_mut().and_then(|end| self.taken(pid, end)) {
            let (call, peer) = (call, Some((taken, true)));
            return Some(Known { call, frames, state, end, peer, since_ns, ran_ns });
        }
        let peer = end.as_ref().and_then(|end| end.peer).map(|peer| match self.waited_for.get(&peer) {
            Some(known) => *known,
            None => {
                let found = self.thread_of(peer);
                *self.waited_for.entry(peer).or_insert(found)
            }
        });
        let peer = peer.filter(|(peer, _)| *peer != tid && self.threads.contains_key(peer));
        Some(Known { call, frames, state, end, peer, since_ns, ran_ns })
    }

    /// The thread that may work on what a process has asked a server for, of one with a thread for each client none of
    /// which waits for what that client asks next.
    fn taken(&mut self, client: u32, end: &mut OtherEnd) -> Option<u32> {
        let (server, asked) = end.peer.zip(end.asked).filter(|_| end.unread == 0)?;
        let threads = self.of_process.get(&server).filter(|threads| threads.len() > 1)?;
        let states =
            threads.iter().take(MOST_OF_SERVER).map(|tid| (*tid, self.threads.get(tid).map_or(0, |seen| seen.state)));
        let machine = &self.machine;
        let served = self.sessions.entry(server).or_insert_with(|| {
            let sessions = machine.sessions(server, states);
            Served { sessions, clients: HashSet::new(), thread: None }
        });
        let thread = served.sessions.serves(asked, |end| machine.client(server, end).is_some())?;
        served.clients.insert(client);
        served.thread = Some(thread);
        end.end = end.end.take().map(|end| end.with_progress(Progress::Taken));
        Some(thread)
    }

    /// Where a server's threads wait for one another, and of its clients that have asked for nothing only one does not
    /// wait for it elsewhere: its task may hold what they wait for.
    fn find_idle_holders(&mut self) {
        for (server, served) in std::mem::take(&mut self.sessions) {
            let idle = served.sessions.idle().filter_map(|end| self.machine.client(server, end));
            let idle: HashSet<u32> = idle.filter(|client| !served.clients.contains(client)).collect();
            let mut idle = idle.into_iter();
            let (Some(holder), None, Some(thread)) = (idle.next(), idle.next(), served.thread) else { continue };
            if !self.known.contains_key(&holder) {
                let known = self.wait(holder);
                self.known.extend(known.map(|known| (holder, known)));
            }
            let Some(known) = self.known.get_mut(&thread).filter(|known| known.peer.is_none()) else { continue };
            known.end = Some(OtherEnd { is_hint: true, ..OtherEnd::of(End::ServerLock, Awaits::Lock, Some(holder)) });
            known.peer = Some((holder, false));
        }
    }

    /// The thread of a process that others wait for: the only one that waits for another process, where there are
    /// several.
    fn thread_of(&self, pid: u32) -> (u32, bool) {
        let Some(threads) = self.of_process.get(&pid).filter(|threads| threads.len() > 1) else { return (pid, false) };
        if self.threads.get(&pid).is_some_and(|seen| b"Tt".contains(&seen.state)) {
            return (pid, false);
        }
        let mut waiting = threads.iter().take(MOST_OF_PROCESS).filter_map(|tid| {
            let folder = self.proc.join(format!("{pid}/task/{tid}"));
            let end = self.machine.other_end(
                (pid, *tid),
                &call::read(&folder, self.machine.is_blocked(pid))?,
                &frames(&folder),
            );
            let is_asked = end.awaits != Awaits::Message && !end.is_hint;
            end.peer.filter(|peer| is_asked && *peer != pid).map(|peer| (*tid, peer))
        });
        match (waiting.next(), waiting.next()) {
            (Some((tid, _)), None) => (tid, false),
            _ => (pid, true),
        }
    }

    /// Of the threads that wait for another one, of those that are waited for, and of those that wait for somebody who
    /// does not exist.
    fn rows(self) -> Vec<BlockedWait> {
        let peers: HashSet<u32> = self.known.values().filter_map(|known| Some(known.peer?.0)).collect();
        let Walk { machine, ancestors, threads, mut known, now_ns, .. } = self;
        // A shell that waits for its child waits for this recording, whatever the recorded command waits for.
        let is_for_child = |known: &Known| known.end.as_ref().is_some_and(|end| end.awaits == Awaits::Child);
        let is_ancestor = |tid: &u32| threads.get(tid).is_some_and(|seen| ancestors.contains(&seen.pid));
        known.retain(|tid, known| !(is_for_child(known) && is_ancestor(tid)));
        let leads_on = |known: &Known| known.peer.is_some() || known.end.as_ref().is_some_and(|end| end.is_missing);
        known.retain(|tid, known| peers.contains(tid) || leads_on(known));
        let known: BTreeMap<u32, Known> = known.into_iter().collect();
        let rows = known.into_iter().filter_map(|(tid, known)| {
            let Seen { pid, name, .. } = threads.get(&tid)?;
            let start_ns = known.since_ns.or(known.ran_ns).unwrap_or(now_ns).min(now_ns.saturating_sub(1));
            let row = StallRecord {
                work: machine.title(*pid),
                ..row(&known, StallRecord::new(StallKind::LastingWait, tid, start_ns, now_ns))
            };
            Some(BlockedWait { row, pid: *pid, name: name.clone(), frames: known.frames })
        });
        rows.collect()
    }
}

fn row(known: &Known, row: StallRecord) -> StallRecord {
    let end = known.end.as_ref();
    let any_thread = known.peer.is_some_and(|(_, any)| any);
    let is_hint = end.is_some_and(|end| end.is_hint);
    let flag = |is: bool, flag: u32| if is { flag } else { 0 };
    StallRecord {
        state: Some(known.state),
        call: known.call.as_ref().map(|call| call.name.to_owned()),
        detail: end.and_then(|end| end.end.clone()).map(Detail::OtherEnd),
        bytes: end.map(|end| end.unread).filter(|unread| *unread > 0),
        awaits: end.filter(|_| known.peer.is_some()).map(|end| end.awaits),
        holder_tid: known.peer.map(|(peer, _)| peer),
        flags: Some(
            flag(known.since_ns.is_some(), stall_flags::CUT)
                | flag(any_thread, stall_flags::ANY_THREAD)
                | flag(is_hint, stall_flags::HOLDER_IS_HINT),
        ),
        ..row
    }
}
