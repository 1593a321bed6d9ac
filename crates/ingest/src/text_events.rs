//! What the fields of the scheduler's and of system calls' events say, in each tool's words.

use crate::rows::OffCpuState;
use crate::text_line::{TextLine, value};

/// What an event means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning<'a> {
    Switch {
        prev_tid: u32,
        prev_state: Option<OffCpuState>,
        next: (u32, &'a str),
    },
    /// `is_waking`: of `sched_waking`.
    Wakeup {
        tid: u32,
        is_waking: bool,
    },
    Exit {
        tid: u32,
    },
    CallBegins {
        call: Call<'a>,
    },
    CallEnds,
    /// The function that a task slept in.
    SleptIn {
        tid: u32,
        function: &'a str,
    },
    /// A request or bio has completed.
    Completion,
    Other,
}

/// A system call by its number or its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call<'a> {
    Number(i32),
    Name(&'a str),
}

pub(crate) fn meaning<'a>(line: &TextLine<'a>) -> Meaning<'a> {
    let found = match line.name {
        "sched_switch" => switch(line.fields),
        "sched_waking" => woken(line.fields).map(|tid| Meaning::Wakeup { tid, is_waking: true }),
        "sched_wakeup" | "sched_wakeup_new" => woken(line.fields).map(|tid| Meaning::Wakeup { tid, is_waking: false }),
        "sched_blocked_reason" => slept_in(line.fields),
        "sched_process_exit" => Some(Meaning::Exit { tid: line.tid }),
        "block_rq_complete" | "block_bio_complete" => Some(Meaning::Completion),
        "sys_enter" => number(line.fields).map(|number| Meaning::CallBegins { call: Call::Number(number) }),
        "sys_exit" => Some(Meaning::CallEnds),
        name => system_call(name, line.fields),
    };
    found.unwrap_or(Meaning::Other)
}

/// perf's `sys_enter_fsync`, and ftrace's `sys_fsync(fd: 3)` and `sys_fsync -> 0x0`.
fn system_call<'a>(name: &'a str, fields: &str) -> Option<Meaning<'a>> {
    if let Some(name) = name.strip_prefix("sys_enter_") {
        return Some(Meaning::CallBegins { call: Call::Name(name) });
    }
    if name.starts_with("sys_exit_") {
        return Some(Meaning::CallEnds);
    }
    let name = name.strip_prefix("sys_")?;
    if fields.starts_with("->") {
        return Some(Meaning::CallEnds);
    }
    fields.starts_with('(').then_some(Meaning::CallBegins { call: Call::Name(name) })
}

/// `NR 74 (3, 0, 0)`
fn number(fields: &str) -> Option<i32> {
    fields.strip_prefix("NR ")?.split_whitespace().next()?.parse().ok()
}

/// `prev_comm=a prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=b next_pid=8 next_prio=120`, or `a:7 [120] D ==>
/// b:8 [120]`.
fn switch(fields: &str) -> Option<Meaning<'_>> {
    let (prev, next) = fields.split_once(" ==> ")?;
    if let Some(prev_tid) = value(prev, "prev_pid") {
        let next_tid = value(next, "next_pid")?.parse().ok()?;
        let name = next
            .split_once("next_comm=")
            .and_then(|(_, rest)| rest.rsplit_once(" next_pid="))
            .map_or("", |(name, _)| name);
        let prev_state = state(value(prev, "prev_state")?);
        return Some(Meaning::Switch { prev_tid: prev_tid.parse().ok()?, prev_state, next: (next_tid, name) });
    }
    let (prev, prev_state) = prev.rsplit_once("] ")?;
    let (_, prev_tid) = task(prev)?;
    let (name, next_tid) = task(next)?;
    Some(Meaning::Switch { prev_tid, prev_state: state(prev_state.trim()), next: (next_tid, name) })
}

/// Of Android's kernels: `pid=7 iowait=1 caller=folio_wait_bit_common+0x1b0/0x300`
fn slept_in(fields: &str) -> Option<Meaning<'_>> {
    let function = value(fields, "caller")?;
    let function = &function[..function.find(['+', '/']).unwrap_or(function.len())];
    let is_name = function.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    let tid = value(fields, "pid")?.parse().ok()?;
    is_name.then_some(Meaning::SleptIn { tid, function })
}

fn woken(fields: &str) -> Option<u32> {
    match value(fields, "pid") {
        Some(pid) => pid.parse().ok(),
        None => task(fields).map(|(_, tid)| tid),
    }
}

/// `name:7 [120]`
fn task(text: &str) -> Option<(&str, u32)> {
    let (task, _) = text.rsplit_once(" [")?;
    let (name, tid) = task.rsplit_once(':')?;
    Some((name.trim(), tid.trim().parse().ok()?))
}

/// A letter, or several (`D|K`, `R+`), or the number of older tools. `None`: the task has ended.
fn state(text: &str) -> Option<OffCpuState> {
    match text.chars().next() {
        Some('R') => Some(OffCpuState::Preempted),
        Some('D') => Some(OffCpuState::Blocked),
        // trace-cmd calls the idle state of kernel threads (`I`) as old kernels called its bit.
        Some('S' | 'I' | 'P' | 'W') => Some(OffCpuState::Sleeping),
        Some('T' | 't') => Some(OffCpuState::Stopped),
        Some('X' | 'Z' | 'x') => None,
        Some('0') => Some(OffCpuState::Preempted),
        Some('1') => Some(OffCpuState::Sleeping),
        Some('2') => Some(OffCpuState::Blocked),
        _ => Some(OffCpuState::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Meaning, meaning};
    use crate::rows::OffCpuState;
    use crate::text_line::event;

    #[test]
    fn the_fields_of_three_tools() {
        let of = |rest: &str| -> Meaning<'static> {
            let line: &'static str = Box::leak(format!("dd-7 [001] 1.000001: {rest}").into_boxed_str());
            meaning(&event(line).unwrap())
        };
        let expected = Meaning::Switch { prev_tid: 7, prev_state: Some(OffCpuState::Blocked), next: (8, "a b") };
        assert_eq!(
            of("sched_switch: prev_comm=dd prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=a b next_pid=8 \
                 next_prio=1"),
            expected
        );
        assert_eq!(of("sched_switch:         dd:7 [120] D ==> a b:8 [120]"), expected);
        assert_eq!(of("sched_waking: comm=x pid=9 prio=0 target_cpu=000"), Meaning::Wakeup { tid: 9, is_waking: true });
        assert_eq!(of("sched_wakeup:         x:9 [120] CPU:000"), Meaning::Wakeup { tid: 9, is_waking: false });
        assert_eq!(of("sys_enter: NR 74 (3, 0)"), Meaning::CallBegins { call: Call::Number(74) });
        assert_eq!(of("sys_fsync(fd: 3)"), Meaning::CallBegins { call: Call::Name("fsync") });
        assert_eq!(of("sys_fsync -> 0x0"), Meaning::CallEnds);
        assert_eq!(of("syscalls:sys_enter_fsync: fd: 0x3"), Meaning::CallBegins { call: Call::Name("fsync") });
        assert_eq!(
            of("sched_blocked_reason: pid=9 iowait=1 caller=folio_wait_bit_common+0x1b0/0x300"),
            Meaning::SleptIn { tid: 9, function: "folio_wait_bit_common" }
        );
        assert_eq!(of("sched_blocked_reason: pid=9 caller=12 io_wait=1"), Meaning::Other);
        assert_eq!(of("ext4_sync_file_enter: dev 7,0"), Meaning::Other);
    }
}
