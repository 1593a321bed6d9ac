//! Polls /proc for blocked tasks. Without BPF these are all waits that are seen, with BPF those that have not ended
//! yet.

mod named_path;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use model::stall::{StallKind, StallRecord};
use model::system_call;

use super::symbols;
use super::threads::{Thread, each_thread};
use crate::bytes::{read_text, shown, shown_path};
use crate::pace::Pace;

/// Minimum interval between rows of a wait that has not ended.
const REPEAT_NS: u64 = 1_000_000_000;
/// The interval grows with the wait, to this fraction of it, up to a maximum: many tasks that hang for hours fill no
/// disk.
const REPEAT_FRACTION: u64 = 8;
const LONGEST_REPEAT_NS: u64 = 30_000_000_000;
/// Polls may use a 200th of a CPU.
const PAUSES: u64 = 200;

/// A task that is blocked now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedNow {
    /// Kernel thread id.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// The thread's name.
    pub name: String,
    /// When it was first seen blocked, on the monotonic clock.
    pub since_ns: u64,
    /// The system call that it is in, if known and one that is followed.
    pub call: Option<&'static str>,
    /// The file that the call works on, if known.
    pub path: Option<String>,
    /// Its kernel stack, innermost first; empty where it may not be read.
    pub frames: Vec<String>,
}

/// A wait that was seen more than once.
struct Wait {
    pid: u32,
    name: String,
    since_ns: u64,
    seen_ns: u64,
    /// End of the last row emitted; its start if there is none.
    emitted_ns: u64,
    /// The thread's context switches so far: unchanged, it has not run.
    switches: u64,
    /// Addresses or names from /proc: the stack, else the function that it waits in.
    frames: Vec<String>,
    call: Option<Call>,
}

/// A system call that has not ended.
#[derive(Clone)]
struct Call {
    name: &'static str,
    /// The file that it works on, if its argument is a descriptor, or the name can be read.
    path: Option<String>,
}

/// A row of a wait, one that has ended or one that has not.
pub(super) struct BlockedWait {
    pub(super) row: StallRecord,
    pub(super) pid: u32,
    pub(super) name: String,
    pub(super) frames: Vec<String>,
}

impl Wait {
    fn row(&self, kind: StallKind, tid: u32) -> StallRecord {
        let (name, path) = self.call.clone().map(|call| (call.name.to_owned(), call.path)).unzip();
        StallRecord { call: name, path: path.flatten(), ..StallRecord::new(kind, tid, self.since_ns, self.seen_ns) }
    }

    /// The row of a wait that has not ended, if one is due.
    fn ongoing(&mut self, tid: u32, threshold_ns: u64) -> Option<BlockedWait> {
        let lasted_ns = self.seen_ns - self.since_ns;
        let pause_ns = (lasted_ns / REPEAT_FRACTION).clamp(REPEAT_NS, LONGEST_REPEAT_NS);
        let first = self.emitted_ns == self.since_ns;
        if lasted_ns == 0 || lasted_ns < threshold_ns || !(first || self.seen_ns - self.emitted_ns >= pause_ns) {
            return None;
        }
        self.emitted_ns = self.seen_ns;
        let row = self.row(StallKind::StillBlocked, tid);
        Some(BlockedWait { row, pid: self.pid, name: self.name.clone(), frames: self.frames.clone() })
    }
}

/// Polls for blocked threads, and keeps those of the last poll.
pub(super) struct BlockedPoller {
    proc: PathBuf,
    own_pid: u32,
    threshold_ns: u64,
    waits: HashMap<u32, Wait>,
    pace: Pace,
}

impl BlockedPoller {
    /// Threads that are blocked for `threshold_ns` are reported, except those of `own_pid`.
    pub(super) fn new(proc: PathBuf, own_pid: u32, threshold_ns: u64) -> BlockedPoller {
        BlockedPoller { proc, own_pid, threshold_ns, waits: HashMap::new(), pace: Pace::new(PAUSES) }
    }

