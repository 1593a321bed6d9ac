//! What a task of a dump waits for.

use explain::blame::{Cause, DumpWait, waits_of_dump};
use model::cause::traits;
use model::kernel_function::{fits, sleeps};
use model::wait_kind::WaitKind;

use crate::class::Class;
use crate::dump::Task;
use crate::dump_rules::{OF_DUMPS, OF_MODULES};

/// What a task waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Where to look.
    pub class: Class,
    /// What for, in words.
    pub what: String,
    /// The function that says so, or the innermost one.
    pub function: String,
    /// It sleeps until a lock is released: its holder is nearer to the cause.
    pub for_lock: bool,
    /// It waits in memory reclaim: what it waits for delays all tasks that need memory.
    pub in_reclaim: bool,
}

/// Once memory is reclaimed, what the reclaiming task waits for is behind it.
const RECLAIM: &[&str] = &[
    "shrink_*",
    "do_shrink_slab",
    "try_to_free_*",
    "do_try_to_free_pages",
    "balance_pgdat",
    "__alloc_pages_slowpath",
    "reclaim_pages",
];
/// Functions that say nothing of what follows: the innermost of ZFS and SPL.
const WRAPPERS: &[&str] = &["cv_wait*", "__cv_wait*", "cv_timedwait*", "__cv_timedwait*", "spl_*", "closure_sync_fn"];

/// Functions of the threads that write a log or a transaction: where they sleep for I/O, the device is what they wait
/// for.
const COMMITS: &[&str] = &["jbd2_journal_commit_transaction", "journal_commit_transaction", "xlog_*", "spa_sync*"];
/// Sleeps for I/O.
const IO_SLEEPS: &[&str] = &[
    "io_schedule*",
    "bit_wait_io*",
    "wait_for_completion_io*",
    "sleep_on_buffer",
    "sleep_on_page*",
    "sync_buffer",
    "sync_page*",
];

/// What a task waits for. `None` of a stack that holds nothing but the scheduler.
pub(crate) fn wait_of(task: &Task) -> Option<Wait> {
    let frames: Vec<&str> = task.frames.iter().map(String::as_str).collect();
    let any = |patterns: &[&str], frame: &str| patterns.iter().any(|pattern| fits(pattern, frame));
    let begin = frames.iter().position(|frame| !sleeps(frame)).unwrap_or(frames.len());
    let sleeping = &frames[..begin];
    let callers: Vec<&str> = frames[begin..].iter().copied().filter(|frame| !any(WRAPPERS, frame)).collect();
    let callers = from_freeze(&callers);
    let innermost = callers.first()?;
    let sleep = if task.sleeps_on_lock() {
        Sleep::Lock
    } else if sleeping.iter().any(|frame| any(IO_SLEEPS, frame)) {
        Sleep::Io
    } else {
        Sleep::Other
    };
    let reclaim = callers.iter().position(|frame| any(RECLAIM, frame));
    // Within reclaim, what it waits for; where that is nothing known, memory.
    let inner = reclaim.map_or(callers, |at| &callers[..at]);
    let of_module = || (sleep != Sleep::Lock).then(|| module_of(task, innermost)).flatten();
    let found = classified(inner, sleep).or_else(|| classified(callers, sleep)).or_else(of_module);
    let (class, what, function) = found.unwrap_or_else(|| unclassified(sleep, innermost));
    Some(Wait { class, what, function, for_lock: sleep == Sleep::Lock, in_reclaim: reclaim.is_some() })
}

/// Stacks in logs have both functions of the lock that freezing takes: where the outer one's caller says that it is
/// that lock, from there on.
fn from_freeze<'a, 'b>(callers: &'b [&'a str]) -> &'b [&'a str] {
    let outer = callers.strip_prefix(&["percpu_rwsem_wait"]).filter(|rest| rest.starts_with(&["__percpu_down_read"]));
    let is_frozen = |rest: &&[&str]| waits_of_dump(rest).iter().any(|wait| wait.at == 0 && wait.cause == Cause::Frozen);
    outer.filter(is_frozen).unwrap_or(callers)
}

/// What puts a task to sleep.
#[derive(Clone, Copy, PartialEq)]
enum Sleep {
    Lock,
    Io,
    Other,
}

