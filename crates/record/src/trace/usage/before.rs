//! What processes had made dirty shortly before the recording: it is written back now, and no trace shows whose it is.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use model::block::DeviceNumber;

use crate::bytes::read_text;

/// For as long pages stay dirty: `vm.dirty_expire_centisecs` by default.
const DIRTY_NS: u64 = 30_000_000_000;
/// Writers that are recorded: those with the most, and with at least this.
const WRITERS: usize = 24;
const LEAST_BYTES: u64 = 1 << 20;
/// Files of a process that are looked at.
const FILES: usize = 256;
/// `O_WRONLY | O_RDWR`.
const WRITES: u32 = 3;

/// A process, since when it may have written what is dirty still, and how much that is at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writer {
    pub(super) pid: u32,
    pub(super) since_ns: u64,
    pub(super) bytes: u64,
}

/// Those with the most, of processes with the begin of each and what it has written since. Of one that is older than
/// pages stay dirty, a part counts, as if it had written evenly.
pub(super) fn writers(processes: impl Iterator<Item = (u32, u64, u64)>, now_ns: u64) -> Vec<Writer> {
    let writer = |(pid, start_ns, written_bytes): (u32, u64, u64)| {
        let since_ns = start_ns.max(now_ns.saturating_sub(DIRTY_NS));
        let (part_ns, life_ns) = (now_ns.saturating_sub(since_ns), now_ns.saturating_sub(start_ns).max(1));
        let bytes = u128::from(written_bytes) * u128::from(part_ns) / u128::from(life_ns);
        Writer { pid, since_ns, bytes: bytes as u64 }
    };
    let mut writers: Vec<Writer> = processes.map(writer).filter(|writer| writer.bytes >= LEAST_BYTES).collect();
    writers.sort_unstable_by_key(|writer| (Reverse(writer.bytes), writer.pid));
    writers.truncate(WRITERS);
    writers
}

/// The disk of the files that a process has open for writing; of several, that in whose files it is furthest.
pub(super) fn disk_written(proc: &Path, pid: u32) -> Option<DeviceNumber> {
    let mounts = read_text(proc.join(format!("{pid}/mountinfo"))).ok()?;
    let disks: HashMap<u32, DeviceNumber> = mounts.lines().filter_map(disk_of_mount).collect();
    let mut written: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for file in std::fs::read_dir(proc.join(format!("{pid}/fdinfo"))).ok()?.flatten().take(FILES) {
        let Some((mount, position)) = written_file(&read_text(file.path()).unwrap_or_default()) else {
            continue;
        };
        if let Some(disk) = disks.get(&mount) {
            let sum = written.entry((disk.major(), disk.minor())).or_default();
            *sum = sum.saturating_add(position).saturating_add(1);
        }
    }
    written.into_iter().max_by_key(|(_, position)| *position).map(|((major, minor), _)| DeviceNumber::new(major, minor))
}

/// `33 27 7:1 / /mnt rw ...`, without file systems that have no disk of their own.
fn disk_of_mount(line: &str) -> Option<(u32, DeviceNumber)> {
    let mut words = line.split(' ');
    let mount = words.next()?.parse().ok()?;
    let (major, minor) = words.nth(1)?.split_once(':')?;
    let major = major.parse().ok().filter(|major| *major != 0)?;
    Some((mount, DeviceNumber::new(major, minor.parse().ok()?)))
}

/// The mount and position of a file that is open for writing.
fn written_file(info: &str) -> Option<(u32, u64)> {
    let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let flags = u32::from_str_radix(field("flags:")?, 8).ok()?;
    (flags & WRITES != 0).then_some((field("mnt_id:")?.parse().ok()?, field("pos:")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use model::block::DeviceNumber;

    use super::{Writer, disk_written, writers};

    const S: u64 = 1_000_000_000;
    const MIB: u64 = 1 << 20;

    #[test]
    fn what_was_written_before_is_of_the_last_half_minute() {
        let all = [(1, 0, 1000 * MIB), (2, 996 * S, 150 * MIB), (3, 999 * S, 0), (4, 1001 * S, 70 * MIB)];
        let writer = |pid, since_ns, bytes| Writer { pid, since_ns, bytes };
        let expected = [writer(2, 996 * S, 150 * MIB), writer(1, 970 * S, 30 * MIB)];
        assert_eq!(writers(all.into_iter(), 1000 * S), expected);
    }

    #[test]
    fn a_disk_is_that_of_the_file_that_was_written_most() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("7");
        std::fs::create_dir_all(folder.join("fdinfo")).unwrap();
        let mounts = "21 1 254:1 / / rw - ext4 /dev/vda1 rw\n33 21 7:1 / /mnt rw - xfs /dev/loop1 rw\n40 21 0:5 / /dev \
                      rw - devtmpfs none rw\n";
        std::fs::write(folder.join("mountinfo"), mounts).unwrap();
        let put = |file: &str, pos: u64, flags: &str, mount: u32| {
            let text = format!("pos:\t{pos}\nflags:\t{flags}\nmnt_id:\t{mount}\nino:\t9\n");
            std::fs::write(folder.join("fdinfo").join(file), text).unwrap();
        };
        put("0", 1 << 40, "0100000", 33);
        put("1", 500, "0102001", 21);
        assert_eq!(disk_written(home.path(), 7), Some(DeviceNumber::new(254, 1)), "a log; what is read does not count");
        put("2", 9000, "0100002", 33);
        put("3", 1 << 50, "0100001", 40);
        assert_eq!(disk_written(home.path(), 7), Some(DeviceNumber::new(7, 1)));
        assert_eq!(disk_written(home.path(), 8), None);
    }
}
