//! Sleeps of a command that no operation holds, and programs that hang: who has the other end.

use explain::blame::{Explanation, OtherEnd, Sleep, TaskState, is_for_child};
use model::detail::OtherEnd as End;
use model::system_call::{traits, traits_of};
use model::title::Activity;

use super::fix::Fix;
use super::line::{Fact, Line};
use super::names::program_of;

/// Other ends of a chain that are said.
const LEVELS: usize = 4;

/// The sleep that an answer is about.
pub(super) fn longest(explanation: &Explanation) -> Option<&Sleep> {
    explanation.sleeps.longest.first()
}

/// `psql has been blocked for at least 4.00 s by postgres, which is stopped`
pub(super) fn headline(sleep: &Sleep) -> Vec<Line> {
    let begin = || Line::new().name(program_of(&sleep.task));
    let lasted = if sleep.unfinished {
        begin().say(" has been blocked for at least ").time(sleep.duration_ns)
    } else {
        begin().say(" slept ").time(sleep.duration_ns)
    };
    if let Some(quota) = &sleep.cpu_quota {
        let of = if quota.is_empty() { Line::new() } else { Line::of(" (").name(quota).say(")") };
        return vec![begin().say(" was held for ").time(sleep.duration_ns).say(" by its CPU quota").and(Some(of))];
    }
    if let Some(end) = to_look_at(sleep).map(|at| &sleep.other_ends[at]) {
        let by = if sleep.unfinished { " by " } else { " for " };
        let certain = if is_certain(sleep) { by } else { " probably by " };
        return vec![
            lasted.clone().say(certain).and(Some(blocking(end))),
            lasted.say(certain).name(program_of(&end.task)),
        ];
    }
    match (&sleep.waits_for, &sleep.waker) {
        (Some(what), _) => vec![lasted.say(" for ").name(what.to_string())],
        (None, Some(waker)) => vec![lasted.and(in_call(sleep)).say(" until ").name(program_of(waker)).say(" woke it")],
        (None, None) => vec![lasted.and(in_call(sleep))],
    }
}

fn in_call(sleep: &Sleep) -> Option<Line> {
    sleep.call.as_ref().map(|call| Line::of(" in ").name(call))
}

/// `an idle transaction of postgres`, `php-fpm, which is stopped`
fn blocking(end: &OtherEnd) -> Line {
    let name = program_of(&end.task);
    match (activity(end), end.state) {
        (_, Some(state @ (TaskState::Stopped | TaskState::Frozen))) => {
            Line::new().name(name).say(", which is ").say(state.name())
        }
        (_, Some(TaskState::Traced)) => Line::new().name(name).say(", which a debugger has stopped"),
        (Some(Activity::IdleInTransaction), _) => Line::of("an idle transaction of ").name(name),
        (Some(Activity::Executes), _) => Line::of("a statement of ").name(name),
        (_, Some(TaskState::Running)) => Line::new().name(name).say(", which is running"),
        _ if end.on == Some(End::Timer) => Line::new().name(name).say(", which sleeps on its own timer"),
        _ => Line::new().name(name),
    }
}

fn activity(end: &OtherEnd) -> Option<Activity> {
    Activity::of_title(end.title.as_deref()?)
}

/// Which other end is to be looked at: who perhaps holds the lock that the others wait for, else the last.
fn to_look_at(sleep: &Sleep) -> Option<usize> {
    let ends = &sleep.other_ends;
    ends.iter().position(|end| !end.is_certain).or(ends.len().checked_sub(1))
}

/// Whether the tasks that it waits for are certain.
pub(super) fn is_certain(sleep: &Sleep) -> bool {
    let last = to_look_at(sleep).unwrap_or(0);
    sleep.other_ends.iter().take(last + 1).all(|end| end.is_certain)
}

