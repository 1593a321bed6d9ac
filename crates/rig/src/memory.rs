//! Memory that this process could still use.

use std::path::Path;

use crate::{Hierarchies, Hierarchy, Roots};

/// The files of a hierarchy: limit, usage, and what of that is reclaimed at once, of `memory.stat`.
const V1: [&str; 3] = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];
const V2: [&str; 3] = ["memory.max", "memory.current", "inactive_file"];

/// The memory that is available to this process without swapping, bytes: the kernel's `MemAvailable`, or less where
/// the limit of its cgroup or of one above is nearer. `None`: unknown.
pub fn available_bytes(roots: &Roots) -> Option<u64> {
    let text = std::fs::read_to_string(roots.path("/proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let hierarchies = Hierarchies::detect(roots).ok();
    let of = |hierarchy: Option<Hierarchy>, files| hierarchy.and_then(|hierarchy| below_limits(&hierarchy, files));
    let limits = hierarchies.map(|found| [of(found.memory, V1), of(found.unified, V2)]);
    Some(limits.into_iter().flatten().flatten().fold(kib.saturating_mul(1024), u64::min))
}

/// What is left below the limits of its own cgroup and of those above.
fn below_limits(hierarchy: &Hierarchy, files: [&str; 3]) -> Option<u64> {
    let groups = hierarchy.own.ancestors().take_while(|group| group.starts_with(&hierarchy.mount));
    groups.filter_map(|group| below_limit(group, files)).min()
}

/// `None`: it has no limit.
fn below_limit(group: &Path, [limit, usage, reclaimable]: [&str; 3]) -> Option<u64> {
    let text = |file: &str| std::fs::read_to_string(group.join(file)).ok();
    let number = |file: &str| text(file)?.trim().parse::<u64>().ok();
    let (limit, usage) = (number(limit)?, number(usage)?);
    let stat = text("memory.stat").unwrap_or_default();
    let words = stat.lines().filter_map(|line| line.split_once(' '));
    let mut found = words.filter(|(name, _)| *name == reclaimable).filter_map(|(_, bytes)| bytes.parse().ok());
    Some(limit.saturating_sub(usage.saturating_sub(found.next().unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::available_bytes;
    use crate::Roots;

    #[test]
    fn the_nearest_limit_counts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n");
        write("proc/self/mountinfo", "1 1 0:1 / /cg rw - cgroup2 cgroup2 rw\n");
        write("proc/self/cgroup", "0::/a/b\n");
        write("cg/a/b/memory.max", "max\n");
        write("cg/a/b/memory.current", "1000\n");
        let available = || available_bytes(&Roots::at(folder.path()));
        assert_eq!(available(), Some(8000 * 1024));
        write("cg/a/memory.max", "1000000\n");
        write("cg/a/memory.current", "700000\n");
        assert_eq!(available(), Some(300_000));
        write("cg/a/memory.stat", "anon 400000\ninactive_file 200000\n");
        assert_eq!(available(), Some(500_000));
        write("proc/meminfo", "MemTotal: 9000 kB\n");
        assert_eq!(available(), None);
    }
}
