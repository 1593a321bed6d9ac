//! The machine's cgroup hierarchies, and this process's cgroups in them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use model::name;

use crate::{MountEntry, RigError, Roots};

/// A mounted cgroup hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    /// Its mount point.
    pub mount: PathBuf,
    /// The directory of our own cgroup; the mount point if ours is not visible.
    pub own: PathBuf,
    /// Which cgroup is mounted: `/`, or a longer path in a container that shares the host's cgroup namespace.
    root: PathBuf,
}

impl Hierarchy {
    /// A cgroup's path as in `/proc/PID/cgroup`.
    pub fn name_of(&self, directory: &Path) -> String {
        let below = directory.strip_prefix(&self.mount).unwrap_or(directory);
        name::text(self.root.join(below).as_os_str().as_bytes()).trim_end_matches('/').to_owned()
    }

    fn new(mount: &MountEntry, own: &[u8], roots: &Roots) -> Hierarchy {
        let point = roots.path(&mount.point);
        let own = Path::new(OsStr::from_bytes(own)).strip_prefix(&mount.root).map(|below| point.join(below));
        let own = own.ok().filter(|own| own.is_dir()).unwrap_or_else(|| point.clone());
        // Joining an empty path leaves a slash at the end.
        let own = own.components().collect();
        Hierarchy { mount: point, own, root: mount.root.clone() }
    }
}

/// The hierarchies of the controllers used here. On a hybrid machine a controller is in v1 or in v2, never in both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchies {
    /// Cgroup v1 with the memory controller.
    pub memory: Option<Hierarchy>,
    /// Cgroup v1 with the blkio controller.
    pub blkio: Option<Hierarchy>,
    /// Cgroup v2.
    pub unified: Option<Hierarchy>,
}

impl Hierarchies {
    /// Reads `/proc/self/mountinfo` and `/proc/self/cgroup`.
    pub fn detect(roots: &Roots) -> Result<Hierarchies, RigError> {
        let mounts = roots.mounts()?;
        let own = roots.read("/proc/self/cgroup")?;
        let v1 = |controller: &str| {
            let has = |list: &str| list.split(',').any(|name| name == controller);
            let mount = mounts.iter().find(|mount| mount.fs_type == "cgroup" && has(&mount.super_options))?;
            let own = memberships(&own).find(|(controllers, _)| has(controllers)).map_or(&b"/"[..], |(_, path)| path);
            Some(Hierarchy::new(mount, own, roots))
        };
        let unified = mounts.iter().find(|mount| mount.fs_type == "cgroup2").map(|mount| {
            let own =
                memberships(&own).find(|(controllers, _)| controllers.is_empty()).map_or(&b"/"[..], |(_, path)| path);
            Hierarchy::new(mount, own, roots)
        });
        Ok(Hierarchies { memory: v1("memory"), blkio: v1("blkio"), unified })
    }
}

/// Lines of `/proc/PID/cgroup`: `number:controllers:path`, with no controllers for v2.
fn memberships(text: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    text.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut fields = line.splitn(3, |byte| *byte == b':').skip(1);
        Some((std::str::from_utf8(fields.next()?).ok()?, fields.next()?))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Hierarchies;
    use crate::Roots;

    fn detect(mountinfo: &str, cgroup: &str, folders: &[&str]) -> (tempfile::TempDir, Hierarchies) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("proc/self")).unwrap();
        fs::write(folder.path().join("proc/self/mountinfo"), mountinfo).unwrap();
        fs::write(folder.path().join("proc/self/cgroup"), cgroup).unwrap();
        folders.iter().for_each(|path| fs::create_dir_all(folder.path().join(path)).unwrap());
        let found = Hierarchies::detect(&Roots::at(folder.path())).unwrap();
        (folder, found)
    }

    #[test]
    fn controllers_that_share_a_v1_mount_are_found() {
        let (folder, found) = detect(
            "1 1 0:1 / /sys/fs/cgroup/cpu,memory rw - cgroup cgroup rw,cpu,memory\n",
            "3:cpu,memory:/a/b\n0::/\n",
            &["sys/fs/cgroup/cpu,memory/a/b"],
        );
        let memory = found.memory.unwrap();
        assert_eq!(memory.own, folder.path().join("sys/fs/cgroup/cpu,memory/a/b"));
        assert_eq!(memory.name_of(&memory.own.join("c")), "/a/b/c");
        assert_eq!((found.blkio, found.unified), (None, None));
    }

    #[test]
    fn a_container_sees_only_a_part_of_the_tree() {
        let (folder, found) = detect(
            "1 1 0:1 /docker/7 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "0::/docker/7/init\n",
            &["sys/fs/cgroup/init"],
        );
        let unified = found.unified.unwrap();
        assert_eq!(unified.own, folder.path().join("sys/fs/cgroup/init"));
        assert_eq!(unified.name_of(&unified.own), "/docker/7/init");
    }

    #[test]
    fn an_invisible_own_cgroup_gives_the_mount_point() {
        let (folder, found) =
            detect("1 1 0:1 / /cg rw - cgroup cgroup rw,memory\n", "4:memory:/../../elsewhere\n", &["cg"]);
        assert_eq!(found.memory.unwrap().own, folder.path().join("cg"));
    }
}
