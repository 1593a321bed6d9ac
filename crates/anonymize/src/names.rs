//! What each name is replaced by, and what stays.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::known::{KERNEL_THREADS, PROGRAMS, has};

/// Digits of a container's id that are shown.
const SHOWN: usize = 12;

/// Which names of programs and threads stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Comms {
    /// Those of the kernel's threads and of programs that many machines run.
    #[default]
    Known,
    /// All.
    All,
}

/// What is kept, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// Programs and threads.
    Program,
    /// Block devices, by the kernel's names.
    Device,
    /// Models of disks.
    Model,
    /// Types of file systems, and options of mounts.
    FileSystem,
    /// Paths of the system and of packages, and folders that every machine has.
    Path,
    /// Cgroups and units that every machine has, users' by number.
    Cgroup,
    /// Functions of the kernel and of programs.
    Function,
    /// Release and version of the kernel.
    Kernel,
    /// Phases and operation classes of a load, and of metrics the names.
    Load,
}

impl Kept {
    /// All kinds.
    pub const ALL: [Kept; 9] = [
        Kept::Program,
        Kept::Device,
        Kept::Model,
        Kept::FileSystem,
        Kept::Path,
        Kept::Cgroup,
        Kept::Function,
        Kept::Kernel,
        Kept::Load,
    ];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Kept::Program => "names of programs and threads",
            Kept::Device => "kernel names of devices",
            Kept::Model => "models of disks",
            Kept::FileSystem => "file system types and mount options",
            Kept::Path => "paths and folders of the system",
            Kept::Cgroup => "cgroups of the system, and of users by number",
            Kept::Function => "functions",
            Kept::Kernel => "kernel",
            Kept::Load => "phases and operation classes of a load",
        }
    }
}

/// Replaces names: each by the same one everywhere. What stays is noted.
#[derive(Debug, Clone, Default)]
pub struct Names {
    comms: Comms,
    /// Patterns of names that stay, with `*` at an end or at both.
    keep: Vec<String>,
    /// What replacements begin with.
    prefix: String,
    names: HashMap<String, String>,
    ids: HashMap<String, String>,
    addresses: HashMap<String, String>,
    /// Whole texts, and their parts, as they were and as they became.
    changed: BTreeMap<String, String>,
    kept: BTreeMap<Kept, BTreeSet<String>>,
}

impl Names {
    /// Nothing replaced yet.
    pub fn new(comms: Comms, keep: Vec<String>) -> Names {
        Names { comms, keep, prefix: "n".to_owned(), ..Names::default() }
    }

    /// The same with another beginning of the replacements.
    #[must_use]
    pub fn beginning_with(self, prefix: &str) -> Names {
        Names { prefix: prefix.to_owned(), ..self }
    }

    /// What stays, by kind.
    pub fn kept(&self) -> impl Iterator<Item = (Kept, &BTreeSet<String>)> {
        self.kept.iter().map(|(kind, names)| (*kind, names))
    }

    /// How many names were replaced.
    pub fn replaced(&self) -> usize {
        self.names.len() + self.ids.len() + self.addresses.len()
    }

    /// Whole texts and their parts that changed, with what they became.
    pub fn changed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.changed.iter().map(|(before, after)| (before.as_str(), after.as_str()))
    }

    /// Notes what stays.
    pub(crate) fn keep(&mut self, kind: Kept, name: &str) -> String {
        if !name.is_empty() && !self.kept.get(&kind).is_some_and(|names| names.contains(name)) {
            self.kept.entry(kind).or_default().insert(name.to_owned());
        }
        name.to_owned()
    }

    /// Notes what a text became.
    pub(crate) fn change(&mut self, before: &str, after: String) -> String {
        if before != after && !self.changed.contains_key(before) {
            self.changed.insert(before.to_owned(), after.clone());
        }
        after
    }

    /// What a text became before, if it has changed.
    pub(crate) fn as_changed(&self, before: &str) -> Option<&str> {
        self.changed.get(before).map(String::as_str)
    }

    /// The replacement of a name.
    pub(crate) fn name(&mut self, name: &str) -> String {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let after = format!("{}{}", self.prefix, self.names.len() + 1);
        self.names.insert(name.to_owned(), after.clone());
        after
    }

    /// The replacement of a number in hexadecimal digits, as long, with its hyphens or underscores.
    pub(crate) fn id(&mut self, id: &str) -> String {
        if let Some(known) = self.ids.get(id) {
            return known.clone();
        }
        let count = id.bytes().filter(u8::is_ascii_hexdigit).count();
        // The first digits are shown of a long one.
        let begin = format!("{:0width$x}", self.ids.len() + 1, width = count.min(12));
        let mut digits = begin.chars().chain(std::iter::repeat('0'));
        let after: String =
            id.chars().map(|c| if c.is_ascii_hexdigit() { digits.next().unwrap_or('0') } else { c }).collect();
        self.ids.insert(id.to_owned(), after.clone());
        // A container without a name is shown by the begin of its id.
        if let (Some(short), Some(new)) = (id.get(..SHOWN), after.get(..SHOWN)) {
            self.change(short, new.to_owned());
        }
        self.change(id, after)
    }

    /// The replacement of a network address: one for documentation (RFC 3849).
    pub(crate) fn address(&mut self, address: &str) -> String {
        if let Some(known) = self.addresses.get(address) {
            return known.clone();
        }
        let after = format!("2001:db8::{:x}", self.addresses.len() + 1);
        self.addresses.insert(address.to_owned(), after.clone());
        after
    }

    /// Whether the user keeps a name.
    pub(crate) fn is_wanted(&self, name: &str) -> bool {
        self.keep.iter().any(|pattern| fits(pattern, name))
    }

    /// Whether the name of a program or thread stays.
    pub(crate) fn is_known_program(&self, comm: &str) -> bool {
        let first = comm.split(' ').next().filter(|first| first.len() < comm.len());
        self.comms == Comms::All
            || self.is_wanted(comm)
            || is_kernel_thread(comm)
            || is_public(comm)
            || first.is_some_and(|first| has(PROGRAMS, first))
    }
}

