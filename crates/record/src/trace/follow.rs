//! Tasks that are watched like the recorded command: their processes are looked for in /proc, and their children follow by
//! themselves.

use std::collections::HashSet;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::threads::each_thread;

/// A look may use a 200th of a CPU, and comes no more often than every half second.
const PACE: u64 = 200;
const REST_NS: u64 = 500_000_000;

/// What is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// A process, by its id.
    Pid(u32),
    /// Processes with a thread of that name.
    Comm(String),
    /// Processes in that cgroup, or below it.
    Cgroup(String),
}

impl FromStr for Followed {
    type Err = Infallible;

    /// A number is a process, what begins with `/` is a cgroup, anything else a name.
    fn from_str(text: &str) -> Result<Followed, Infallible> {
        Ok(match text.parse() {
            Ok(pid) => Followed::Pid(pid),
            Err(_) if text.starts_with('/') => Followed::Cgroup(text.trim_end_matches('/').to_owned()),
            Err(_) => Followed::Comm(text.to_owned()),
        })
    }
}

/// Looks for processes that are to be followed.
pub(super) struct Follower {
    proc: PathBuf,
    wanted: Vec<Followed>,
    /// Those that are followed already.
    known: HashSet<u32>,
    next_ns: u64,
}

impl Follower {
    pub(super) fn new(proc: PathBuf, wanted: Vec<Followed>) -> Follower {
        Follower { proc, wanted, known: HashSet::new(), next_ns: 0 }
    }

    /// Whether a look is due.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        !self.wanted.is_empty() && now_ns >= self.next_ns
    }

    /// Sets the time of the next look by the cost of this one.
    pub(super) fn pace(&mut self, now_ns: u64, cost_ns: u64) {
        self.next_ns = now_ns + (cost_ns * PACE).max(REST_NS);
    }

    /// The processes that are to be followed from now on.
    pub(super) fn look(&mut self) -> Vec<u32> {
        let Follower { proc, wanted, known, .. } = self;
        let mut found = HashSet::new();
        each_thread(proc, std::process::id(), |thread| {
            let is_new = !found.contains(&thread.pid);
            if is_new && (known.contains(&thread.pid) || is_wanted(proc, wanted, thread.pid, thread.name)) {
                found.insert(thread.pid);
            }
        });
        let new = found.difference(known).copied().collect();
        *known = found;
        new
    }
}

fn is_wanted(proc: &Path, wanted: &[Followed], pid: u32, name: &[u8]) -> bool {
    wanted.iter().any(|wanted| match wanted {
        Followed::Pid(wanted) => *wanted == pid,
        Followed::Comm(wanted) => wanted.as_bytes() == name,
        Followed::Cgroup(wanted) => {
            let text = std::fs::read_to_string(proc.join(format!("{pid}/cgroup"))).unwrap_or_default();
            text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).any(|path| is_below(path, wanted))
        }
    })
}

fn is_below(path: &str, cgroup: &str) -> bool {
    path.strip_prefix(cgroup).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::{Followed, Follower};

    fn processes(text: &str) -> Vec<u32> {
        let folder = tempfile::tempdir().unwrap();
        let process = |pid: u32, name: &str, cgroup: &str| {
            let at = folder.path().join(pid.to_string());
            std::fs::create_dir(&at).unwrap();
            let stat = format!("{pid} ({name}) S {}", "1 ".repeat(40));
            std::fs::write(at.join("stat"), stat).unwrap();
            std::fs::write(at.join("cgroup"), format!("4:memory:/x\n0::{cgroup}\n")).unwrap();
        };
        process(11, "nginx", "/web");
        process(12, "nginx-2", "/web/a");
        process(13, "12", "/webs");
        let mut follower = Follower::new(folder.path().to_owned(), vec![text.parse().unwrap()]);
        let mut found = follower.look();
        found.sort_unstable();
        assert_eq!(follower.look(), [], "each is found once");
        found
    }

    #[test]
    fn processes_are_found_by_id_name_and_cgroup() {
        assert_eq!(processes("12"), [12]);
        assert_eq!(processes("nginx"), [11]);
        assert_eq!(processes("/web/"), [11, 12]);
        assert_eq!(processes("/x"), [11, 12, 13]);
        assert_eq!(processes("/"), [11, 12, 13]);
        assert_eq!(processes("apache"), []);
        assert_eq!("a/b".parse(), Ok(Followed::Comm("a/b".to_owned())));
    }
}