/// `psql/7 in poll, 4.00 s, still blocked at the end`
pub(super) fn who(explanation: &Explanation, sleep: &Sleep) -> Vec<Line> {
    let line = Line::new().name(sleep.task.to_string()).and(in_call(sleep));
    let line = match (sleep.throughout, sleep.unfinished) {
        (true, _) => line.say(", throughout the recording"),
        (false, true) => line.say(", for at least ").time(sleep.duration_ns).say(", still blocked at the end"),
        (false, false) => line.say(", ").time(sleep.duration_ns),
    };
    let sleeps = &explanation.sleeps;
    let more = sleeps.count.saturating_sub(1);
    let total = (more > 0)
        .then(|| Line::of("and ").counted(more, "other sleep").say("; ").time(sleeps.total_ns).say(" in all"));
    [Some(line), total].into_iter().flatten().collect()
}

/// Who waits for whom, one a line.
pub(super) fn why(sleep: &Sleep) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(what) = sleep.waits_for.as_ref().filter(|_| sleep.other_ends.is_empty()) {
        lines.push(Line::new().name(sleep.task.to_string()).say(" waits for ").name(what.to_string()));
    }
    let mut waiter = &sleep.task;
    for end in sleep.other_ends.iter().take(LEVELS) {
        lines.push(waits_for(waiter, end));
        waiter = &end.task;
    }
    if let Some(last) = sleep.other_ends.last().filter(|_| sleep.other_ends.len() <= LEVELS) {
        lines.extend(what_it_does(last));
    }
    if let (true, Some(waker)) = (sleep.other_ends.is_empty(), &sleep.waker) {
        lines.push(Line::new().name(waker.to_string()).say(" woke it"));
    }
    if let (true, Some(stack)) = (lines.is_empty(), &sleep.stack) {
        lines.push(Line::of("asleep in ").name(stack));
    }
    lines
}

/// `psql/7 waits for postgres/8 (a TCP connection; 14 bytes not read)`
fn waits_for(waiter: &explain::blame::TaskId, end: &OtherEnd) -> Line {
    let words = if end.is_certain { " waits for " } else { " probably waits for " };
    let line = Line::new().name(waiter.to_string()).say(words).name(end.task.to_string());
    let through = end.through.as_ref().map(|through| Line::new().name(through.to_string()));
    let unread = end.unread_bytes.map(|bytes| Line::new().counted(bytes, "byte").say(" not read"));
    match (through, unread) {
        (None, None) => line,
        (Some(one), None) | (None, Some(one)) => line.say(" (").and(Some(one)).say(")"),
        (Some(one), Some(other)) => line.say(" (").and(Some(one)).say("; ").and(Some(other)).say(")"),
    }
}

/// `postgres/9 sleeps in epoll_wait: "postgres: bob shop [local] idle in transaction"`
fn what_it_does(end: &OtherEnd) -> Option<Line> {
    let line = Line::new().name(end.task.to_string());
    let line = match (end.state?, &end.call) {
        (TaskState::Asleep, Some(call)) => line.say(" sleeps in ").name(call),
        (TaskState::Asleep, None) => line.say(" sleeps"),
        (TaskState::Traced, _) => line.say(" is stopped by a debugger"),
        (TaskState::Unknown, _) => return end.title.as_ref().map(|title| line.say(": \"").name(title).say("\"")),
        (state, _) => line.say(" is ").say(state.name()),
    };
    let line = match &end.on {
        Some(on) if end.state == Some(TaskState::Asleep) => line.say(" (").name(on.to_string()).say(")"),
        _ => line,
    };
    Some(match &end.title {
        Some(title) => line.say(": \"").name(title).say("\""),
        None => line,
    })
}

/// Who has the other end that is to be looked at, or woke it.
pub(super) fn blocker(sleep: &Sleep) -> Vec<Line> {
    if let Some(end) = to_look_at(sleep).map(|at| &sleep.other_ends[at]) {
        let line = Line::new().name(end.task.to_string());
        return vec![if is_certain(sleep) { line } else { line.say(", probably") }];
    }
    match &sleep.waker {
        Some(waker) => vec![Line::new().name(waker.to_string())],
        None => vec![Line::of("unknown")],
    }
}

