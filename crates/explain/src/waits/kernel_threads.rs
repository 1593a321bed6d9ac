//! Which tasks are threads of the kernel.

use std::collections::BTreeSet;

/// The root of a hierarchy of cgroups, where all threads of the kernel are.
const ROOT: &str = "/";
/// What the names of those begin with of which a recording may have no row: such as a worker that only submitted
/// requests.
const NAMES: [&str; 9] =
    ["kworker", "jbd2/", "xfsaild", "xfs-", "btrfs-", "kswapd", "ksoftirqd", "loop", "ext4lazyinit"];

/// What the rows of tasks say of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KernelThreads {
    /// Tasks with a stack that begins in the kernel.
    pub kernel: BTreeSet<u32>,
    /// Tasks that made system calls.
    pub programs: BTreeSet<u32>,
}

impl KernelThreads {
    /// Whether a task is a thread of the kernel: as its rows and its cgroup say. Its name decides where they say
    /// nothing.
    pub fn has(&self, tid: u32, name: Option<&str>, cgroup: Option<&str>) -> bool {
        let is_program = self.programs.contains(&tid) || cgroup.is_some_and(|cgroup| cgroup != ROOT);
        let is_named_so = || name.is_some_and(|name| NAMES.iter().any(|begin| name.starts_with(begin)));
        self.kernel.contains(&tid) || !is_program && is_named_so()
    }
}

#[cfg(test)]
mod tests {
    use super::KernelThreads;

    #[test]
    fn rows_and_cgroups_decide_before_names() {
        let known = KernelThreads { kernel: [4, 5].into(), programs: [6].into() };
        let has = |tid, name, cgroup| known.has(tid, Some(name), cgroup);
        assert!(has(4, "dmcrypt_write", Some("/")) && has(5, "md0_raid1", None) && has(9, "kworker/u8:1", Some("/")));
        assert!(!has(6, "loop.sh", None) && !has(7, "btrfs-balance", Some("/system.slice/balance.service")));
        assert!(!has(8, "dd", Some("/")) && !known.has(8, None, None));
    }
}