/// Whether many machines run a program of that name, but for a number at its end: `python3.11`, `ib_io_rd-3`.
fn is_public(comm: &str) -> bool {
    let cut = |text: &'_ str| text.trim_end_matches(|c: char| c.is_ascii_digit() || "-#_.:/".contains(c)).len();
    let stem = &comm[..cut(comm)];
    let is_of = |known: &str| known == comm || (!stem.is_empty() && &known[..cut(known)] == stem);
    PROGRAMS.split_ascii_whitespace().any(is_of)
}

/// Whether a pattern with `*` at its ends fits.
fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(_), Some(_)) => name.contains(pattern.trim_matches('*')),
        (Some(end), None) => name.ends_with(end),
        (None, Some(begin)) => name.starts_with(begin),
        (None, None) => pattern == name,
    }
}

/// Begins of the names of workers of file systems, and of our own threads.
const OPEN: [&str; 3] = ["xfs-", "btrfs-", "stallscope"];

/// Whether a thread of the kernel, or of ours, has that name: `kworker/0:1-events`, `jbd2/sda1-8`.
pub(crate) fn is_kernel_thread(comm: &str) -> bool {
    let rest = |begin: &str| comm.strip_prefix(begin).map(|rest| rest.chars().next());
    // What these end with is not fixed.
    if OPEN.iter().any(|begin| comm.starts_with(begin)) {
        return true;
    }
    let next = KERNEL_THREADS.split_ascii_whitespace().filter_map(rest);
    next.into_iter().any(|next| next.is_none_or(|c| c.is_ascii_digit() || "/:-_".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::{Comms, Names, fits, is_kernel_thread};

    #[test]
    fn the_same_name_gets_the_same_one_and_an_id_keeps_its_form() {
        let mut names = Names::new(Comms::Known, Vec::new());
        assert_eq!([names.name("a"), names.name("b"), names.name("a")], ["n1", "n2", "n1"]);
        let uid = "0b0a1365_aa5e_7ec9_c076_669c5d4c9b5e";
        assert_eq!(names.id(uid), "00000000_0001_0000_0000_000000000000");
        assert_eq!(names.id(&"f".repeat(64)), format!("000000000002{}", "0".repeat(52)));
        assert_eq!((names.address("10.0.0.1"), names.replaced()), ("2001:db8::1".to_owned(), 5));
    }

    #[test]
    fn the_kernels_threads_are_known_and_programs_that_begin_like_them_are_not() {
        for comm in
            ["kworker/0:1-events", "jbd2/sda1-8", "iou-wrk-12", "loop7", "md127_raid1", "kswapd0", "rcu_preempt"]
        {
            assert!(is_kernel_thread(comm), "{comm}");
        }
        for comm in ["mdadm-acme", "looper", "flusher", "acme", ""] {
            assert!(!is_kernel_thread(comm), "{comm}");
        }
    }

    #[test]
    fn programs_that_many_run_stay_with_their_threads_and_what_the_user_wants() {
        let names = Names::new(Comms::Known, vec!["acme-*".to_owned()]);
        for comm in ["postgres", "python3.11", "GC Thread#0", "acme-db", "ib_io_rd-3", "bio_aof"] {
            assert!(names.is_known_program(comm), "{comm}");
        }
        assert!(!names.is_known_program("warehouse"));
        assert!(Names::new(Comms::All, Vec::new()).is_known_program("warehouse"));
        assert!(fits("*db*", "adbc") && fits("*db", "adb") && fits("db", "db") && !fits("db", "adb"));
    }
}
