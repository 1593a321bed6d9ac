//! Which parts of the rig this machine supports. Checks only; makes nothing.

use std::path::Path;

use model::preflight::Finding;
use rustix::fs::{Access, access};

use crate::child::find_tool;
use crate::{Hierarchies, Hierarchy, Roots};

/// Whether memory cgroups, slow devices and temporary file systems are supported here.
pub fn preflight() -> Vec<Finding> {
    let root = rustix::process::geteuid().is_root();
    let found = Hierarchies::detect(&Roots::default()).ok();
    let mut findings = vec![privilege(root)];
    findings.push(controller("memory cgroup", "--memory", "memory", found.as_ref(), |found| {
        found.memory.as_ref().map(|memory| memory.own.as_path())
    }));
    findings.push(controller("disk throttling", "--disk-bps, --disk-iops", "io", found.as_ref(), |found| {
        found.blkio.as_ref().map(|blkio| blkio.mount.as_path())
    }));
    for (tool, package, purpose) in [
        ("losetup", "mount", "temporary file systems (demo)"),
        ("mkfs.xfs", "xfsprogs", "temporary XFS; ext4 is used without it"),
        ("mkfs.ext4", "e2fsprogs", "temporary ext4"),
    ] {
        findings.push(match find_tool(tool) {
            Some(_) if tool == "losetup" && !root => {
                Finding::missing(tool, purpose, "only root can attach a loop device", "run as root (sudo)")
            }
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
    in_v1: impl Fn(&Hierarchies) -> Option<&Path>,
) -> Finding {
    let purpose = format!("{flags}, through cgroups");
    let Some(found) = found else {
        return Finding::missing(capability, purpose, "/proc/self/mountinfo cannot be read", "mount /proc");
    };
    let has_controller = |unified: &&Hierarchy| {
        let listed = std::fs::read_to_string(unified.mount.join("cgroup.controllers")).unwrap_or_default();
        listed.split_whitespace().any(|name| name == v2_name)
    };
    let in_v2 = found.unified.as_ref().filter(has_controller).map(|unified| unified.own.as_path());
    // What a run would find out by its first write.
    if let Some(parent) = in_v1(found).or(in_v2) {
        return match access(parent, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => Finding::available(capability, purpose),
            Err(_) => {
                let why = format!("no permission to change {}", parent.display());
                Finding::missing(capability, purpose, why, "run as root (sudo), or have this cgroup delegated to you")
            }
        };
    }
    let why = "no mounted cgroup hierarchy has its controller";
    Finding::missing(capability, purpose, why, "mount one: mount -t cgroup2 none /sys/fs/cgroup")
}
