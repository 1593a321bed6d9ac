//! What the descriptors of processes refer to, and who else has the same open.

use std::collections::HashMap;
use std::path::Path;

use crate::bytes::{read_text, shown_path};

/// Descriptors of the machine that are read at most.
const MOST: usize = 65_536;
const ACCESS: u32 = 3;
const READ_WRITE: u32 = 2;

/// Processes with descriptors for pipes, sockets and the like, by what /proc shows of them.
#[derive(Debug, Default)]
pub(super) struct Holders(HashMap<String, Vec<(u32, u32)>>);

impl Holders {
    pub(super) fn read(proc: &Path, processes: impl Iterator<Item = u32>) -> Holders {
        let mut holders = Holders::default();
        let mut left = MOST;
        for pid in processes {
            let Ok(entries) = std::fs::read_dir(proc.join(format!("{pid}/fd"))) else { continue };
            for entry in entries.flatten() {
                left = left.saturating_sub(1);
                if left == 0 {
                    return holders;
                }
                let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
                let (Some(number), Ok(target)) = (number, std::fs::read_link(entry.path())) else { continue };
                holders.0.entry(shown_path(&target)).or_default().push((pid, number));
            }
        }
        holders
    }

    /// Each with its descriptor.
    pub(super) fn of(&self, target: &str) -> &[(u32, u32)] {
        self.0.get(target).map_or(&[], Vec::as_slice)
    }

    /// Processes but one.
    pub(super) fn others(&self, target: &str, except: u32) -> Vec<u32> {
        let mut pids: Vec<u32> = self.of(target).iter().map(|(pid, _)| *pid).filter(|pid| *pid != except).collect();
        pids.dedup();
        pids
    }
}

/// What a descriptor refers to: `socket:[4711]`.
pub(in crate::trace) fn target(proc: &Path, pid: u32, descriptor: u32) -> Option<String> {
    let link = std::fs::read_link(proc.join(format!("{pid}/fd/{descriptor}"))).ok()?;
    Some(shown_path(&link))
}

/// The number in `socket:[4711]`.
pub(super) fn inode(target: &str, kind: &str) -> Option<u64> {
    target.strip_prefix(kind)?.strip_prefix(":[")?.strip_suffix(']')?.parse().ok()
}

/// Whether a descriptor is open for reading, and for writing.
pub(super) fn access(proc: &Path, pid: u32, descriptor: u32) -> Option<(bool, bool)> {
    let flags = u32::from_str_radix(&info(proc, pid, descriptor, "flags:")?, 8).ok()? & ACCESS;
    Some((flags == 0 || flags == READ_WRITE, flags != 0))
}

/// A field of a descriptor: `fuse_connection:`.
pub(in crate::trace) fn info(proc: &Path, pid: u32, descriptor: u32, field: &str) -> Option<String> {
    let text = read_text(proc.join(format!("{pid}/fdinfo/{descriptor}"))).ok()?;
    Some(text.lines().find_map(|line| line.strip_prefix(field))?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::{Holders, access, inode, target};

    #[test]
    fn both_ends_of_a_pipe_are_found() {
        let (reader, writer) = std::io::pipe().unwrap();
        let (proc, pid) = ("/proc".as_ref(), std::process::id());
        let (reader, writer) = (reader.as_raw_fd() as u32, writer.as_raw_fd() as u32);
        let name = target(proc, pid, reader).unwrap();
        let holders = Holders::read(proc, [pid].into_iter());
        assert!(holders.of(&name).contains(&(pid, reader)) && holders.of(&name).contains(&(pid, writer)));
        assert!(holders.others(&name, pid).is_empty());
        assert_eq!((access(proc, pid, reader), access(proc, pid, writer)), (Some((true, false)), Some((false, true))));
        assert!(inode(&name, "pipe").is_some_and(|inode| inode > 0));
        assert_eq!((inode("socket:[x]", "socket"), inode("/a", "pipe")), (None, None));
    }
}
