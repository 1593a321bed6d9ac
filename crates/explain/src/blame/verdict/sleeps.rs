//! Sleeps of the recorded command that no operation holds: in locks of files, for other programs, in calls that wait
//! for no storage. Without them, "no operation was slow" would read as if nothing had waited.

use std::cmp::Reverse;
use std::collections::HashMap;

use model::detail::OtherEnd;
use model::stall::{Awaits, StallKind};
use model::system_call::traits;

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::run_index::lasting::other_end;
use crate::blame::intents::lasting::hangs::{is_hardly_idle, other_ends};
use crate::blame::operations::busy_times::BusyTimes;
use crate::blame::operations::sleep::{Sleep, Sleeps};

/// Sleeps listed: the longest.
const KEPT: usize = 20;

/// Of at least `slower_than_ns`, outside of the operations, whose times are `busy`.
pub(crate) fn sleeps(
    index: &RunIndex,
    busy: &BusyTimes,
    slower_than_ns: u64,
    in_scope: &dyn Fn(&Row) -> bool,
) -> Sleeps {
    // The recorded command may be but a clock.
    let nobody = index.subjects.is_empty() || index.command_is_clock;
    let is_one = |row: &&Row| {
        (row.watched || is_asked_about(index, row, nobody))
            && (row.kind == StallKind::OffCpu || lasts(index, row))
            // An operation of its process.
            && !row.is_stopped()
            && slept_ns(row) >= slower_than_ns
            && in_scope(row)
            && !busy.overlaps(row.tid, row.start_ns, row.end_ns)
    };
    let mut sleeps = Sleeps::default();
    let mut listed: Vec<&Row> = Vec::new();
    let mut by_call: HashMap<&str, u64> = HashMap::new();
    for row in index.rows.iter().filter(is_one) {
        let may_idle =
            index.does(row, traits::IDLES) || index.does(row, traits::WAITS_FOR_THREAD) && idles_in_futex(index, row);
        if row.interruptible && may_idle && !is_for_other(index, row) && !is_for_waiting_child(index, row) {
            sleeps.idle_count += 1;
            sleeps.idle_ns = sleeps.idle_ns.saturating_add(slept_ns(row));
            sleeps.idle_throughout += u64::from(is_throughout(row));
            *by_call.entry(row.call.map_or("", |call| index.names.get(call))).or_default() += 1;
        } else {
            add(&mut sleeps, row);
            listed.push(row);
        }
    }
    sleeps.longest = longest(index, listed);
    let mut calls: Vec<(&str, u64)> = by_call.into_iter().collect();
    calls.sort_by_key(|&(call, count)| (Reverse(count), call));
    sleeps.idle_calls = calls.into_iter().map(|(call, _)| call.to_owned()).collect();
    sleeps
}

/// Adds one that is not idle.
fn add(sleeps: &mut Sleeps, row: &Row) {
    sleeps.count += 1;
    sleeps.total_ns = sleeps.total_ns.saturating_add(slept_ns(row));
    if is_unfinished(row) {
        let (count, longest_ns) = sleeps.unfinished;
        sleeps.unfinished = (count + 1, longest_ns.max(slept_ns(row)));
    }
}

/// Whether a futex keeps a thread until there is work for it (collectors and compilers of a runtime, pools), until
/// another thread ends, or for as long as it wants. The first thread of a process is the program: what it waits for is
/// listed.
fn idles_in_futex(index: &RunIndex, row: &Row) -> bool {
    let is_first = index.tasks.pid(row.tid, row.end_ns).is_none_or(|pid| pid == row.tid);
    match index.awaits(row) {
        Some(Awaits::Child | Awaits::Interrupt) => true,
        // What the first thread gives others to do is the program's own work.
        Some(Awaits::Work) => {
            !is_first && index.waker(row).is_some_and(|waker| index.tasks.pid(waker, row.end_ns) != Some(waker))
        }
        None if is_unfinished(row) => !is_first && other_ends(index, row.tid).is_empty(),
        // A timer of its own.
        None => index.waker_stack(row).is_some_and(|waker| waker.timer),
        _ => false,
    }
}

/// Whether it is a wait that lasts, of a task that is asked about; where nobody is, of one that surely has not idled.
fn is_asked_about(index: &RunIndex, row: &Row, nobody: bool) -> bool {
    let is_one = |row: &Row| index.subjects.contains(&row.tid) || (nobody && is_hardly_idle(index, row.tid));
    is_unfinished(row) && index.lasting.contains_key(&row.tid) && is_one(row)
}

/// Those of which it is known best that they are no idle sleeps come first.
fn is_idle(index: &RunIndex, row: &Row) -> bool {
    is_unfinished(row) && !is_hardly_idle(index, row.tid)
}

/// Those that are certain first, then the longest.
fn longest(index: &RunIndex, mut listed: Vec<&Row>) -> Vec<Sleep> {
    listed.sort_by_cached_key(|row| {
        (is_idle(index, row), guesses(index, row), Reverse(slept_ns(row)), row.start_ns, row.tid)
    });
    listed.truncate(KEPT);
    listed.into_iter().map(|row| sleep(index, row)).collect()
}

