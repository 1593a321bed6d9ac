//! Waits that had not ended with the recording, by what /proc showed of them then: the task at the other end of what a
//! thread waits on, and what this task does. Where it is stopped, or has not read what it was sent, the wait is an
//! operation: a thread that waits for it does not idle.

use model::detail::{OtherEnd as End, Progress};
use model::stall::{Awaits, StallKind, StallRecord, stall_flags};
use model::system_call;
use model::title::Activity;

use crate::blame::facts::cause::traits;
use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::{Row, is_stopped};
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::run_index::lasting::other_end;
use crate::blame::operations::sleep::{OtherEnd, TaskState};
use crate::blame::rule::{Example, Rule};
use crate::thresholds::CHAIN_TASKS;

/// Of a command that is only a clock, the other waits have less than this part (1/16) of its time.
const CLOCK_PART: u64 = 16;

/// States as in the kernel's `__state`.
const UNINTERRUPTIBLE: u32 = 2;
const STOPPED: u32 = 4;
const TRACED: u32 = 8;
const FROZEN: u32 = 0x8000;

fn has(record: &StallRecord, flag: u32) -> bool {
    record.flags.is_some_and(|flags| flags & flag != 0)
}

/// Whether its task can do nothing about what others wait for: it is stopped, or has slept for something else than a
/// message throughout the recording.
fn is_stuck(record: &StallRecord) -> bool {
    is_stopped(record) || (record.state == Some(UNINTERRUPTIBLE) && has(record, stall_flags::CUT))
}

/// Whether a task's title says that it waits for a lock, as those of PostgreSQL's sessions do, or its server has not
/// accepted it, or has taken its request.
fn says_that_it_waits(known: &StallRecord) -> bool {
    let unanswered = |progress: Progress| progress != Progress::Open;
    known.work.as_deref().and_then(Activity::of_title) == Some(Activity::WaitsForLock)
        || other_end(known).and_then(End::progress).is_some_and(unanswered)
}

/// Whether a task wants nothing of the one at the other end, as far as /proc shows.
fn is_idle(known: &StallRecord) -> bool {
    matches!(known.awaits, Some(Awaits::Message) | None)
}

/// Whether a task cannot go on sending because the one at the other end sleeps for a time, and reads nothing meanwhile.
fn is_unread_while_resting(known: &StallRecord, next: Option<&StallRecord>) -> bool {
    known.awaits == Some(Awaits::Room) && next.and_then(other_end) == Some(&End::Timer)
}

/// Whether a task can answer nobody for most of another one's wait: it waits for a lock, or uninterruptibly.
fn is_kept(index: &RunIndex, known: &StallRecord, next: &StallRecord) -> bool {
    let waits =
        next.state == Some(UNINTERRUPTIBLE) || (next.awaits == Some(Awaits::Lock) && asked(index, next).is_some());
    let lasts_ns = |tid: u32| {
        let row = index.row(last_wait(index, tid)?);
        Some(row.end_ns - row.start_ns)
    };
    let both = lasts_ns(known.tid).zip(lasts_ns(next.tid)).filter(|_| waits && !has(known, stall_flags::ANY_THREAD));
    both.is_some_and(|(its_ns, next_ns)| next_ns >= its_ns / 2)
}

/// Whether the recorded command slept for a time, or waited for a child that did, in nearly all of its waits that have
/// ended. A wait that lasts to the end is one of the hangs that such a recording is made to show.
pub(crate) fn command_is_clock(index: &RunIndex) -> bool {
    let sleeps = |row: &Row| index.does(row, system_call::traits::SLEEPS | system_call::traits::WAITS_FOR_CHILD);
    let waits = index.rows.iter().filter(|row| row.watched && row.kind == StallKind::OffCpu);
    let (mut all_ns, mut asleep_ns) = (0u64, 0u64);
    for row in waits {
        let ns = row.runnable_ns - row.start_ns;
        all_ns = all_ns.saturating_add(ns);
        asleep_ns = asleep_ns.saturating_add(if sleeps(row) { ns } else { 0 });
    }
    all_ns > 0 && asleep_ns >= all_ns - all_ns / CLOCK_PART
}

