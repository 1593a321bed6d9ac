//! The scope of an explanation: operations of some tasks, cgroups, files or disks.

mod tasks;

/// The kernel cuts names of threads to this length.
const COMM_LEN: usize = 15;

/// An operation is in scope if it matches one value of each kind that has values. Without values, all are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Disks by name, number or identity. An operation matches if its file lies on one, or if what it waited for does.
    pub devices: Vec<String>,
    /// Cgroups with all below: a path from the root, or a name anywhere. `*` stands for any part of a name, here and
    /// below.
    pub cgroups: Vec<String>,
    /// Names of threads or processes.
    pub comms: Vec<String>,
    /// Ids of processes or threads.
    pub pids: Vec<u32>,
    /// Files, or folders with all below: a path from the root, or a name anywhere.
    pub paths: Vec<String>,
}

impl Scope {
    /// Whether everything is in scope.
    pub fn is_everything(&self) -> bool {
        *self == Scope::default()
    }

    /// The values with their flags: `--comm fio --device vda`.
    pub fn words(&self) -> String {
        let pids: Vec<String> = self.pids.iter().map(u32::to_string).collect();
        let kinds = self.kinds(&pids);
        let words = kinds.iter().flat_map(|(kind, values)| values.iter().map(move |value| format!("--{kind} {value}")));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Kinds with their values, by their flags.
    pub(crate) fn kinds<'a>(&'a self, pids: &'a [String]) -> [(&'static str, &'a [String]); 5] {
        [
            ("device", &self.devices),
            ("cgroup", &self.cgroups),
            ("comm", &self.comms),
            ("pid", pids),
            ("path", &self.paths),
        ]
    }

    /// Whether it chooses by more than the task: sleeps outside of operations have neither file nor disk.
    pub(crate) fn needs_operation(&self) -> bool {
        !self.devices.is_empty() || !self.paths.is_empty()
    }
}

/// Whether one matches; none are needed where none are given.
pub(crate) fn any<T>(values: &[T], matches: impl Fn(&T) -> bool) -> bool {
    values.is_empty() || values.iter().any(matches)
}

/// Whether a thread has that name.
pub(crate) fn is_comm(pattern: &str, name: &str) -> bool {
    let cut = |text: &str| text.chars().take(COMM_LEN).collect::<String>();
    is_like(pattern, name) || (!pattern.contains('*') && cut(pattern) == name)
}

/// How output shortens what is above a cgroup.
const SHORTENED: &str = ".../";

/// Whether a path is that of the pattern, or below it. A pattern without `/` at its begin may match anywhere in the
/// path.
pub(crate) fn holds(pattern: &str, path: &str) -> bool {
    let pattern = pattern.strip_prefix(SHORTENED).unwrap_or(pattern);
    let wanted: Vec<&str> = pattern.split('/').filter(|name| !name.is_empty()).collect();
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let starts = |names: &[&str]| wanted.len() <= names.len() && wanted.iter().zip(names).all(|(a, b)| is_like(a, b));
    match pattern.starts_with('/') {
        true => path.starts_with('/') && starts(&names),
        false => !wanted.is_empty() && (0..names.len()).any(|at| starts(&names[at..])),
    }
}

/// Whether a name is that of the pattern, in which `*` stands for any text.
fn is_like(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::{holds, is_comm, is_like};

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, expected) in [
            ("fio", "fio", true),
            ("fio", "fiona", false),
            ("fio*", "fiona", true),
            ("*", "", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abce", true),
            ("a*c*e", "ace ", false),
            ("ab*ba", "aba", false),
            ("*.service", "pg.service", true),
        ] {
            assert_eq!(is_like(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn names_of_threads_are_cut_by_the_kernel() {
        assert!(is_comm("systemd-journald", "systemd-journal"));
        assert!(!is_comm("systemd-journald", "systemd-journa"));
    }

    #[test]
    fn a_folder_holds_what_is_below_it() {
        for (pattern, path, expected) in [
            ("/a", "/a", true),
            ("/a", "/a/b", true),
            ("/a/", "/a/b", true),
            ("/a", "/ab", false),
            ("/b", "/a/b", false),
            ("b", "/a/b/c", true),
            ("b/c", "/a/b/c", true),
            (".../c", "/a/b/c", true),
            (".../c", "/a/b", false),
            ("a/c", "/a/b/c", false),
            ("pg*", "/a/pg_wal/1", true),
            ("/", "/a", true),
            ("/", "/", true),
            ("/", "pipe:[1]", false),
            ("", "/a", false),
        ] {
            assert_eq!(holds(pattern, path), expected, "{pattern} {path}");
        }
    }
}
