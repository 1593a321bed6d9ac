//! Which parts of the rig this machine supports. Checks only; makes nothing.

use model::preflight::Finding;

use crate::child::find_tool;
use crate::{Hierarchies, Roots};

/// Whether memory cgroups, slow devices and temporary file systems are supported here.
pub fn preflight() -> Vec<Finding> {
    let root = rustix::process::geteuid().is_root();
    let found = Hierarchies::detect(&Roots::default()).ok();
    let mut findings = vec![privilege(root)];
    findings.push(controller("memory cgroup", "--memory", "memory", found.as_ref(), |found| found.memory.is_some()));
    findings.push(controller("disk throttling", "--disk-bps, --disk-iops", "io", found.as_ref(), |found| {
        found.blkio.is_some()
    }));
    for (tool, package, purpose) in [
        ("losetup", "mount", "temporary file systems (demo)"),
        ("mkfs.xfs", "xfsprogs", "temporary XFS; ext4 is used without it"),
        ("mkfs.ext4", "e2fsprogs", "temporary ext4"),
    ] {
        findings.push(match find_tool(tool) {
            Some(_) => Finding::available(tool, purpose),
            None => {
                Finding::missing(tool, purpose, "it is not installed", format!("install {package} (Debian's name)"))
            }
        });
    }
    findings
}

fn privilege(root: bool) -> Finding {
    let purpose = "memory cgroup, disk throttling, temporary file system, some counters";
    if root {
        return Finding::available("root", purpose);
    }
    Finding::missing("root", purpose, "this is an ordinary user", "run as root (sudo) if you need them")
}

fn controller(
    capability: &str,
    flags: &str,
    v2_name: &str,
    found: Option<&Hierarchies>,
    in_v1: impl Fn(&Hierarchies) -> bool,
) -> Finding {
    let purpose = format!("{flags}, through cgroups");
    let Some(found) = found else {
        return Finding::missing(capability, purpose, "/proc/self/mountinfo cannot be read", "mount /proc");
    };
    let in_v2 = found.unified.as_ref().is_some_and(|unified| {
        let listed = std::fs::read_to_string(unified.mount.join("cgroup.controllers")).unwrap_or_default();
        listed.split_whitespace().any(|name| name == v2_name)
    });
    if in_v1(found) || in_v2 {
        return Finding::available(capability, purpose);
    }
    let why = "no mounted cgroup hierarchy has its controller";
    Finding::missing(capability, purpose, why, "mount one: mount -t cgroup2 none /sys/fs/cgroup")
}