/// The rows of waits that nobody ends because the task at the other end of their chain is stuck, and of those for an
/// answer that has not come: of the `subjects`, or, where nobody is asked about, of all; and those for a file system's
/// server, in which no task idles. They are sleeps that last.
pub(crate) fn find_hangs(index: &mut RunIndex, is_everything: bool) {
    let all = is_everything && (!index.has_command || index.command_is_clock);
    let mut tids: Vec<u32> = index.lasting.keys().copied().collect();
    tids.retain(|tid| all || index.subjects.contains(tid) || is_for_file_system(index, *tid));
    tids.sort_unstable();
    let chains = |tid: u32| [hang(index, tid), circle(index, tid).unwrap_or_default(), unanswered(index, tid)];
    let hung: Vec<u32> = tids.into_iter().flat_map(chains).flatten().collect();
    for tid in hung {
        let Some(at) = last_wait(index, tid) else { continue };
        let row = &mut index.rows[at as usize];
        (row.kind, row.unfinished, row.runnable_ns) = (StallKind::OffCpu, true, row.end_ns);
    }
}

/// Whom a task surely waits for, having asked it for something. What /proc shows of a task that waits for one of
/// several is a guess, until the tracer has seen that it asked.
fn asked(index: &RunIndex, known: &StallRecord) -> Option<u32> {
    let is_guess = has(known, stall_flags::HOLDER_IS_HINT);
    let is_sure = match known.awaits {
        Some(Awaits::Message) => is_guess && has_asked(index, known.tid),
        _ => !is_idle(known) && !is_guess,
    };
    known.holder_tid.filter(|_| is_sure)
}

/// Whether the tracer saw that the task's last wait is for an answer.
fn has_asked(index: &RunIndex, tid: u32) -> bool {
    last_wait(index, tid).is_some_and(|at| index.row(at).noted.what == Some(Awaits::Answer))
}

/// The task itself, if the tracer saw that it asked its peer and got no answer. What the peer did shows whether the
/// task idled.
fn unanswered(index: &RunIndex, tid: u32) -> Vec<u32> {
    let known = index.lasting.get(&tid).filter(|known| !is_stopped(known) && has_asked(index, tid));
    known.and_then(|known| asked(index, known)).map(|_| vec![tid]).unwrap_or_default()
}

/// The tasks of a chain that ends with a stuck one, without that; empty where none is known to be.
fn hang(index: &RunIndex, tid: u32) -> Vec<u32> {
    let (mut chain, mut is_hung) = (vec![tid], false);
    let Some(mut known) = index.lasting.get(&tid).filter(|known| !is_stopped(known)) else { return Vec::new() };
    while let Some(peer) = asked(index, known).filter(|peer| !chain.contains(peer) && chain.len() < CHAIN_TASKS) {
        let next = index.lasting.get(&peer);
        // It has not read what it was sent, or a file system waits for it.
        is_hung |=
            known.bytes.is_some() || is_for_file_system(index, known.tid) || is_unread_while_resting(known, next);
        is_hung |= next.is_some_and(|next| is_kept(index, known, next));
        if next.is_some_and(is_stuck) {
            return chain;
        }
        let Some(next) = next.filter(|_| !has(known, stall_flags::ANY_THREAD)) else { break };
        chain.push(peer);
        known = next;
    }
    if asked(index, known).is_none() {
        chain.pop();
    }
    if is_hung { chain } else { Vec::new() }
}

/// Tasks each of which waits for the next one, and the last for the first. Where one of them has more to send than the
/// next one reads (a parent that writes all input of a filter whose output it does not read yet), none of them idles,
/// and none goes on.
pub(crate) fn circle(index: &RunIndex, tid: u32) -> Option<Vec<u32>> {
    let (mut chain, mut sends) = (vec![tid], false);
    while chain.len() < CHAIN_TASKS {
        let known = index.lasting.get(chain.last()?).filter(|known| !is_stopped(known))?;
        sends |= known.awaits == Some(Awaits::Room);
        match asked(index, known).filter(|_| !has(known, stall_flags::ANY_THREAD))? {
            peer if peer == tid => return Some(chain).filter(|_| sends),
            peer if chain.contains(&peer) => return None,
            peer => chain.push(peer),
        }
    }
    None
}

pub(crate) fn is_for_file_system(index: &RunIndex, tid: u32) -> bool {
    let is_it = |row: &Row| {
        let rule = index.stack(row.stack.get()).and_then(|stack| stack.rule);
        rule.is_some_and(|rule| rule.cause.has(traits::SERVER))
    };
    last_wait(index, tid).is_some_and(|at| is_it(index.row(at)) || index.is_answered(index.row(at)))
}

/// The row of the wait that had not ended when /proc was read: the end of the recording may have ended it by a signal.
fn last_wait(index: &RunIndex, tid: u32) -> Option<u32> {
    let seen_ns = index.lasting.get(&tid).map_or(u64::MAX, StallRecord::end_ns);
    let spans = |row: &Row| row.kind == StallKind::OffCpu && row.start_ns < seen_ns && seen_ns < row.runnable_ns;
    let lasts = |row: &Row| row.unfinished || (row.kind == StallKind::Blocked && row.switched) || spans(row);
    index.rows_of(tid).filter(|(_, row)| lasts(row)).max_by_key(|(_, row)| row.end_ns).map(|(at, _)| at)
}

