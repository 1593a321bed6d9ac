//! A reason as the end of a headline: `for the 6 MiB/s write limit of backup.service that tar used up`.

use explain::blame::{Cause, Culprit, TaskId};
use explain::whatif::Advice;
use model::cause::traits;
use model::wait_kind::WaitKind;

use super::line::{Fact, Line};
use super::names::{disk_of, place_of};
use super::reason::Reason;

/// What operations waited for, as long and as short as it can be said: the first that has room is taken.
pub(super) fn phrases(reason: &Reason<'_>, advice: Option<&Advice>) -> Vec<Line> {
    let (full, brief) = (what(reason, advice, true), what(reason, advice, false));
    let Some(through) = reason.through else {
        return vec![full.clone().and(by_whom(reason)), full, brief.clone().and(by_whom(reason)), brief];
    };
    let holder = reason.holder().filter(|_| through == Cause::Lock || through.has(traits::SERVER));
    let is_lock = through == Cause::Lock && is_held(reason);
    let alone = own_wait(reason, through, None);
    let mut owns = Vec::new();
    if holder.is_some() {
        owns.push(own_wait(reason, through, holder).say(", which "));
    }
    if let Some(holder) = holder.filter(|_| is_lock) {
        owns.push(Line::of("for a lock held by ").name(reason.name_of(holder)).say(", which "));
    }
    owns.push(alone.clone().say(if is_lock { ", whose holder " } else { ", which " }));
    let ends =
        [did(reason, full.clone().and(by_whom(reason)), true), did(reason, full, true), did(reason, brief, false)];
    let all = owns.iter().flat_map(|own| ends.iter().map(|end| own.clone().and(Some(end.clone()))));
    all.chain([alone.clone()]).collect()
}

/// What was behind the operations' own wait: `waited for the disk sda`, `waited for python3, asleep on its own timer`.
fn did(reason: &Reason<'_>, what: Line, full: bool) -> Line {
    let other = reason.other().filter(|name| reason.holder().is_none_or(|holder| reason.name_of(holder) != *name));
    match (reason.cause, other) {
        (Cause::Sleep, Some(name)) if full => Line::of("waited for ").name(name).say(", asleep on its own timer"),
        (Cause::Sleep, Some(name)) => Line::of("waited for ").name(name),
        (Cause::Sleep, None) => Line::of("slept on its own timer"),
        (Cause::Running, Some(name)) => Line::of("waited for the work of ").name(name),
        (Cause::Running, None) => Line::of("was running"),
        (Cause::Stopped, by) => behind_stopped(reason, by, full),
        _ => Line::of("waited ").and(Some(what)),
    }
}

/// What a server or holder waits for that was not stopped itself: `waited for sftp-server, which was stopped by bash`.
fn behind_stopped(reason: &Reason<'_>, by: Option<String>, full: bool) -> Line {
    let is_holder = reason.stopped().is_none_or(|(task, _)| reason.holder().is_none_or(|holder| holder == task));
    match (is_holder, by) {
        (false, by) => Line::of("waited ").and(Some(stopped(reason, by, full))),
        (true, Some(by)) => Line::of(how_stopped(reason)).say(" by ").name(by),
        (true, None) => Line::of(how_stopped(reason)),
    }
}