/// What lets it go on.
pub(super) fn fix(explanation: &Explanation, sleep: &Sleep) -> Fix {
    if let Some(end) = to_look_at(sleep).map(|at| &sleep.other_ends[at]) {
        return against(end);
    }
    if let Some(waker) = &sleep.waker {
        return Fix::words(Line::of("look at what ").name(waker.to_string()).say(" did in the meantime"));
    }
    let call = sleep.call.as_deref().or(explanation.sleeps.idle_calls.first().map(String::as_str)).unwrap_or("");
    Fix::words(Line::of(if sleep.throughout {
        "find out what should have ended it, and record that program, too"
    } else if traits_of(call).has(traits::SLEEPS) {
        "its own timer ended it: only a change of this program shortens it"
    } else if is_for_child(call) {
        "record its child, too"
    } else {
        "no task of this machine ended it: look at its timeout, or at the other end of its connection"
    }))
}

/// What lets go on who has the other end, by its state or by what its title says that it does.
fn against(end: &OtherEnd) -> Fix {
    let (name, pid) = (end.task.to_string(), end.task.tid);
    let is_postgres = end.task.name.as_deref() == Some("postgres");
    let session = |function: &str| is_postgres.then(|| format!("psql -c 'select {function}({pid})'"));
    match (activity(end), end.state) {
        (_, Some(TaskState::Stopped)) => {
            Fix::command(Line::of("continue ").name(name), Some(format!("kill -CONT {pid}")))
        }
        (_, Some(TaskState::Traced)) => Fix::words(Line::of("end or detach the debugger of ").name(name)),
        (_, Some(TaskState::Frozen)) => Fix::words(Line::of("thaw the cgroup of ").name(name)),
        (Some(Activity::IdleInTransaction), _) => {
            Fix::command(Line::of("end the idle transaction of ").name(name), session("pg_terminate_backend"))
        }
        (Some(Activity::Executes), _) => {
            Fix::command(Line::of("cancel or speed up the statement of ").name(name), session("pg_cancel_backend"))
        }
        (_, Some(TaskState::Running)) => Fix::words(Line::of("end or speed up what ").name(name).say(" does")),
        _ if end.on == Some(End::Timer) => {
            Fix::words(Line::of("end or shorten the sleep of ").name(name).say(" on its own timer"))
        }
        // A client of the server, not one of its processes.
        _ if end.title.is_none() && end.through == Some(End::ServerLock) => {
            Fix::words(Line::of("end the transaction or lock that ").name(name).say(" has open at its server"))
        }
        _ => Fix::words(Line::of("look at what ").name(name).say(" does")),
    }
}

/// Where the other end is read from /proc, it is certain or likely.
pub(super) fn sure(explanation: &Explanation, sleep: &Sleep) -> Vec<Line> {
    let line = match (sleep.other_ends.is_empty(), is_certain(sleep), sleep.unfinished) {
        (false, true, _) => Line::of("the other ends are certain (/proc)"),
        (false, false, _) => Line::of("the other end is likely, not certain (/proc)"),
        (true, _, true) => Line::of("what it waits for is unknown"),
        (true, _, false) => Line::of("the sleep is traced"),
    };
    let line = line.and(Some(super::sure::losses(explanation)));
    [Some(line), super::sure::untraced(explanation)].into_iter().flatten().collect()
}

/// Sleeps in which a program may have idled: one that hangs looks the same.
pub(super) fn idle(explanation: &Explanation) -> Option<Line> {
    let sleeps = &explanation.sleeps;
    let call = sleeps.idle_calls.first().filter(|_| sleeps.idle_calls.iter().any(|call| !is_for_child(call)))?;
    let line = Line::new().counted(sleeps.idle_count, "sleep").say(", ").time(sleeps.idle_ns);
    let line = line.say(" in total, may have been idle (").name(call).say(")");
    Some(match sleeps.idle_throughout {
        0 => line,
        count => {
            line.say("; ").fact(Fact::Count(count)).say(" of them throughout the recording: a hang looks the same")
        }
    })
}
