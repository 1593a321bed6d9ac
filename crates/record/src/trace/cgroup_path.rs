//! The cgroups of a task, in the text of /proc/PID/cgroup.

/// The memory cgroup (v1), or the cgroup (v2).
pub(super) fn memory_cgroup(text: &str) -> Option<&str> {
    of_controller(text, "memory")
}

/// The cgroup of the I/O controller (v1), where its path is not that of the memory cgroup.
pub(super) fn other_io_cgroup(text: &str) -> Option<&str> {
    of_controller(text, "blkio").filter(|path| memory_cgroup(text) != Some(path))
}

/// The cgroup that may freeze the task in the hierarchy of version 1.
pub(super) fn freezer_of_v1(text: &str) -> Option<&str> {
    path_where(text, |controllers| controllers.split(',').any(|name| name == "freezer"))
}

/// The same of version 2.
pub(super) fn freezer_of_v2(text: &str) -> Option<&str> {
    path_where(text, str::is_empty)
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
    use super::{freezer_of_v1, freezer_of_v2, memory_cgroup, other_io_cgroup};

    #[test]
    fn the_cgroup_is_that_of_the_controller_or_the_only_one() {
        let both = "4:blkio:/slow\n3:cpu,memory:/box:1\n2:freezer:/\n0::/user\n";
        assert_eq!(memory_cgroup(both), Some("/box:1"));
        assert_eq!((freezer_of_v1(both), freezer_of_v2(both)), (Some("/"), Some("/user")));
        assert_eq!(memory_cgroup("0::/user.slice\n"), Some("/user.slice"));
        assert_eq!(memory_cgroup("4:blkio:/slow\n"), None);
        let io = |text| other_io_cgroup(text);
        assert_eq!(io("4:blkio:/slow\n2:memory:/box\n"), Some("/slow"));
        assert_eq!((io("4:blkio:/box\n2:memory:/box\n"), io("0::/user.slice\n")), (None, None));
        assert_eq!(freezer_of_v2("5:freezer:/batch\n"), None);
    }
}