fn how_stopped(reason: &Reason<'_>) -> &'static str {
    if reason.stopped().is_some_and(|(_, frozen)| frozen) { "was frozen" } else { "was stopped" }
}

/// `for a lock held by tar`, `for the journal`.
fn own_wait(reason: &Reason<'_>, through: Cause, holder: Option<&TaskId>) -> Line {
    match (through, holder.map(|holder| reason.name_of(holder))) {
        (Cause::Lock, Some(holder)) if is_held(reason) => lock(reason).say(" held by ").name(holder),
        (Cause::Lock, Some(other)) => Line::of("for ").name(other),
        (Cause::Lock, None) => lock(reason),
        (Cause::Journal, _) => Line::of("for the journal"),
        (Cause::FsLog | Cause::FsTransaction, _) => Line::of("for the log of the file system"),
        (Cause::WritebackWait, _) => Line::of("for writeback"),
        (_, Some(holder)) => Line::of("for ").name(holder),
        (Cause::Peer, None) => Line::of("for the other end of a connection or pipe"),
        (Cause::NetworkFs, None) => Line::of("for a file server"),
        (other, None) => Line::of("for ").cause(other),
    }
}

/// What it was; `full`: with its place, and with a task that belongs to it.
fn what(reason: &Reason<'_>, advice: Option<&Advice>, full: bool) -> Line {
    let disk = || reason.culprit.and_then(disk_of).filter(|_| full);
    let on = |line: Line, words: &'static str| match disk() {
        Some(disk) => line.say(words).name(disk),
        None => line,
    };
    let place = || reason.culprit.and_then(place_of).filter(|_| full);
    let of_place = |line: Line| match place() {
        Some(place) => line.say(" of ").name(place),
        None => line,
    };
    match reason.cause {
        Cause::IoThrottle => limit(reason, advice, full),
        Cause::Device => on(Line::of("for the disk"), " "),
        Cause::DeviceError => on(Line::of("for requests that failed"), " at "),
        Cause::SchedulerQueue => on(Line::of("in the I/O scheduler queue"), " of "),
        Cause::RequestWait => on(Line::of("for a free request (tag)"), " of "),
        Cause::Journal => of_file_system(Line::of("for the journal"), reason, full),
        Cause::FsLog => of_file_system(Line::of("for the log"), reason, full),
        Cause::FsTransaction => of_file_system(Line::of("for a transaction"), reason, full),
        Cause::WritebackWait => on(Line::of("for writeback"), " to "),
        Cause::DirtyThrottle => on(Line::of("because too many pages were dirty"), " for "),
        Cause::Lock => lock(reason),
        Cause::CpuWait => Line::of("for a CPU"),
        Cause::CpuThrottle => of_place(Line::of("for the CPU quota")),
        Cause::PageFault => on(Line::of("for pages of mapped files"), " from "),
        Cause::Swap => on(Line::of("for pages from swap"), " on "),
        Cause::OutOfMemory => of_place(Line::of("for room in the full memory cgroup")),
        Cause::DirectReclaim | Cause::ReclaimThrottle | Cause::Shrinker | Cause::Compaction => memory(reason, full),
        Cause::IoWorker | Cause::Unexplained => Line::of("for ").cause(reason.cause),
        _ => for_task(reason, full),
    }
}

/// A wait for a task.
fn for_task(reason: &Reason<'_>, full: bool) -> Line {
    let other = reason.other().filter(|_| full);
    match (reason.cause, other) {
        (Cause::Frozen, Some(name)) => Line::of("for a file system that ").name(name).say(" froze"),
        (Cause::Frozen, None) => match reason.culprit.and_then(|culprit| culprit.file_system.as_ref()) {
            Some(name) if full => Line::of("for the frozen file system ").name(name),
            _ => Line::of("for a frozen file system"),
        },
        (Cause::NetworkFs, Some(name)) => Line::of("for the file server ").name(name),
        (Cause::NetworkFs, None) => Line::of("for a FUSE or network file system"),
        (Cause::Fanotify, Some(name)) => Line::of("for the fanotify listener ").name(name),
        (Cause::Fanotify, None) => Line::of("for a fanotify listener"),
        (Cause::Sleep, Some(name)) => Line::of("for ").name(name).say(", asleep on its own timer"),
        (Cause::Sleep, None) => Line::of("for a program that slept on its own timer"),
        (Cause::Running, Some(name)) => Line::of("for the work of ").name(name),
        (Cause::Running, None) => Line::of("for the work of another program"),
        (Cause::Stopped, by) => stopped(reason, by, full),
        (_, Some(name)) => Line::of("for ").name(name).say(" at the other end of a connection or pipe"),
        (_, None) => Line::of("for the other end of a connection or pipe"),
    }
}

/// `for redis, which was frozen by systemd`
fn stopped(reason: &Reason<'_>, by: Option<String>, full: bool) -> Line {
    let task = reason.stopped().map(|(task, _)| task).or_else(|| reason.holder());
    let name = task.map(|task| reason.name_of(task));
    let line = match name.clone().filter(|_| full) {
        Some(name) => Line::of("for ").name(name).say(", which "),
        None => Line::of("for a task that "),
    };
    let line = line.say(how_stopped(reason));
    match by.filter(|by| name.as_ref() != Some(by)) {
        Some(by) => line.say(" by ").name(by),
        None => line,
    }
}

/// ` that tar used up`: nothing where it is unknown, or was said.
fn by_whom(reason: &Reason<'_>) -> Option<Line> {
    let name = reason.other()?;
    Some(match reason.cause {
        Cause::IoThrottle => Line::of(" that ").name(name).say(" used up"),
        Cause::Device | Cause::RequestWait | Cause::WritebackWait | Cause::PageFault | Cause::Swap => {
            Line::of(", busy with ").name(name)
        }
        Cause::SchedulerQueue => Line::of(", behind ").name(name),
        Cause::Journal | Cause::FsLog | Cause::FsTransaction => Line::of(", kept busy by ").name(name),
        Cause::DirtyThrottle => Line::of(", most of them by ").name(name),
        Cause::Lock if !is_held(reason) => Line::of(" (").name(name).say(")"),
        Cause::Lock | Cause::OutOfMemory => Line::of(" held by ").name(name),
        Cause::CpuWait | Cause::CpuThrottle => Line::of(" used by ").name(name),
        Cause::DirectReclaim | Cause::ReclaimThrottle | Cause::Shrinker | Cause::Compaction => {
            Line::of(", most of it used by ").name(name)
        }
        _ => return None,
    })
}

