//! Details in words.

use std::fmt::{self, Display, Formatter};

use super::{CpuQuota, Detail, DirtyPages, Freezer, JournalCommit};
use crate::block::DeviceNumber;
use crate::quantity::Nanoseconds;
use crate::quantity::counted;

impl Detail {
    /// In words, with names for devices.
    pub fn words(&self, name: &dyn Fn(DeviceNumber) -> String) -> String {
        match self {
            Detail::LockFlags(flags) => lock(*flags),
            Detail::DirtyPages(pages) => {
                dirty_pages(pages, &pages.device.map_or_else(|| pages.backing_device.clone(), name))
            }
            Detail::Inode { inode, device } => format!("inode {inode} on {}", name(*device)),
            Detail::Device(device) => format!("on {}", name(*device)),
            Detail::FileSize(bytes) => format!("the file has {}", counted(*bytes, "byte")),
            Detail::PagesReclaimed(pages) => format!("{} reclaimed", counted(*pages, "page")),
            Detail::Shrinker { function, file_system: None } => function.clone(),
            Detail::Shrinker { function, file_system: Some((kind, device)) } => {
                format!("{function} of {kind} on {device}")
            }
            Detail::ThrottleReason(reason) => throttle_reason(*reason).to_owned(),
            Detail::JournalCommit(commit) => journal_commit(commit, &name(commit.device)),
            Detail::CpuQuota(CpuQuota { cgroup, quota_ns, period_ns }) => {
                format!("{cgroup}: {} of {}", Nanoseconds(*quota_ns), Nanoseconds(*period_ns))
            }
            Detail::Freezer(Freezer { cgroup, is_v2: false, .. }) => format!("freezer cgroup {cgroup}"),
            Detail::Freezer(Freezer { cgroup, is_v2: true, .. }) => format!("frozen cgroup {cgroup}"),
            Detail::OtherEnd(end) => end.to_string(),
            Detail::Name(words) | Detail::Words(words) => words.clone(),
        }
    }
}

impl Display for Detail {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(&|device| device.to_string()))
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64)
}

fn dirty_pages(pages: &DirtyPages, device: &str) -> String {
    format!(
        "dirty {} of {}, on {device} {} of {}, allowed {}/s",
        mebibytes(pages.dirty_bytes),
        mebibytes(pages.limit_bytes),
        mebibytes(pages.device_dirty_bytes),
        mebibytes(pages.device_limit_bytes),
        mebibytes(pages.allowed_bytes_per_s)
    )
}

fn journal_commit(commit: &JournalCommit, device: &str) -> String {
    let JournalCommit { locked_ms, flushing_ms, logging_ms, handles, blocks, .. } = commit;
    format!(
        "on {device}: locked {locked_ms} ms, flushing {flushing_ms} ms, logging {logging_ms} ms, {}, {}",
        counted(*handles, "handle"),
        counted(*blocks, "block")
    )
}

/// Bits of [`Detail::LockFlags`]: `LCB_F_*` of the kernel.
pub const LOCK_READ: u32 = 1 << 1;
/// See [`LOCK_READ`].
pub const LOCK_WRITE: u32 = 1 << 2;
/// See [`LOCK_READ`].
pub const LOCK_RT: u32 = 1 << 3;
/// See [`LOCK_READ`].
pub const LOCK_PERCPU: u32 = 1 << 4;
/// See [`LOCK_READ`].
pub const LOCK_MUTEX: u32 = 1 << 5;

/// `rwsem write`, of `LCB_F_*`.
fn lock(flags: u32) -> String {
    let side = match flags & (LOCK_READ | LOCK_WRITE) {
        LOCK_READ => " read",
        LOCK_WRITE => " write",
        _ => "",
    };
    let what = match flags {
        _ if flags & LOCK_MUTEX != 0 => "mutex",
        _ if flags & LOCK_PERCPU != 0 => "percpu",
        _ if flags & LOCK_RT != 0 => "rtmutex",
        _ if side.is_empty() => "lock",
        _ => "rwsem",
    };
    format!("{what}{side}")
}

fn throttle_reason(reason: u32) -> &'static str {
    match reason {
        1 => "writeback",
        2 => "isolated",
        4 => "no progress",
        8 => "congested",
        _ => "another reason",
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CpuQuota, Detail, DirtyPages, OtherEnd, Progress};
    use crate::block::DeviceNumber;

    #[test]
    fn details_in_words() {
        let device = DeviceNumber::new(7, 0);
        let mib = |mib: u64| mib << 20;
        let pages = DirtyPages {
            dirty_bytes: mib(1),
            limit_bytes: mib(2),
            backing_device: "7:0".to_owned(),
            device: Some(device),
            device_dirty_bytes: mib(1) / 2,
            device_limit_bytes: mib(1),
            allowed_bytes_per_s: mib(100),
        };
        let quota = CpuQuota { cgroup: "/a".to_owned(), quota_ns: 20_000_000, period_ns: 100_000_000 };
        for (detail, expected) in [
            (Detail::LockFlags(2), "rwsem read"),
            (Detail::LockFlags(4), "rwsem write"),
            (Detail::LockFlags(32), "mutex"),
            (Detail::LockFlags(2 | 16), "percpu read"),
            (Detail::LockFlags(0), "lock"),
            (Detail::DirtyPages(pages), "dirty 1.0 MiB of 2.0 MiB, on 7,0 0.5 MiB of 1.0 MiB, allowed 100.0 MiB/s"),
            (Detail::Inode { inode: 131, device }, "inode 131 on 7,0"),
            (Detail::ThrottleReason(4), "no progress"),
            (Detail::CpuQuota(quota), "/a: 20.0 ms of 100 ms"),
            (
                Detail::OtherEnd(OtherEnd::UnixSocket(Progress::Taken)),
                "a UNIX socket whose server works on the request",
            ),
            (Detail::OtherEnd(OtherEnd::Timer), "its own timer"),
        ] {
            assert_eq!(detail.to_string(), expected);
        }
        assert_eq!(Detail::Device(device).words(&|_| "sda".to_owned()), "on sda");
    }
}