    /// Whether a poll is due.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        self.pace.is_due(now_ns)
    }

    /// Sets the time of the next poll by the cost of this one. Where the tracer reports waits when they end, four polls
    /// within the threshold suffice for those that have not ended.
    pub(super) fn pace(&mut self, now_ns: u64, cost_ns: u64, is_tracing: bool) {
        let rest_ns = if is_tracing { self.threshold_ns / 4 } else { 0 };
        self.pace.done(now_ns, cost_ns, rest_ns);
    }

    /// Polls all threads. Returns the waits that have ended, and of those that have not the ones whose row is due.
    pub(super) fn poll(&mut self, now_ns: u64) -> Vec<BlockedWait> {
        let BlockedPoller { proc, own_pid, waits, .. } = self;
        let mut before = std::mem::take(waits);
        each_thread(proc, *own_pid, |Thread { pid, tid, name, state }| {
            if state != b'D' {
                return;
            }
            let folder = proc.join(format!("{pid}/task/{tid}"));
            let switches = switches(&folder);
            if before.get(&tid).is_some_and(|wait| wait.switches == switches)
                && let Some(wait) = before.remove(&tid)
            {
                waits.insert(tid, Wait { seen_ns: now_ns, ..wait });
                return;
            }
            // A thread that has run in between is in another wait.
            let (name, frames) = (shown(name), frames(&folder));
            let call = call(&folder, &frames);
            let (since_ns, seen_ns, emitted_ns) = (now_ns, now_ns, now_ns);
            waits.insert(tid, Wait { pid, name, since_ns, seen_ns, emitted_ns, switches, frames, call });
        });
        let mut waited: Vec<BlockedWait> = before.into_iter().filter_map(|(tid, wait)| self.ended(tid, wait)).collect();
        waited.extend(self.waits.iter_mut().filter_map(|(&tid, wait)| wait.ongoing(tid, self.threshold_ns)));
        waited
    }

    /// Those that have been blocked for the threshold, the longest first.
    pub(super) fn blocked(&self) -> Vec<BlockedNow> {
        let long = self.waits.iter().filter(|(_, wait)| wait.seen_ns - wait.since_ns >= self.threshold_ns);
        let mut blocked: Vec<BlockedNow> = long
            .map(|(tid, wait)| BlockedNow {
                tid: *tid,
                pid: wait.pid,
                name: wait.name.clone(),
                since_ns: wait.since_ns,
                call: wait.call.as_ref().map(|call| call.name),
                path: wait.call.as_ref().and_then(|call| call.path.clone()),
                frames: wait.frames.clone(),
            })
            .collect();
        blocked.sort_by_key(|blocked| (blocked.since_ns, blocked.tid));
        blocked
    }

    /// At the end: the waits that have not ended, up to the last poll.
    pub(super) fn finish(&mut self) -> Vec<BlockedWait> {
        std::mem::take(&mut self.waits).into_iter().filter_map(|(tid, wait)| self.ended(tid, wait)).collect()
    }

    fn ended(&self, tid: u32, wait: Wait) -> Option<BlockedWait> {
        let long = wait.seen_ns - wait.since_ns >= self.threshold_ns;
        let row = wait.row(StallKind::Blocked, tid);
        long.then_some(BlockedWait { row, pid: wait.pid, name: wait.name, frames: wait.frames })
    }
}

/// Context switches of the thread.
fn switches(folder: &Path) -> u64 {
    let status = read_text(folder.join("status")).unwrap_or_default();
    let counts = status.lines().filter_map(|line| line.split_once("_ctxt_switches:"));
    counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
}

/// Which system call the thread is in, from a line as `74 0x3 0x1 0x0 0x0 0x0 0x0 0x7ffc0f1d5a28 0x7f32c1b13e94`; the
/// last two are its stack and instruction pointers. `None` if that may not be read, and for calls that are not
/// followed.
fn call(folder: &Path, frames: &[String]) -> Option<Call> {
    let line = read_text(folder.join("syscall")).ok()?;
    let mut words = line.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let values: Vec<u64> = words.map_while(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()).collect();
    let (first, stack) = (*values.first()?, *values.get(6)?);
    // A 32-bit program numbers its calls differently.
    let followed = system_call::numbered(number).filter(|_| stack > u64::from(u32::MAX))?;
    let link = || std::fs::read_link(folder.join(format!("fd/{first}"))).ok();
    let path = if followed.is_on_descriptor() { link() } else { named_path::read(folder, followed, &values, frames) };
    Some(Call { name: followed.name, path: path.map(shown_path) })
}

/// From lines like `[<0>] folio_wait_bit_common+0x13d/0x350`; without permission, the function that it waits in.
pub(super) fn frames(folder: &Path) -> Vec<String> {
    let stack = read_text(folder.join("stack")).unwrap_or_default();
    let words = stack.lines().filter_map(|line| line.split_once("] ").map(|(_, frame)| frame));
    let frames: Vec<String> = words.filter_map(|frame| frame.split('+').next()).map(plain).collect();
    if !frames.is_empty() {
        return frames;
    }
    let channel = read_text(folder.join("wchan")).unwrap_or_default();
    Some(channel.trim()).filter(|name| !name.is_empty() && *name != "0").map(str::to_owned).into_iter().collect()
}

fn plain(name: &str) -> String {
    symbols::plain(name.trim()).to_owned()
}

#[cfg(test)]
mod tests;