/// A rule that matches: the position of its function, the class, and what for.
type Match = (usize, Class, String);

fn classified(callers: &[&str], sleep: Sleep) -> Option<(Class, String, String)> {
    let (at, class, what) = match sleep {
        Sleep::Lock => lock(callers)?,
        _ => decided(matches(callers))?,
    };
    let function = callers[at];
    if sleep == Sleep::Io && at == 0 && COMMITS.iter().any(|pattern| fits(pattern, function)) {
        return Some((Class::Device, format!("I/O of {what}"), function.to_owned()));
    }
    Some((class, what, function.to_owned()))
}

/// A lock is a lock, whatever function asks for it.
fn lock(callers: &[&str]) -> Option<Match> {
    let innermost = callers.first()?;
    let waits = waits_of_dump(callers);
    let of = waits.iter().find(|wait| wait.at == 0 && matches!(wait.cause, Cause::Lock | Cause::Frozen));
    Some(match of {
        Some(wait) => (0, class_of(*wait), wait.kind.words().to_owned()),
        // A file system of a server or a program holds its locks across requests to it.
        None => match matches(&callers[..1]).first() {
            Some((_, class @ (Class::Server | Class::Program), what)) => {
                (0, *class, format!("a lock held across requests to {what}"))
            }
            _ => (0, Class::Lock, format!("a lock in {innermost}")),
        },
    })
}

/// All rules that match, those for recorded stacks first.
fn matches(callers: &[&str]) -> Vec<Match> {
    let of_rules =
        waits_of_dump(callers).into_iter().map(|wait| (wait.at, class_of(wait), wait.kind.words().to_owned()));
    let mut found: Vec<Match> = of_rules.collect();
    for (at, function) in callers.iter().enumerate() {
        let rule = OF_DUMPS.iter().find(|(.., functions)| functions.iter().any(|pattern| fits(pattern, function)));
        found.extend(rule.map(|(class, what, _)| (at, *class, (*what).to_owned())));
    }
    found
}

/// The innermost function decides, with two exceptions: what a worker or a thread of its own does is known by its
/// waiters, and I/O below the functions of a server's or a program's file system goes there.
fn decided(mut found: Vec<Match>) -> Option<Match> {
    found.sort_by_key(|(at, ..)| *at);
    let outer = |wanted: fn(Class) -> bool| found.iter().find(|(_, class, _)| wanted(*class)).cloned();
    let first = found.first()?;
    match first.1 {
        Class::Device => outer(|class| matches!(class, Class::Server | Class::Program)),
        Class::Other => outer(|class| class != Class::Other),
        _ => None,
    }
    .or_else(|| Some(first.clone()))
}

/// By the module of the innermost function.
fn module_of(task: &Task, innermost: &str) -> Option<(Class, String, String)> {
    let at = task.frames.iter().position(|frame| frame == innermost)?;
    let module = task.modules.get(at)?;
    let (class, what, _) =
        OF_MODULES.iter().find(|(.., modules)| modules.iter().any(|pattern| fits(pattern, module)))?;
    Some((*class, (*what).to_owned(), innermost.to_owned()))
}

fn unclassified(sleep: Sleep, innermost: &str) -> (Class, String, String) {
    let (class, what) = match sleep {
        Sleep::Io => (Class::Device, format!("I/O in {innermost}")),
        _ => (Class::Unknown, format!("unknown, in {innermost}")),
    };
    (class, what, innermost.to_owned())
}

fn class_of(wait: DumpWait) -> Class {
    match wait.cause {
        // Submitted: the device, or what is below, has to complete it.
        Cause::WritebackWait if wait.on_request => Class::Device,
        Cause::NetworkFs if wait.kind == WaitKind::FuseServer => Class::Program,
        Cause::Frozen | Cause::Stopped => Class::Halted,
        Cause::NetworkFs => Class::Server,
        Cause::Fanotify => Class::Program,
        Cause::DirtyThrottle | Cause::IoThrottle => Class::Throttled,
        Cause::Lock => Class::Lock,
        Cause::Peer => Class::Other,
        cause if cause.has(traits::MEMORY) || cause == Cause::OutOfMemory => Class::Memory,
        cause if cause.has(traits::LOG) || cause == Cause::WritebackWait => Class::FileSystem,
        _ => Class::Device,
    }
}