/// Of a hang, how many steps of its chain are not certain: a terminal waits for the programs in it, perhaps for the one
/// that hangs.
fn guesses(index: &RunIndex, row: &Row) -> usize {
    let hangs = is_unfinished(row) && is_hardly_idle(index, row.tid);
    if hangs { other_ends(index, row.tid).iter().filter(|end| !end.is_certain).count() } else { 0 }
}

/// Whether it is a sleep of which the end of the recording is the end. Rows of a wait that are older than its latest
/// one do not count.
fn lasts(index: &RunIndex, row: &Row) -> bool {
    let is_later = |other: &Row| other.start_ns == row.start_ns && other.end_ns > row.end_ns;
    row.kind == StallKind::Blocked
        && row.switched
        && row.interruptible
        && !index.rows_between(row.tid, row.start_ns, u64::MAX).any(|(_, other)| is_later(other))
}

fn is_throughout(row: &Row) -> bool {
    is_unfinished(row) && row.cut
}

/// Whether it had asked a server for something, or its reader did not make room: it did not idle, whatever the other
/// one did.
fn is_for_other(index: &RunIndex, row: &Row) -> bool {
    let is_other = |awaits: Option<Awaits>| matches!(awaits, Some(Awaits::Answer | Awaits::Room | Awaits::Lock));
    let at_end = index.lasting.get(&row.tid).filter(|_| is_unfinished(row));
    is_other(index.awaits(row)) || at_end.is_some_and(|known| is_other(known.awaits))
}

/// Whether it is for a child that surely waits, or that child for one that does.
fn is_for_waiting_child(index: &RunIndex, row: &Row) -> bool {
    is_unfinished(row) && index.does(row, traits::WAITS_FOR_CHILD) && is_hardly_idle(index, row.tid)
}

fn is_unfinished(row: &Row) -> bool {
    row.kind == StallKind::Blocked || row.unfinished
}

/// Time without a CPU quota counts too: a program that computes has no operation that could hold it.
fn slept_ns(row: &Row) -> u64 {
    if row.held { row.end_ns - row.start_ns } else { row.runnable_ns - row.start_ns }
}

fn sleep(index: &RunIndex, row: &Row) -> Sleep {
    let stack = index.stack(row.stack.get()).map(|stack| index.names.get(stack.top).to_owned());
    Sleep {
        task: index.tasks.thread(row.tid, row.end_ns, &index.names),
        call: row.call.map(|call| index.names.get(call).to_owned()),
        start_ns: row.start_ns,
        duration_ns: slept_ns(row),
        cpu_quota: row.held.then(|| index.detail(row).map_or_else(String::new, ToString::to_string)),
        unfinished: is_unfinished(row),
        throughout: is_throughout(row),
        hangs: is_unfinished(row) && is_hardly_idle(index, row.tid),
        stack: stack.filter(|stack| !stack.is_empty()),
        waits_for: waits_for(index, row),
        waker: index
            .waker(row)
            .filter(|_| !row.unfinished)
            .map(|tid| index.tasks.thread(tid, row.runnable_ns, &index.names)),
        other_ends: if is_unfinished(row) { other_ends(index, row.tid) } else { Vec::new() },
    }
}

/// What a sleep in one of these calls, which wait for nothing else, is for.
const OBJECTS: [(&str, OtherEnd); 5] = [
    ("semop", OtherEnd::SystemVSemaphore),
    ("semtimedop", OtherEnd::SystemVSemaphore),
    ("msgrcv", OtherEnd::SystemVMessage),
    ("msgsnd", OtherEnd::SystemVRoom),
    ("mq_timedreceive", OtherEnd::PosixMessage),
];

fn waits_for(index: &RunIndex, row: &Row) -> Option<OtherEnd> {
    let at_end = index.lasting.get(&row.tid).filter(|known| is_unfinished(row) && known.holder_tid.is_none());
    if let Some(end) = at_end.and_then(other_end) {
        return Some(end.clone());
    }
    let call = index.names.get(row.call?);
    if let Some((_, object)) = OBJECTS.iter().find(|(name, _)| *name == call) {
        return Some(object.clone());
    }
    if index.does(row, traits::OPENS) && index.stack(row.stack.get()).is_some_and(|stack| stack.idle) {
        return Some(OtherEnd::FifoOpener);
    }
    // A thread of the same process may have been found to work for it, by a futex of its own.
    let waker = index.waker(row).and_then(|waker| index.tasks.pid(waker, row.runnable_ns));
    let is_own = waker.is_some() && waker == index.tasks.pid(row.tid, row.runnable_ns);
    let is_shared = index.awaits(row) == Some(Awaits::Thread) && !is_own;
    (is_shared && index.does(row, traits::WAITS_FOR_THREAD)).then_some(OtherEnd::SharedFutex)
}