/// Whether a thread waits, or one that it waits for, for a lock or for somebody who has not read what it was sent.
pub(crate) fn is_hardly_idle(index: &RunIndex, tid: u32) -> bool {
    let (mut seen, mut at) = (Vec::new(), tid);
    while let Some(known) = index.lasting.get(&at).filter(|_| !seen.contains(&at) && seen.len() < CHAIN_TASKS) {
        if known.bytes.is_some() || known.awaits == Some(Awaits::Lock) || says_that_it_waits(known) {
            return true;
        }
        seen.push(at);
        match known.holder_tid.filter(|_| known.awaits != Some(Awaits::Message)) {
            Some(peer) => at = peer,
            None => return false,
        }
    }
    false
}

/// The task at the other end of what a thread waits on, the task at the other end of what this one waits on, and so on.
pub(crate) fn other_ends(index: &RunIndex, tid: u32) -> Vec<OtherEnd> {
    let (mut seen, mut ends) = (vec![tid], Vec::new());
    let mut known = index.lasting.get(&tid);
    while let Some((from, peer)) = known.and_then(|from| Some((from, from.holder_tid?))) {
        if ends.len() == CHAIN_TASKS {
            break;
        }
        let next = index.lasting.get(&peer);
        let any_thread = has(from, stall_flags::ANY_THREAD);
        ends.push(OtherEnd {
            task: index.tasks.thread(peer, from.end_ns(), &index.names),
            through: other_end(from).cloned(),
            is_certain: !has(from, stall_flags::HOLDER_IS_HINT),
            unread_bytes: from.bytes,
            title: next.and_then(|next| next.work.clone()),
            state: next.map(|next| state(next, any_thread)),
            call: next.filter(|next| !any_thread && !is_stopped(next)).and_then(|next| next.call.clone()),
            on: next.filter(|_| !any_thread).and_then(other_end).cloned(),
        });
        // Any thread of the process may serve the other end. Where one of them waits for a lock, the others do, too.
        let leads_on = |next: &&StallRecord| !any_thread || next.awaits == Some(Awaits::Lock);
        known = next.filter(leads_on).filter(|_| !seen.contains(&peer));
        seen.push(peer);
    }
    ends
}

pub(crate) const RULE: Rule = Rule {
    id: "other-end-is-stuck",
    concludes: "A wait that had not ended with the recording is for the task at its other end, which is stuck.",
    from: "/proc shows, when the recording ends, the task at the other end of what a thread waits on, the task at the \
           other end of its wait, and so on, up to a task that is \
           stopped, has slept uninterruptibly throughout, or waits uninterruptibly or for a lock for most of the wait \
           for it.",
    because: "Nobody idles who has asked something of a task that can answer nobody, or sent it what it has not read.",
    unless: "Any of several tasks may have the other end, or the last one sleeps for a message: it may be idle.",
    example: Example {
        timeline: "
            lasting  7 |==========| cut state=1 awaits=answer call=recvfrom holder=9
            lasting  9 |==========| cut state=4",
        causes: "stopped 10",
        chain: "thread 7: stopped 10 < thread 9: stopped 10",
    },
};

/// Of the rows that [`find_hangs`] found.
pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let hung = index.rows.iter().filter(|row| row.unfinished);
    let intent = |row: &Row| {
        let known = index.lasting.get(&row.tid)?;
        // Its cause is the file system, whatever the server does.
        let is_answer = is_idle(known) && row.noted.what == Some(Awaits::Answer);
        let what = if is_answer { Some(Awaits::Answer) } else { known.awaits };
        let what = what.filter(|_| !is_for_file_system(index, row.tid));
        Some(Intent { whom: known.holder_tid.into(), what, ..*index.intent(row) })
    };
    hung.filter_map(|row| Some((row.at, intent(row)?))).collect()
}

fn state(known: &StallRecord, any_thread: bool) -> TaskState {
    match known.state.unwrap_or(0) {
        state if state & FROZEN != 0 => TaskState::Frozen,
        state if state & STOPPED != 0 => TaskState::Stopped,
        state if state & TRACED != 0 => TaskState::Traced,
        // Also where another one of its threads may be meant.
        0 => TaskState::Running,
        _ if any_thread => TaskState::Unknown,
        _ => TaskState::Asleep,
    }
}
