//! Tasks that are watched like the recorded command: their processes are looked for in /proc, and their children follow
//! by themselves.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::threads::{each_thread, process_of};
use crate::bytes::read_text;
use crate::pace::Pace;

/// A look may use a 200th of a CPU, and comes no more often than every half second.
const PAUSES: u64 = 200;
const REST_NS: u64 = 500_000_000;

/// How output shortens what is above a cgroup.
const SHORTENED: &str = ".../";

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

    /// A number is a PID; a value starting with `/` is a cgroup, as is `.../NAME` in output; anything else is a name.
    fn from_str(text: &str) -> Result<Followed, Infallible> {
        Ok(match text.parse() {
            Ok(pid) => Followed::Pid(pid),
            Err(_) if text.starts_with('/') || text.starts_with(SHORTENED) => {
                Followed::Cgroup(text.trim_end_matches('/').to_owned())
            }
            Err(_) => Followed::Comm(text.to_owned()),
        })
    }
}

impl fmt::Display for Followed {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Followed::Pid(pid) => pid.fmt(to),
            Followed::Comm(text) | Followed::Cgroup(text) => text.fmt(to),
        }
    }
}

impl Followed {
    /// Why it cannot be followed, however long the recording lasts: processes of a name or in a cgroup may start later.
    pub fn refused(&self, proc: &Path) -> Option<String> {
        let Followed::Pid(pid) = self else { return None };
        let Some(process) = process_of(proc, *pid) else { return Some("no such process".to_owned()) };
        (*pid != process).then(|| format!("a thread of process {process}: follow the process"))
    }

    /// That no process matched it.
    fn unmatched(&self) -> String {
        match self {
            Followed::Pid(pid) => format!("--follow {pid}: no such process"),
            Followed::Comm(name) => format!("--follow {name}: no process had a thread of this name"),
            Followed::Cgroup(path) => format!("--follow {path}: no process was in this cgroup"),
        }
    }
}

/// Looks for processes that are to be followed.
pub(super) struct Follower {
    proc: PathBuf,
    /// Each with whether a process matched it.
    wanted: Vec<(Followed, bool)>,
    /// Those that are followed already.
    known: HashSet<u32>,
    pace: Pace,
}

impl Follower {
    pub(super) fn new(proc: PathBuf, wanted: Vec<Followed>) -> Follower {
        let wanted = wanted.into_iter().map(|wanted| (wanted, false)).collect();
        Follower { proc, wanted, known: HashSet::new(), pace: Pace::new(PAUSES) }
    }

    /// What no process has matched, in words.
    pub(super) fn unmatched(&self) -> Vec<String> {
        self.wanted.iter().filter(|(_, is_matched)| !is_matched).map(|(wanted, _)| wanted.unmatched()).collect()
    }

    /// Whether a look is due.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        !self.wanted.is_empty() && self.pace.is_due(now_ns)
    }

    /// Sets the time of the next look by the cost of this one.
    pub(super) fn pace(&mut self, now_ns: u64, cost_ns: u64) {
        self.pace.done(now_ns, cost_ns, REST_NS);
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

/// Whether a process matches anything; notes all that it matches.
fn is_wanted(proc: &Path, wanted: &mut [(Followed, bool)], pid: u32, name: &[u8]) -> bool {
    let mut is_wanted = false;
    for (wanted, is_matched) in wanted {
        let matches = matches(proc, wanted, pid, name);
        *is_matched |= matches;
        is_wanted |= matches;
    }
    is_wanted
}

fn matches(proc: &Path, wanted: &Followed, pid: u32, name: &[u8]) -> bool {
    match wanted {
        Followed::Pid(wanted) => *wanted == pid,
        Followed::Comm(wanted) => wanted.as_bytes() == name,
        Followed::Cgroup(wanted) => {
            let text = read_text(proc.join(format!("{pid}/cgroup"))).unwrap_or_default();
            text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).any(|path| is_below(path, wanted))
        }
    }
}

fn is_below(path: &str, cgroup: &str) -> bool {
    let ends_name = |rest: &str| rest.is_empty() || rest.starts_with('/');
    // With its first `/`.
    let Some(name) = cgroup.strip_prefix("...") else {
        return path.strip_prefix(cgroup).is_some_and(ends_name);
    };
    path.match_indices(name).any(|(at, _)| ends_name(&path[at + name.len()..]))
}

#[cfg(test)]
mod tests {
    use super::{Followed, Follower};

    fn processes(text: &str) -> Vec<u32> {
        let (found, unmatched) = looked_for(&[text]);
        assert_eq!(unmatched.is_empty(), !found.is_empty(), "{unmatched:?}");
        found
    }

    /// Processes that are found, and what none matched.
    fn looked_for(texts: &[&str]) -> (Vec<u32>, Vec<String>) {
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
        let wanted = texts.iter().map(|text| text.parse().unwrap()).collect();
        let mut follower = Follower::new(folder.path().to_owned(), wanted);
        let mut found = follower.look();
        found.sort_unstable();
        assert_eq!(follower.look(), [0; 0], "each is found once");
        (found, follower.unmatched())
    }

    #[test]
    fn what_matches_no_process_is_known() {
        let (found, unmatched) = looked_for(&["nginx", "/web", "apache", "/mail"]);
        assert_eq!(found, [11, 12]);
        let expected =
            ["--follow apache: no process had a thread of this name", "--follow /mail: no process was in this cgroup"];
        assert_eq!(unmatched, expected);
    }

    #[test]
    fn a_missing_process_and_a_thread_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (id, process) in [(21, 21), (22, 21)] {
            let at = folder.path().join(id.to_string());
            std::fs::create_dir(&at).unwrap();
            std::fs::write(at.join("status"), format!("Name:\tx\nTgid:\t{process}\nPid:\t{id}\n")).unwrap();
        }
        let refused = |text: &str| text.parse::<Followed>().unwrap().refused(folder.path());
        assert_eq!(refused("21"), None);
        assert_eq!(refused("22").as_deref(), Some("a thread of process 21: follow the process"));
        assert_eq!(refused("23").as_deref(), Some("no such process"));
        assert_eq!((refused("nginx"), refused("/web")), (None, None), "they may start later");
    }

    #[test]
    fn processes_are_found_by_id_name_and_cgroup() {
        assert_eq!(processes("12"), [12]);
        assert_eq!(processes("nginx"), [11]);
        assert_eq!(processes("/web/"), [11, 12]);
        assert_eq!(processes("/x"), [11, 12, 13]);
        assert_eq!(processes(".../a"), [12]);
        assert_eq!(processes(".../web"), [11, 12]);
        assert_eq!(processes("/"), [11, 12, 13]);
        assert_eq!(processes("apache"), [0; 0]);
        assert_eq!("a/b".parse(), Ok(Followed::Comm("a/b".to_owned())));
    }
}
