//! What to do where the effect of no change can be predicted.

use explain::blame::is_for_child;
use model::cause::Cause;
use model::detail::OtherEnd;
use model::system_call::{traits, traits_of};
use model::title::Activity;
use serde_json::Value;

use super::sentence::{Kind, Sentence, Writer};

/// Least share of the time that a cause must have.
const LEAST: f64 = 0.5;

/// Against the cause that took most of the time; `None` where none did. `causes` is the path of their list.
pub(super) fn of_causes(document: &Value, causes: &str, intro: &str) -> Option<Sentence> {
    let list = document.pointer(causes)?.as_array()?;
    let first = list.iter().find(|cause| cause["share"].as_f64() >= Some(LEAST))?;
    let cause = Cause::from_name(first["cause"].as_str()?)?;
    Some(advice(document, intro, to_do(cause)?))
}

/// Against sleeps that no operation holds, by what ended the longest.
pub(super) fn of_sleeps(document: &Value) -> Option<Sentence> {
    let sleeps = &document["sleeps"];
    let longest = &sleeps["longest"][0];
    let call = longest["call"].as_str().or_else(|| sleeps["idle"]["calls"][0].as_str())?;
    if longest["waker"].is_string() {
        return waker(document);
    }
    if let Some(at) = to_look_at(longest) {
        return other_end(document, at);
    }
    let what = if longest["throughout"] == true {
        "find out what should have ended it, and record that program, too"
    } else if is_timer(call) {
        "its own timer ended it, so only a change of this program shortens it"
    } else if is_for_child(call) {
        "record its child, too"
    } else if is_idle(sleeps) {
        "find out who should have answered, and record that program, too"
    } else {
        "no task of this machine ended it, so look at its timeout, or at the other end of its connection"
    };
    if is_idle(sleeps) {
        let mut writer = Writer::new(document);
        writer.say("If it was not idle there: ");
        writer.say(what);
        return Some(writer.end());
    }
    Some(advice(document, "What would help", what))
}

fn is_idle(sleeps: &Value) -> bool {
    sleeps["count"].as_u64() == Some(0)
}

/// `What would help cannot be predicted: look at what dd/93 did in the meantime, ...`
fn waker(document: &Value) -> Option<Sentence> {
    let mut writer = Writer::new(document);
    writer.say("What would help cannot be predicted: look at what ");
    writer.value("/sleeps/longest/0/waker", Kind::Name)?;
    writer.say(" did in the meantime, which ended the longest of these sleeps");
    Some(writer.end())
}

/// Which other end of a sleep is to be looked at: who perhaps holds the lock that the others wait for, else the last.
pub(super) fn to_look_at(sleep: &Value) -> Option<usize> {
    let ends = sleep["other_ends"].as_array()?;
    ends.iter().position(|end| end["certain"] == false).or(ends.len().checked_sub(1))
}

/// What lets go on who has the other end of a sleep: by its state, or by what its title says that it does.
fn remedy_of(end: &Value) -> Option<(&'static str, &'static str)> {
    let does = |activity: Activity| end["activity"] == activity.name();
    let is = |field: &str, of: OtherEnd| end[field] == of.name();
    match end["state"].as_str()? {
        "stopped" => Some(("continue ", " (SIGCONT)")),
        "traced" => Some(("end the debugger of ", "")),
        "frozen" => Some(("thaw the cgroup of ", "")),
        _ if does(Activity::IdleInTransaction) => Some(("end the idle transaction of ", "")),
        _ if does(Activity::Executes) => Some(("cancel or speed up the statement of ", "")),
        "running" => Some(("end or speed up what ", " does (it is running)")),
        _ if is("on_type", OtherEnd::Timer) => Some(("end or shorten the sleep on its own timer of ", "")),
        // A client of the server, not one of its processes.
        _ if end["title"].is_null() && is("through_type", OtherEnd::ServerLock) => {
            Some(("end what ", " has open at its server (a transaction, a lock)"))
        }
        _ => None,
    }
}

/// `What would help cannot be predicted: look at what psql/93 does, ...`, or `What would help: continue php/8 (SIGCONT), ...`
fn other_end(document: &Value, at: usize) -> Option<Sentence> {
    let end = &document["sleeps"]["longest"][0]["other_ends"][at];
    let remedy = remedy_of(end);
    let (before, after) = remedy.unwrap_or(("look at what ", " does"));
    let mut writer = Writer::new(document);
    writer.say("What would help");
    writer.say(if remedy.is_some() { ": " } else { " cannot be predicted: " });
    writer.say(before);
    writer.value(&format!("/sleeps/longest/0/other_ends/{at}/task"), Kind::Name)?;
    writer.say(after);
    writer.say(", which the longest of these sleeps is probably for");
    Some(writer.end())
}

/// The words say that there is no figure.
fn advice(document: &Value, intro: &str, what: &str) -> Sentence {
    let mut writer = Writer::new(document);
    writer.say(intro);
    writer.say(" cannot be predicted: ");
    writer.say(what);
    writer.end()
}

fn is_timer(call: &str) -> bool {
    traits_of(call).has(traits::SLEEPS)
}

/// Remedies whose effect no run shows; `None` against time of which nothing is known.
fn to_do(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::DirectReclaim | Cause::ReclaimThrottle | Cause::Shrinker | Cause::Compaction | Cause::Swap => {
            "leave it more memory, or let less run beside it"
        }
        Cause::OutOfMemory => "raise the limit of its memory cgroup, or let the OOM killer end a task of it",
        Cause::DirtyThrottle | Cause::WritebackWait => "write less at once, or to a faster disk",
        Cause::Journal | Cause::FsLog | Cause::FsTransaction => {
            "make fewer changes of metadata and fewer syncs, or make them on another file system"
        }
        Cause::RequestWait | Cause::SchedulerQueue | Cause::Device | Cause::PageFault => {
            "ask the disk for less, let less use it at once, or use a faster one"
        }
        Cause::DeviceError => {
            "look at the kernel's log and at the disk, its cable and its controller (smartctl -a): requests fail there"
        }
        Cause::IoThrottle => "raise the limit of the cgroup, or of one above it",
        Cause::Frozen => "thaw the file system",
        Cause::Lock => "let its holder hold the lock for a shorter time",
        Cause::CpuWait => "leave it more of the CPUs",
        Cause::CpuThrottle => "raise the CPU quota of the cgroup, or of one above it",
        Cause::IoWorker => "find out what the asynchronous requests wait for: the kernel does not say whose they are",
        Cause::NetworkFs | Cause::Fanotify => "find out what the server waits for: record its processes, too",
        Cause::Peer => "let the other end accept, read or answer sooner: record its process, too",
        Cause::Stopped => "continue the stopped task",
        Cause::Sleep => "shorten the program's sleep on its own timer, or wake it by an event",
        Cause::Running => "make what is computed cheaper (perf record)",
        Cause::Unexplained => return None,
    })
}
