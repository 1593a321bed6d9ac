//! Paths of files from the names in an event, below the mount point of their file system.

use std::path::PathBuf;

use super::event::OpenFile;
use crate::mountinfo::{MountedAt, mounted_at};

/// Mount points, read again when needed after a while.
pub(super) struct Paths {
    proc: PathBuf,
    mounts: Vec<MountedAt>,
    /// One for the first lookup after a while, one for a file system mounted since.
    readings_left: u8,
}

impl Paths {
    pub(super) fn new(proc: PathBuf) -> Paths {
        Paths { proc, mounts: Vec::new(), readings_left: 2 }
    }

    /// Allows reading the mount points again.
    pub(super) fn age(&mut self) {
        self.readings_left = 2;
    }

    /// The file's path: from the machine's root if known, else from its file system's root, without a leading slash.
    /// Dots stand for unknown parent directories.
    pub(super) fn of(&mut self, file: &OpenFile) -> Option<String> {
        let is_root = file.names.first().is_some_and(|name| name == "/");
        let names: Vec<&str> = file.names.iter().rev().map(String::as_str).filter(|name| *name != "/").collect();
        let below = names.join("/");
        if !file.whole {
            return (!below.is_empty()).then(|| format!(".../{below}"));
        }
        let device = format!("{}:{}", file.device >> 20, file.device & 0xfffff);
        if self.readings_left == 2 {
            self.read();
        }
        let mut found = self.below_mount(&device, &below);
        if found.is_none() && self.readings_left == 1 {
            self.read();
            found = self.below_mount(&device, &below);
        }
        let unmounted = || if is_root { format!("the root of {device}") } else { below };
        Some(found.unwrap_or_else(unmounted)).filter(|path| !path.is_empty())
    }

    fn read(&mut self) {
        self.readings_left -= 1;
        self.mounts = mounted_at(&std::fs::read(self.proc.join("self/mountinfo")).unwrap_or_default());
    }

    fn below_mount(&self, device: &str, below: &str) -> Option<String> {
        let of_device = self.mounts.iter().filter(|mount| mount.device == device);
        let within = |root: &str| {
            let rest = format!("/{below}").strip_prefix(root.trim_end_matches('/'))?.to_owned();
            (rest.is_empty() || rest.starts_with('/')).then_some(rest)
        };
        // The mount that shows most of the file system is the usual one.
        let found = of_device.filter_map(|mount| Some((mount, within(&mount.root)?)));
        let (mount, rest) = found.min_by_key(|(mount, _)| (mount.root.len(), mount.point.len()))?;
        let path = format!("{}{}", mount.point.trim_end_matches('/'), rest.trim_end_matches('/'));
        Some(if path.is_empty() { "/".to_owned() } else { path })
    }
}

#[cfg(test)]
mod tests {
    use super::Paths;
    use crate::fake::Kernel;
    use crate::trace::event::OpenFile;

    const MOUNTS: &str = "27 1 254:0 / / rw - ext4 /dev/vda rw\n\
        30 27 7:1 / /mnt/a\\040b rw - xfs /dev/loop1 rw\n\
        31 27 7:1 /in /x rw - xfs /dev/loop1 rw\n\
        32 27 0:50 /sub /mnt/sub rw - btrfs /dev/loop2 rw\n";

    fn check(device: u32, names: &[&str], whole: bool, expected: Option<&str>) {
        let kernel = Kernel::new();
        kernel.write("proc/self/mountinfo", MOUNTS);
        let mut paths = Paths::new(kernel.roots().proc);
        let names = names.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(paths.of(&OpenFile { device, names, whole }).as_deref(), expected);
    }

    #[test]
    fn a_path_begins_at_the_machines_root() {
        check(254 << 20, &["hosts", "etc"], true, Some("/etc/hosts"));
        check(254 << 20, &["/"], true, Some("/"));
        check(7 << 20 | 1, &["/"], true, Some("/mnt/a b"));
        check(7 << 20 | 1, &["f", "in"], true, Some("/mnt/a b/in/f"));
        check(50, &["f", "sub"], true, Some("/mnt/sub/f"));
        check(50, &["sub"], true, Some("/mnt/sub"));
    }

    #[test]
    fn a_partly_known_path_keeps_its_known_part() {
        check(50, &["f", "subs"], true, Some("subs/f"));
        check(9, &["memfd:x"], true, Some("memfd:x"));
        check(9, &["/"], true, Some("the root of 0:9"));
        check(254 << 20, &["f", "deep"], false, Some(".../deep/f"));
        check(9, &[], true, None);
        check(9, &[], false, None);
    }

    #[test]
    fn a_later_mount_is_found() {
        let kernel = Kernel::new();
        kernel.write("proc/self/mountinfo", MOUNTS);
        let mut paths = Paths::new(kernel.roots().proc);
        let file = OpenFile { device: 77, names: vec!["f".into()], whole: true };
        assert_eq!(paths.of(&file).as_deref(), Some("f"));
        kernel.write("proc/self/mountinfo", "33 27 0:77 / /late rw - tmpfs none rw\n");
        assert_eq!(paths.of(&file).as_deref(), Some("f"), "read at most twice in a while");
        paths.age();
        assert_eq!(paths.of(&file).as_deref(), Some("/late/f"));
    }
}
