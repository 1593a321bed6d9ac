//! A line of an event as text, of ftrace (`trace`, `trace_pipe`), `trace-cmd report` and `perf script`.
//!
//! ```text
//!           dd-123   [001] d..2.  100.000010: sched_switch: prev_comm=dd prev_pid=123 prev_prio=120 ...
//!           dd-123   [001]        100.000010: sched_switch:         dd:123 [120] D ==> swapper/1:0 [120]
//! dd   123/123 [001]   100.000010: sched:sched_switch: prev_comm=dd ...
//!         ffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])
//! ```

/// The thread id of an event whose task is unknown.
pub(crate) const NO_TASK: u32 = u32::MAX;

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextLine<'a> {
    pub(crate) at_ns: u64,
    pub(crate) cpu: u32,
    pub(crate) tid: u32,
    pub(crate) comm: &'a str,
    /// Without its system.
    pub(crate) name: &'a str,
    pub(crate) fields: &'a str,
}

pub(crate) fn event(line: &str) -> Option<TextLine<'_>> {
    let (time_at, end, at_ns) = time(line)?;
    let context = &line[..time_at];
    let rest = without_period(line[end..].trim_start());
    let (comm, tid, cpu) = task(context)?;
    let name_end = rest.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(rest.len());
    let (name, fields) = rest.split_at(name_end);
    let name = name.trim_end_matches(':');
    let name = name.rsplit_once(':').map_or(name, |(_, name)| name);
    (!name.is_empty()).then_some(TextLine { at_ns, cpu, tid, comm, name, fields: fields.trim() })
}

/// perf may put an event's period before it.
fn without_period(rest: &str) -> &str {
    let period = rest.split_once(' ').filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
    period.map_or(rest, |(_, rest)| rest.trim_start())
}

/// `SECONDS.FRACTION:` behind the CPU: where it begins and ends, in ns.
fn time(line: &str) -> Option<(usize, usize, u64)> {
    let from = line.find('[').unwrap_or(0);
    let mut at = from;
    for word in line[from..].split(' ') {
        if let Some(time) = word.strip_suffix(':').and_then(seconds) {
            return Some((at, at + word.len(), time));
        }
        at += word.len() + 1;
    }
    None
}

fn seconds(word: &str) -> Option<u64> {
    let (whole, fraction) = word.split_once('.')?;
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let scale = 10_u64.pow(9 - fraction.len() as u32);
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction.parse::<u64>().ok()? * scale)
}

/// `name-TID [CPU]`, `name-TID ( TGID) [CPU]`, `name TID [CPU]`, `name PID/TID [CPU]`; a name may contain anything.
fn task(context: &str) -> Option<(&str, u32, u32)> {
    let close = context.rfind(']')?;
    let open = context[..close].rfind('[')?;
    let cpu = context[open + 1..close].trim().parse().ok()?;
    let mut task = context[..open].trim();
    if let Some((before, _)) = task.strip_suffix(')').and_then(|task| task.rsplit_once('(')) {
        task = before.trim_end();
    }
    if let Some((name, tid)) = task.rsplit_once('-')
        && let Ok(tid) = tid.parse()
    {
        // Of a task that has ended, perf says `:-1 -1`.
        if name.ends_with([' ', '/']) {
            return Some(("", NO_TASK, cpu));
        }
        return Some((name.trim(), tid, cpu));
    }
    let (name, tid) = task.rsplit_once(' ')?;
    Some((name.trim(), tid.rsplit('/').next()?.parse().ok()?, cpu))
}

/// What records an event is at the top of its stack, where the tool does not leave it out.
const TRACERS: [&str; 5] =
    ["trace_event_raw_event_", "trace_event_buffer_commit", "__traceiter_", "perf_trace_", "__ftrace_trace_stack"];

/// A function of the kernel's stack below an event: `=> func` of ftrace, `ADDRESS func+0x1 ([kernel.kallsyms])` of
/// perf.
pub(crate) fn frame(line: &str) -> Option<&str> {
    function(line).filter(|function| !TRACERS.iter().any(|tracer| function.starts_with(tracer)))
}

