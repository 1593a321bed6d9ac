//! The cgroups of a task, in the text of /proc/PID/cgroup.

/// The memory cgroup (v1), or the cgroup (v2).
pub(super) fn memory_cgroup(text: &str) -> Option<&str> {
    of_controller(text, "memory")
}

/// The cgroup of the I/O controller (v1), where its path is not that of the memory cgroup.
pub(super) fn other_io_cgroup(text: &str) -> Option<&str> {
    of_controller(text, "blkio").filter(|path| memory_cgroup(text) != Some(path))
}

/// `freezer cgroup /batch`: what freezes the task (v1: the cgroup of that controller), unless it is the root.
pub(super) fn freezer_words(text: &str) -> Option<String> {
    let path = of_controller(text, "freezer").filter(|path| *path != "/")?;
    Some(format!("freezer cgroup {path}"))
}

fn of_controller<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    let path_of = |wanted: &dyn Fn(&str) -> bool| {
        text.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            wanted(controllers).then_some(path)
        })
    };
    path_of(&|controllers| controllers.split(',').any(|name| name == controller))
        .or_else(|| path_of(&|controllers| controllers.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::{freezer_words, memory_cgroup, other_io_cgroup};

    #[test]
    fn the_cgroup_is_that_of_the_controller_or_the_only_one() {
        let both = "4:blkio:/slow\n3:cpu,memory:/box:1\n2:freezer:/\n0::/user\n";
        assert_eq!((memory_cgroup(both), freezer_words(both)), (Some("/box:1"), None));
        assert_eq!(memory_cgroup("0::/user.slice\n"), Some("/user.slice"));
        assert_eq!(memory_cgroup("4:blkio:/slow\n"), None);
        let io = |text| other_io_cgroup(text);
        assert_eq!(io("4:blkio:/slow\n2:memory:/box\n"), Some("/slow"));
        assert_eq!((io("4:blkio:/box\n2:memory:/box\n"), io("0::/user.slice\n")), (None, None));
        assert_eq!(freezer_words("5:freezer:/batch\n").as_deref(), Some("freezer cgroup /batch"));
    }
}
