//! Programs that file systems ask: FUSE servers, and listeners of fanotify that permit what others do.

use std::path::Path;

use super::call::On;
use super::descriptors::{Holders, info};
use crate::bytes::read_text;
use crate::mountinfo::unescaped;

const FUSE: &str = "/dev/fuse";
const FANOTIFY: &str = "anon_inode:[fanotify]";
/// `FAN_OPEN_PERM | FAN_ACCESS_PERM | FAN_OPEN_EXEC_PERM`.
const PERMITS: u64 = 0x1_0000 | 0x2_0000 | 0x4_0000;

/// Whether a call works on a file of a FUSE file system.
pub(super) fn is_on_fuse(proc: &Path, pid: u32, on: &On) -> bool {
    connection(proc, pid, on).is_some()
}

/// The process that serves the FUSE file system that a call works on. Nothing is asked of the file system itself: it
/// would not answer.
pub(super) fn of_fuse(proc: &Path, pid: u32, on: &On, holders: &Holders) -> Option<u32> {
    let servers: Vec<(u32, Option<u64>)> = holders
        .of(FUSE)
        .iter()
        .map(|&(pid, fd)| (pid, info(proc, pid, fd, "fuse_connection:").and_then(|number| number.parse().ok())))
        .collect();
    let wanted = connection(proc, pid, on);
    let is_it = |server: &&(u32, Option<u64>)| wanted.is_some() && server.1 == wanted;
    let mut found: Vec<u32> = servers.iter().filter(is_it).map(|server| server.0).collect();
    if found.is_empty() && (wanted.is_none() || servers.iter().all(|server| server.1.is_none())) {
        // Kernels before 6.15 do not tell their connections apart: the only server is it.
        found = servers.iter().map(|server| server.0).collect();
    }
    found.dedup();
    only(&found)
}

/// The FUSE connection of the file that a call works on.
fn connection(proc: &Path, pid: u32, on: &On) -> Option<u64> {
    let mounts = || std::fs::read(proc.join(format!("{pid}/mountinfo"))).unwrap_or_default();
    match on {
        On::Descriptor(fd) => {
            let id = info(proc, pid, *fd, "mnt_id:")?;
            fuse_mount(&mounts(), |mount| mount.id == id)
        }
        On::Path(path) => {
            let folder = std::fs::read_link(proc.join(format!("{pid}/cwd"))).unwrap_or_default();
            longest_mount(&mounts(), &folder.join(path))
        }
        _ => None,
    }
}

/// The only listener that is asked for permission.
pub(super) fn of_fanotify(proc: &Path, holders: &Holders) -> Option<u32> {
    let permits = |&&(pid, fd): &&(u32, u32)| {
        let text = read_text(proc.join(format!("{pid}/fdinfo/{fd}"))).unwrap_or_default();
        let marks = text.lines().filter(|line| line.starts_with("fanotify ")).flat_map(str::split_whitespace);
        let masks = marks.filter_map(|word| u64::from_str_radix(word.strip_prefix("mask:")?, 16).ok());
        masks.fold(0, |all, mask| all | mask) & PERMITS != 0
    };
    let mut found: Vec<u32> = holders.of(FANOTIFY).iter().filter(permits).map(|(pid, _)| *pid).collect();
    found.dedup();
    only(&found)
}

fn only(pids: &[u32]) -> Option<u32> {
    if let [pid] = pids { Some(*pid) } else { None }
}

struct FuseMount {
    id: String,
    /// The minor number of its device is that of the connection.
    connection: u64,
    point: String,
}

fn fuse_mounts(text: &[u8]) -> impl Iterator<Item = FuseMount> + '_ {
    text.split(|byte| *byte == b'\n').filter_map(|line| {
        let words: Vec<String> = line.split(|byte| *byte == b' ').map(unescaped).collect();
        let kind = words.iter().position(|word| word == "-")? + 1;
        words.get(kind)?.starts_with("fuse").then_some(())?;
        let connection = words.get(2)?.split_once(':')?.1.parse().ok()?;
        Some(FuseMount { id: words[0].clone(), connection, point: words.get(4)?.clone() })
    })
}

fn fuse_mount(text: &[u8], is_it: impl Fn(&FuseMount) -> bool) -> Option<u64> {
    fuse_mounts(text).find(is_it).map(|mount| mount.connection)
}

fn longest_mount(text: &[u8], path: &Path) -> Option<u64> {
    let above = fuse_mounts(text).filter(|mount| path.starts_with(&mount.point));
    above.max_by_key(|mount| mount.point.len()).map(|mount| mount.connection)
}

#[cfg(test)]
mod tests {
    use super::super::call::On;
    use super::super::descriptors::Holders;
    use super::{is_on_fuse, of_fuse};

    #[test]
    fn the_server_of_a_mount_is_found_without_asking_it() {
        let home = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = home.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "7/mountinfo",
            "40 20 0:38 / /mnt rw - fuse.bindfs a rw\n41 20 0:39 / /mnt/b\\040c rw - fuse.sshfs a rw\n42 20 8:1 / / rw \
             - ext4 a rw\n",
        );
        write("7/fdinfo/3", "pos:\t0\nmnt_id:\t40\n");
        for (pid, connection) in [(8, 38), (9, 39)] {
            write(&format!("{pid}/fdinfo/4"), &format!("pos:\t0\nfuse_connection:\t{connection}\n"));
            std::fs::create_dir_all(home.path().join(format!("{pid}/fd"))).unwrap();
            std::os::unix::fs::symlink("/dev/fuse", home.path().join(format!("{pid}/fd/4"))).unwrap();
        }
        std::os::unix::fs::symlink("/mnt", home.path().join("7/cwd")).unwrap();
        let holders = Holders::read(home.path(), [8, 9].into_iter());
        let server = |on: On| of_fuse(home.path(), 7, &on, &holders);
        assert_eq!(server(On::Descriptor(3)), Some(8));
        assert_eq!(server(On::Path("/mnt/x".into())), Some(8));
        assert_eq!(server(On::Path("b c/x".into())), Some(9), "in the folder where the process is");
        assert_eq!(server(On::Path("/elsewhere".into())), None, "two servers");
        let on_fuse = |on: On| is_on_fuse(home.path(), 7, &on);
        assert!(on_fuse(On::Descriptor(3)) && on_fuse(On::Path("b c/x".into())));
        assert!(!on_fuse(On::Path("/elsewhere".into())) && !on_fuse(On::Descriptor(4)) && !on_fuse(On::Timer));
    }
}