fn function(line: &str) -> Option<&str> {
    let text = line.trim();
    let bare = |function: &'_ str| -> usize { function.find(['+', '.', ' ']).unwrap_or(function.len()) };
    if let Some(function) = text.strip_prefix("=> ") {
        return Some(&function[..bare(function)]);
    }
    let (address, rest) = text.split_once(' ')?;
    let is_address = address.len() >= 4 && address.bytes().all(|byte| byte.is_ascii_hexdigit());
    // A program's own functions are in a file; modules and the kernel are in brackets.
    let is_kernel = rest.ends_with("])") && rest.contains(" ([") || address.len() == 16 && address.starts_with("ffff");
    (is_address && is_kernel && !rest.starts_with('[')).then(|| &rest[..bare(rest)])
}

/// The value of `key=` up to the next space; of a name, which may contain spaces, up to the next key.
pub(crate) fn value<'a>(fields: &'a str, key: &str) -> Option<&'a str> {
    let mut from = 0;
    while let Some(at) = fields[from..].find(key).map(|at| from + at) {
        let begins = at == 0 || fields.as_bytes()[at - 1] == b' ';
        if begins && fields[at + key.len()..].starts_with('=') {
            let rest = &fields[at + key.len() + 1..];
            return Some(rest.split(' ').next().unwrap_or(rest));
        }
        from = at + key.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{NO_TASK, event, frame, value};

    #[test]
    fn lines_of_three_tools() {
        let check = |line: &str, comm: &str, tid: u32, name: &str, fields: &str| {
            let event = event(line).unwrap_or_else(|| panic!("{line}"));
            let found = (event.at_ns, event.cpu, event.comm, event.tid, event.name, event.fields);
            assert_eq!(found, (100_000_010_000, 1, comm, tid, name, fields), "{line}");
        };
        check(
            "          dd-123     [001] d..2.   100.000010: sched_switch: prev_comm=dd",
            "dd",
            123,
            "sched_switch",
            "prev_comm=dd",
        );
        check(" kworker/0:1-ev-12 ( 12) [001] ..... 100.000010: a: b", "kworker/0:1-ev", 12, "a", "b");
        check(
            "  a b-9  [001]  100.000010: sched_waking:         x:7 [120] CPU:000",
            "a b",
            9,
            "sched_waking",
            "x:7 [120] CPU:000",
        );
        check("dd   123/124 [001]   100.000010:    sched:sched_switch: x", "dd", 124, "sched_switch", "x");
        check("perf 13108 [001]  100.000010: block:block_rq_issue: 8,0", "perf", 13108, "block_rq_issue", "8,0");
        check("dd 123 [001] 100.000010:          1 block:block_rq_issue: 8,0", "dd", 123, "block_rq_issue", "8,0");
        check("  dd-123 [001] .....  100.000010: sys_fsync(fd: 3)", "dd", 123, "sys_fsync", "(fd: 3)");
        check(":-1    -1 [001]   100.000010:  sched:sched_waking: x", "", NO_TASK, "sched_waking", "x");
        check(":-1  9/-1 [001]   100.000010:  sched:sched_waking: x", "", NO_TASK, "sched_waking", "x");
        assert_eq!(event("# tracer: nop"), None);
    }

    #[test]
    fn functions_of_stacks() {
        assert_eq!(frame(" => jbd2_log_wait_commit"), Some("jbd2_log_wait_commit"));
        assert_eq!(frame("=> schedule (ffffffff821f94c3)"), Some("schedule"));
        assert_eq!(frame("=> trace_event_raw_event_sched_switch (ffffffff813a03c5)"), None);
        assert_eq!(frame("=> __traceiter_sched_switch (ffffffff81399b71)"), None);
        assert_eq!(frame("\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])"), Some("__schedule"));
        assert_eq!(frame("\tffffffffc0381234 ext4_sync_file+0x61 ([ext4])"), Some("ext4_sync_file"));
        assert_eq!(frame("\t           ee137 fsync+0x7 (/usr/lib/libc.so.6)"), None);
        assert_eq!(frame("dd 123"), None);
    }

    #[test]
    fn values_of_fields() {
        let fields = "prev_comm=a b prev_pid=7 prev_state=D ==> next_comm=c next_pid=8";
        assert_eq!(
            (value(fields, "prev_pid"), value(fields, "next_pid"), value(fields, "pid")),
            (Some("7"), Some("8"), None)
        );
    }
}
