//! Titles that processes give themselves: what they say that they do.

use std::path::Path;

use model::title::Activity;

use crate::bytes::shown;
use crate::trace::threads::parent_of;

const LONGEST: usize = 200;

/// `postgres: bob shop [local] UPDATE waiting`. A command line is no title.
pub(super) fn of(proc: &Path, pid: u32) -> Option<String> {
    let line = std::fs::read(proc.join(format!("{pid}/cmdline"))).ok()?;
    let first = line.split(|byte| *byte == 0).next()?;
    let title = shown(first.trim_ascii_end());
    let (name, _) = title.split_once(": ")?;
    let is_name = !name.is_empty() && !name.contains(['/', ' ']);
    is_name.then(|| title.chars().take(LONGEST).collect())
}

/// The only session of the same server that may keep what this one waits for, by the titles of processes: one that
/// idles in its transaction or, if none does, one that works.
pub(super) fn holder(proc: &Path, pid: u32, processes: &[u32], title: impl Fn(u32) -> Option<String>) -> Option<u32> {
    title(pid).filter(|title| Activity::of_title(title) == Some(Activity::WaitsForLock))?;
    let server = parent_of(proc, pid)?;
    let is_other = |other: &u32| *other != pid && parent_of(proc, *other) == Some(server);
    let others: Vec<(u32, String)> =
        processes.iter().filter(|other| is_other(other)).filter_map(|other| Some((*other, title(*other)?))).collect();
    let idles = |title: &str| Activity::of_title(title) == Some(Activity::IdleInTransaction);
    let idle: Vec<u32> = others.iter().filter(|(_, title)| idles(title)).map(|(pid, _)| *pid).collect();
    let at_work: Vec<u32> = others.iter().filter(|(_, title)| is_at_work(title)).map(|(pid, _)| *pid).collect();
    match (idle.as_slice(), at_work.as_slice()) {
        ([holder], _) | ([], [holder]) => Some(*holder),
        _ => None,
    }
}

/// Whether a title is that of a session with a client, which executes a command and does not wait for a lock.
fn is_at_work(title: &str) -> bool {
    let has_client =
        title.contains(" [local] ") || title.split(' ').any(|word| word.ends_with(')') && word.contains('('));
    has_client && matches!(Activity::of_title(title), Some(Activity::Executes) | None)
}

#[cfg(test)]
mod tests {
    use super::{holder, of};

    #[test]
    fn the_only_idle_session_of_the_same_server_is_the_holder() {
        let home = tempfile::tempdir().unwrap();
        let processes = [
            (10, 1, "postgres: bob shop [local] UPDATE waiting\0"),
            (11, 1, "postgres: bob shop [local] idle in transaction\0"),
            (12, 1, "postgres: bob shop [local] idle\0"),
            (13, 2, "postgres: eve shop [local] idle in transaction\0"),
            (14, 1, "/usr/bin/curl\0http: //waiting\0"),
            (15, 2, "postgres: eve shop [local] SELECT waiting"),
            (16, 2, "postgres: eve shop [local] idle in transaction (aborted)"),
            (20, 3, "postgres: ann shop 10.0.0.1(5678) COPY"),
            (21, 3, "postgres: ann shop [local] ALTER TABLE waiting"),
            (22, 3, "postgres: ann shop [local] SELECT waiting"),
            (23, 3, "postgres: walwriter"),
            (24, 3, "postgres: ann shop [local] idle"),
        ];
        for (pid, parent, line) in processes {
            std::fs::create_dir(home.path().join(format!("{pid}"))).unwrap();
            std::fs::write(home.path().join(format!("{pid}/cmdline")), line).unwrap();
            std::fs::write(home.path().join(format!("{pid}/status")), format!("Name:\tx\nPPid:\t{parent}\n")).unwrap();
        }
        let pids = processes.map(|(pid, ..)| pid);
        let holder = |pid| holder(home.path(), pid, &pids, |pid| of(home.path(), pid));
        assert_eq!(holder(10), Some(11));
        assert_eq!([12, 14, 15].map(holder), [None; 3], "idle, no title, two of them");
        assert_eq!(holder(21), Some(20), "pg_dump's");
        assert_eq!(of(home.path(), 12).as_deref(), Some("postgres: bob shop [local] idle"));
        assert_eq!(of(home.path(), 14), None);
    }
}
