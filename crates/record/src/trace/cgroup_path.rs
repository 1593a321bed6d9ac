//! The cgroups of a task, in the text of /proc/PID/cgroup.

/// The memory cgroup (v1), or the cgroup (v2).
pub(super) fn memory_cgroup(text: &str) -> Option<&str> {
    of_controller(text, "memory")
}

/// The cgroup of the I/O controller (v1), where its path is not that of the memory cgroup.
pub(super) fn other_io_cgroup(text: &str) -> Option<&str> {
    of_controller(text, "blkio").filter(|path| memory_cgroup(text) != Some(path))
}

/// A cgroup in a hierarchy that can freeze tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Freezer<'a> {
    pub(super) path: &'a str,
    pub(super) version: u8,
}

impl Freezer<'_> {
    /// As `explain` knows it.
    pub(super) fn words(&self) -> String {
        let kind = if self.version == 1 { "freezer" } else { "frozen" };
        format!("{kind} cgroup {}", self.path)
    }
}

/// The cgroup that may freeze the task in the hierarchy of a version.
pub(super) fn freezer(text: &str, version: u8) -> Option<Freezer<'_>> {
    let is_it = |controllers: &str| match version {
        1 => controllers.split(',').any(|name| name == "freezer"),
        _ => controllers.is_empty(),
    };
    path_where(text, is_it).map(|path| Freezer { path, version })
}

fn of_controller<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    let is_it = |controllers: &str| controllers.split(',').any(|name| name == controller);
    path_where(text, is_it).or_else(|| path_where(text, str::is_empty))
}

fn path_where(text: &str, is_it: impl Fn(&str) -> bool) -> Option<&str> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        is_it(controllers).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::{freezer, memory_cgroup, other_io_cgroup};

    #[test]
    fn the_cgroup_is_that_of_the_controller_or_the_only_one() {
        let both = "4:blkio:/slow\n3:cpu,memory:/box:1\n2:freezer:/\n0::/user\n";
        assert_eq!(memory_cgroup(both), Some("/box:1"));
        let words = |text, version| freezer(text, version).map(|freezer| freezer.words());
        assert_eq!(words(both, 1).as_deref(), Some("freezer cgroup /"));
        assert_eq!(words(both, 2).as_deref(), Some("frozen cgroup /user"));
        assert_eq!(memory_cgroup("0::/user.slice\n"), Some("/user.slice"));
        assert_eq!(memory_cgroup("4:blkio:/slow\n"), None);
        let io = |text| other_io_cgroup(text);
        assert_eq!(io("4:blkio:/slow\n2:memory:/box\n"), Some("/slow"));
        assert_eq!((io("4:blkio:/box\n2:memory:/box\n"), io("0::/user.slice\n")), (None, None));
        assert_eq!(words("5:freezer:/batch\n", 2), None);
    }
}
