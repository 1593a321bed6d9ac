//! Cgroups by the number that the BPF programs see: the inode of their directory.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::bytes::{read_text, shown_path};
use crate::roots::Roots;

/// The hierarchy whose cgroups are distinguished.
pub(super) struct Cgroups {
    /// Its mount point; `None` where none is mounted.
    mount: Option<PathBuf>,
    unified: bool,
}

impl Cgroups {
    /// The memory hierarchy of cgroup v1 if there is one, else cgroup v2.
    pub(super) fn find(roots: &Roots) -> Cgroups {
        let table = read_text(roots.proc.join("self/mounts")).unwrap_or_default();
        let mut unified = None;
        for line in table.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let [_, point, kind, options, ..] = fields[..] else { continue };
            match kind {
                "cgroup" if options.split(',').any(|option| option == "memory") => {
                    return Cgroups { mount: Some(point.into()), unified: false };
                }
                "cgroup2" => unified = unified.or(Some(PathBuf::from(point))),
                _ => {}
            }
        }
        Cgroups { mount: unified, unified: true }
    }

    /// Whether it is cgroup v2.
    pub(super) fn is_unified(&self) -> bool {
        self.unified
    }

    /// Its path below the hierarchy's root; `None` if it is gone.
    pub(super) fn path(&self, inode: u64) -> Option<String> {
        let mount = self.mount.as_deref()?;
        let found = search(mount, inode)?;
        let below = found.strip_prefix(mount).ok()?;
        Some(format!("/{}", shown_path(below)))
    }
}

fn search(directory: &Path, inode: u64) -> Option<PathBuf> {
    if std::fs::metadata(directory).is_ok_and(|metadata| metadata.ino() == inode) {
        return Some(directory.to_owned());
    }
    let entries = std::fs::read_dir(directory).ok()?.flatten();
    let mut children = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    children.find_map(|child| search(&child.path(), inode))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::Cgroups;
    use crate::roots::Roots;

    #[test]
    fn a_cgroup_is_found_by_its_inode() {
        let folder = tempfile::tempdir().unwrap();
        let mount = folder.path().join("memory");
        let inner = mount.join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let roots = Roots::below(folder.path());
        std::fs::create_dir_all(roots.proc.join("self")).unwrap();
        let table = format!("cgroup2 /v2 cgroup2 rw 0 0\ncgroup {} cgroup rw,memory 0 0\n", mount.display());
        std::fs::write(roots.proc.join("self/mounts"), table).unwrap();
        let cgroups = Cgroups::find(&roots);
        assert!(!cgroups.is_unified());
        let inode = |path: &std::path::Path| std::fs::metadata(path).unwrap().ino();
        assert_eq!(cgroups.path(inode(&inner)).as_deref(), Some("/a/b"));
        assert_eq!(cgroups.path(inode(&mount)).as_deref(), Some("/"));
        assert_eq!(cgroups.path(u64::MAX), None);
    }
}
