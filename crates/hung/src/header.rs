//! Lines that begin a task.

use crate::dump::Task;

/// What a line says of the task whose stack follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Header {
    /// `INFO: task NAME:TID blocked for more than N seconds.`
    Hung(Task),
    /// A task's own line: its name, state and ids. It follows that above, or stands alone.
    State(Task),
    /// `Workqueue: writeback wb_workfn (flush-8:0)`
    Work(String),
    /// The kernel's release.
    Kernel(String),
}

pub(crate) fn header(message: &str) -> Option<Header> {
    let text = message.trim();
    hung(text)
        .or_else(|| work(text))
        .or_else(|| kernel(text))
        .or_else(|| new_state(text))
        .or_else(|| of_crash(text))
        .or_else(|| of_proc(text))
        .or_else(|| old_state(text))
}

fn task(name: &str, tid: Option<u32>, state: Option<char>) -> Task {
    Task { name: name.trim().to_owned(), tid, state, ..Task::default() }
}

/// A name may contain colons: the last one precedes the id.
pub(crate) fn name_and_tid(text: &str) -> Option<(&str, u32)> {
    let (name, tid) = text.trim().rsplit_once(':')?;
    Some((name, tid.parse().ok()?))
}

fn hung(text: &str) -> Option<Header> {
    let (_, rest) = text.split_once("INFO: task ").or_else(|| text.split_once("INFO: Task "))?;
    let (who, rest) = rest.split_once(" blocked for more than ")?;
    // `blocked in I/O wait` since 6.19 or so.
    let who = who.strip_suffix(" is").unwrap_or(who);
    let (name, tid) = name_and_tid(who)?;
    let seconds = rest.split_whitespace().next()?.parse().ok();
    Some(Header::Hung(Task { blocked_s: seconds, ..task(name, Some(tid), Some('D')) }))
}

fn work(text: &str) -> Option<Header> {
    Some(Header::Work(text.strip_prefix("Workqueue: ")?.trim().to_owned()))
}

/// `Not tainted 5.10.76 #1-NixOS`, `Tainted: P           O      5.10.76 #1-NixOS`
fn kernel(text: &str) -> Option<Header> {
    if !text.starts_with("Not tainted") && !text.starts_with("Tainted:") {
        return None;
    }
    let is_release = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.split('.').take(2).filter(|part| !part.is_empty()).count() == 2
    };
    Some(Header::Kernel(text.split_whitespace().find(is_release)?.to_owned()))
}

/// `task:NAME            state:D stack:    0 pid: 9831 ppid:  9614 flags:0x00000004`
fn new_state(text: &str) -> Option<Header> {
    let (name, rest) = text.strip_prefix("task:")?.rsplit_once("state:")?;
    let state = rest.chars().next()?;
    let (_, pid) = rest.split_once("pid:")?;
    let tid = pid.split_whitespace().next()?.parse().ok();
    Some(Header::State(task(name, tid, Some(state))))
}

/// `PID: 1234   TASK: ffff8800   CPU: 3   COMMAND: "dd"`, in which `bt` shows what sleeps and what runs.
fn of_crash(text: &str) -> Option<Header> {
    let rest = text.strip_prefix("PID:")?;
    let tid = rest.split_whitespace().next()?.parse().ok()?;
    let (_, name) = rest.split_once("COMMAND:")?;
    Some(Header::State(task(name.trim().trim_matches('"'), Some(tid), None)))
}

/// `==> /proc/123/stack <==`, `cat /proc/123/task/124/stack`, `/proc/123/stack:`, `# cat /proc/123/stack # main thread`
fn of_proc(text: &str) -> Option<Header> {
    let (before, rest) = text.split_once("/proc/")?;
    let (path, after) = rest.split_once("/stack")?;
    let tid = path.rsplit('/').next()?.parse().ok()?;
    let name = after.split_once('#').map(|(_, comment)| comment.trim()).unwrap_or_default();
    (before.len() < 80).then(|| Header::State(task(name, Some(tid), None)))
}

/// `NAME D ffff8801ffc13780 0 103 2 0x00000000`: name, state, an address or nothing, free stack, ids.
fn old_state(text: &str) -> Option<Header> {
    let words: Vec<&str> = text.split_whitespace().take(16).collect();
    let is_state = |word: &&str| word.len() == 1 && "RSDTtXZPIWKN".contains(*word);
    let at = (1..words.len()).find(|at| is_state(&words[*at]))?;
    let is_address = |word: &str| word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut rest = &words[at + 1..];
    if rest.first().is_some_and(|word| is_address(word)) {
        rest = &rest[1..];
    } else if rest.starts_with(&["running", "task"]) {
        rest = &rest[2..];
    }
    let ids: Vec<u32> = rest.iter().map_while(|word| word.parse().ok()).collect();
    // Free stack, id, parent.
    (ids.len() >= 3).then(|| Header::State(task(&words[..at].join(" "), Some(ids[1]), words[at].chars().next())))
}

#[cfg(test)]
mod tests {
    use super::{Header, header};

    #[test]
    fn headers_of_all_forms() {
        let check = |line: &str, name: &str, tid: u32, state: Option<char>| match header(line) {
            Some(Header::Hung(task) | Header::State(task)) => {
                assert_eq!((task.name.as_str(), task.tid, task.state), (name, Some(tid), state), "{line}");
            }
            other => panic!("{line}: {other:?}"),
        };
        check("INFO: task jbd2/xvda2-8:103 blocked for more than 120 seconds.", "jbd2/xvda2-8", 103, Some('D'));
        check("INFO: task runc:[1:CHILD]:42539 blocked for more than 122 seconds.", "runc:[1:CHILD]", 42539, Some('D'));
        check(
            "task:smbd[192.168.4. state:D stack:0     pid:9738  tgid:9738  ppid:9453   flags:0x00004000",
            "smbd[192.168.4.",
            9738,
            Some('D'),
        );
        check("jbd2/vdt-8      D   0   390      2 0x00000000", "jbd2/vdt-8", 390, Some('D'));
        check("nfsd            D ffff88043fd13180     0  2308      2 0x00000000", "nfsd", 2308, Some('D'));
        check(
            "jbd2/dm-9-8   D ffff81043e0a1420     0   762    585           763   748 (L-TLB)",
            "jbd2/dm-9-8",
            762,
            Some('D'),
        );
        check("init            R  running task        0   334      1 0x00000008", "init", 334, Some('R'));
        check("PID: 4711   TASK: ffff88042d  CPU: 3   COMMAND: \"dd\"", "dd", 4711, None);
        check("==> /proc/123/stack <==", "", 123, None);
        check("doas cat /proc/40751/stack # main thread", "main thread", 40751, None);
        for line in [
            "Call Trace:",
            "a D b",
            "",
            "RAX: ffffffffffffffda RBX: 0 RCX: 1",
            "  task                        PC stack   pid father",
        ] {
            assert_eq!(header(line), None, "{line}");
        }
        assert_eq!(header("Tainted: P           O      5.10.76 #1-NixOS"), Some(Header::Kernel("5.10.76".into())));
    }
}
