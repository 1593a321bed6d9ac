//! Who started processes: a script's helpers do its work, and it is the script that somebody looks for.

use std::path::{Path, PathBuf};

use super::bounded_cache::BoundedCache;
use super::relative::Relative;
use crate::bytes::shown;

const PROCESSES: usize = 16_384;
/// From a helper to the starter of its shell.
const MOST_LEVELS: usize = 4;
/// The init process takes up those whose parent is gone.
const INIT: u32 = 1;
/// Their first argument is the program that they run.
const INTERPRETERS: [&str; 7] = ["sh", "bash", "dash", "ash", "ksh", "zsh", "python"];

/// The starters of processes, as they were found first: later the parents may be gone.
pub(super) struct Starters {
    proc: PathBuf,
    recorder: u32,
    /// With the time at which the process began.
    known: BoundedCache<u32, (u64, Option<String>)>,
}

impl Starters {
    pub(super) fn new(proc: PathBuf) -> Starters {
        Starters { proc, recorder: std::process::id(), known: BoundedCache::new(PROCESSES) }
    }

    /// Looks for the starter of a process that is not known yet.
    pub(super) fn learn(&mut self, pid: u32, start_ns: u64, relative: &impl Fn(u32) -> Option<Relative>) {
        if self.known.get(&pid).is_none_or(|known| known.0 != start_ns) {
            let starter = self.starter(pid, relative);
            self.known.insert(pid, (start_ns, starter));
        }
    }

    /// `rotate.sh/812`
    pub(super) fn of(&mut self, pid: u32) -> Option<&str> {
        self.known.get(&pid)?.1.as_deref()
    }

    fn starter(&self, pid: u32, relative: &impl Fn(u32) -> Option<Relative>) -> Option<String> {
        let own = relative(pid)?;
        let mut at = own.parent;
        for _ in 0..MOST_LEVELS {
            if at <= INIT || at == self.recorder {
                return None;
            }
            let parent = relative(at)?;
            match parent_kind(&arguments(&self.proc, at)) {
                ParentKind::Program if parent.name == own.name => return None,
                ParentKind::Program => return Some(format!("{}/{at}", parent.name)),
                ParentKind::Script(script) => return Some(format!("{script}/{at}")),
                ParentKind::Command => at = parent.parent,
                ParentKind::Terminal => return None,
            }
        }
        None
    }
}

/// What a parent is.
#[derive(Debug, PartialEq, Eq)]
enum ParentKind {
    Program,
    Script(String),
    /// `sh -c`, which some program runs.
    Command,
    /// A shell that reads what somebody types.
    Terminal,
}

fn arguments(proc: &Path, pid: u32) -> Vec<String> {
    let line = std::fs::read(proc.join(format!("{pid}/cmdline"))).unwrap_or_default();
    line.split(|byte| *byte == 0).map(shown).collect()
}

fn parent_kind(arguments: &[String]) -> ParentKind {
    let mut words = arguments.iter().map(String::as_str).filter(|word| !word.is_empty());
    let program = last_name(words.next().unwrap_or_default()).trim_start_matches('-');
    if !INTERPRETERS.contains(&program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')) {
        return ParentKind::Program;
    }
    for word in words {
        match word {
            "-m" => return ParentKind::Program,
            word if word.starts_with("--") => (),
            word if word.starts_with('-') && word.ends_with('c') => return ParentKind::Command,
            word if word.starts_with(['-', '+']) => (),
            script => return ParentKind::Script(last_name(script).to_owned()),
        }
    }
    ParentKind::Terminal
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::{ParentKind, Starters, parent_kind};
    use crate::trace::relative::Relative;

    #[test]
    fn a_parent_is_a_program_or_a_script() {
        for (line, expected) in [
            ("/usr/sbin/cron -f", ParentKind::Program),
            ("/bin/sh /etc/cron.daily/rotate", ParentKind::Script("rotate".into())),
            ("bash -e -o ./nightly.sh now", ParentKind::Script("nightly.sh".into())),
            ("/usr/bin/python3.11 job.py -c x", ParentKind::Script("job.py".into())),
            ("python3 -m http.server", ParentKind::Program),
            ("sh -ec tar", ParentKind::Command),
            ("-bash", ParentKind::Terminal),
            ("", ParentKind::Program),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(parent_kind(&words), expected, "{line}");
        }
    }

    #[test]
    fn the_starter_is_a_script_or_what_runs_a_shell() {
        let home = tempfile::tempdir().unwrap();
        let family = [
            (10, "cron", 1, "cron"),
            (11, "sh", 10, "sh\0-c\0tar"),
            (12, "tar", 11, "tar"),
            (13, "rotate", 11, "/bin/sh\0/etc/rotate"),
            (14, "gzip", 13, "gzip"),
            (15, "bash", 1, "-bash"),
            (16, "dd", 15, "dd"),
            (17, "cron", 10, "cron"),
            (18, "lost", 99, "lost"),
        ];
        for (pid, _, _, line) in family {
            std::fs::create_dir(home.path().join(pid.to_string())).unwrap();
            std::fs::write(home.path().join(format!("{pid}/cmdline")), line).unwrap();
        }
        let relative = |wanted: u32| {
            let (_, name, parent, _) = family.into_iter().find(|(pid, ..)| *pid == wanted)?;
            Some(Relative { name: name.to_owned(), start_ns: 0, parent })
        };
        let mut starters = Starters::new(home.path().to_owned());
        family.iter().for_each(|(pid, ..)| starters.learn(*pid, 0, &relative));
        let found = family.map(|(pid, ..)| starters.of(pid).map(str::to_owned).unwrap_or_default());
        assert_eq!(found, ["", "cron/10", "cron/10", "cron/10", "rotate/13", "", "", "", ""]);
    }
}
