//! Titles that processes give themselves: what they say that they do.

use std::path::Path;

/// A title as PostgreSQL's sessions have it ends so while they wait for a lock, and holds this while they keep locks and do nothing.
const WAITS: &str = " waiting";
const IDLES: &str = "idle in transaction";
const LONGEST: usize = 200;

/// `postgres: bob shop [local] UPDATE waiting`. A command line is no title.
pub(super) fn of(proc: &Path, pid: u32) -> Option<String> {
    let line = std::fs::read(proc.join(format!("{pid}/cmdline"))).ok()?;
    let first = line.split(|byte| *byte == 0).next()?;
    let title = String::from_utf8_lossy(first).trim_end().to_owned();
    let (name, _) = title.split_once(": ")?;
    let is_name = !name.is_empty() && !name.contains(['/', ' ']);
    is_name.then(|| title.chars().take(LONGEST).collect())
}

/// The only session of the same server that may keep what this one waits for, by the titles of processes.
pub(super) fn holder(proc: &Path, pid: u32, processes: &[u32], title: impl Fn(u32) -> Option<String>) -> Option<u32> {
    title(pid).filter(|title| title.ends_with(WAITS))?;
    let server = parent(proc, pid)?;
    let idles = |other: &u32| title(*other).is_some_and(|title| title.contains(IDLES));
    let mut others = processes.iter().copied().filter(|other| *other != pid && idles(other));
    let mut others = others.by_ref().filter(|other| parent(proc, *other) == Some(server));
    let holder = others.next()?;
    others.next().is_none().then_some(holder)
}

fn parent(proc: &Path, pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(proc.join(format!("{pid}/status"))).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
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
        assert_eq!(of(home.path(), 12).as_deref(), Some("postgres: bob shop [local] idle"));
        assert_eq!(of(home.path(), 14), None);
    }
}