/// `for the 6 MiB/s write limit of backup.service`, `for its own write limit on loop0`.
fn limit(reason: &Reason<'_>, advice: Option<&Advice>, full: bool) -> Line {
    let begin = if reason.is_own_fault() { "for its own " } else { "for the " };
    let line = Line::of(begin).and(reason.culprit.and_then(|culprit| rate(culprit, advice)));
    let line = line.say(direction(reason, advice)).say("limit");
    let Some(culprit) = reason.culprit.filter(|_| full) else { return line };
    // Memory was filled in a memory cgroup: the limit may be that of another one.
    match (place_of(culprit).filter(|_| !culprit.evicts), disk_of(culprit)) {
        (Some(place), _) if !reason.is_own_fault() => line.say(" of ").name(place),
        (_, Some(disk)) => line.say(" on ").name(disk),
        (Some(place), None) => line.say(" of ").name(place),
        (None, None) => line,
    }
}

/// `3 MiB/s `: where the disk has one limit in each direction, and one direction waited. What a limit let pass may be
/// more than its rate.
fn rate(culprit: &Culprit, advice: Option<&Advice>) -> Option<Line> {
    let limit = only_limit(culprit, advice?).filter(|limit| !limit.is_estimated)?;
    match (limit.bytes_per_s, limit.per_s) {
        (Some(bytes), None) => Some(Line::new().fact(Fact::Bytes(bytes)).say("/s ")),
        (None, Some(count)) => Some(Line::new().fact(Fact::Count(count)).say(" requests/s ")),
        _ => None,
    }
}

fn only_limit<'a>(culprit: &Culprit, advice: &'a Advice) -> Option<&'a explain::whatif::KnownLimit> {
    let mut of_disk = advice.limits.iter().filter(|limit| culprit.device.is_none_or(|disk| disk == limit.device));
    of_disk.next().filter(|_| of_disk.next().is_none())
}

/// `write `, where that is known.
fn direction(reason: &Reason<'_>, advice: Option<&Advice>) -> &'static str {
    let only = reason.culprit.zip(advice).and_then(|(culprit, advice)| only_limit(culprit, advice));
    let link = reason.example.and_then(|stall| stall.chain.iter().find(|link| link.cause == Cause::IoThrottle));
    match (only.map(|limit| limit.reads), link.and_then(|link| link.object)) {
        (Some(true), _) | (None, Some(WaitKind::Read)) => "read ",
        (Some(false), _) => "write ",
        (None, Some(kind)) if kind.writes() => "write ",
        _ => "I/O ",
    }
}

/// `for memory: app.service is above memory.high`
fn memory(reason: &Reason<'_>, full: bool) -> Line {
    let place = reason.culprit.and_then(place_of).filter(|_| full);
    let has =
        |kind: WaitKind| reason.example.is_some_and(|stall| stall.chain.iter().any(|link| link.object == Some(kind)));
    let of = |words: &'static str| match &place {
        Some(place) => Line::of("for memory: ").name(place),
        None => Line::of("for memory: ").say(words),
    };
    if has(WaitKind::AboveMemoryHigh) {
        return of("its memory cgroup").say(" is above memory.high");
    }
    if has(WaitKind::MemoryCgroupReclaim) || has(WaitKind::MemoryCgroupRoom) {
        return of("its memory cgroup").say(" is at its limit");
    }
    Line::of("for memory (").cause(reason.cause).say(")")
}

/// `for a file lock (flock)`, or `for a lock`.
fn lock(reason: &Reason<'_>) -> Line {
    match reason.kind() {
        Some(WaitKind::Asleep | WaitKind::KernelLock) | None => Line::of("for a lock"),
        Some(WaitKind::AnotherThread) => Line::of("for another thread"),
        Some(WaitKind::Listener) => Line::of("for a server that does not listen yet"),
        Some(kind) => Line::of(article(kind.words())).name(kind.words()),
    }
}

/// Whether what is waited for is held: not another thread, nor a server that does not listen yet.
fn is_held(reason: &Reason<'_>) -> bool {
    !matches!(reason.kind(), Some(WaitKind::AnotherThread | WaitKind::Listener))
}

fn article(words: &str) -> &'static str {
    if words.starts_with(['a', 'e', 'i', 'o', 'u']) { "for an " } else { "for a " }
}

/// ` of ext4 on /mnt/a`, or of its disk.
fn of_file_system(line: Line, reason: &Reason<'_>, full: bool) -> Line {
    let Some(culprit) = reason.culprit.filter(|_| full) else { return line };
    match culprit.file_system.clone().or_else(|| disk_of(culprit)) {
        Some(name) => line.say(" of ").name(name),
        None => line,
    }
}
