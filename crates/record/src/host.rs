//! The machine, its mounts and its settings, for a run's description.

use std::path::PathBuf;

use model::run::{Host, Mount};

use crate::bytes::{number, words};
use crate::file::read_trimmed;
use crate::mountinfo;
use crate::roots::Roots;

/// Settings below /proc/sys that change how memory and writeback behave, or what can be recorded.
const SYSCTLS: [&str; 22] = [
    "vm.dirty_ratio",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_background_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_writeback_centisecs",
    "vm.dirtytime_expire_seconds",
    "vm.swappiness",
    "vm.vfs_cache_pressure",
    "vm.min_free_kbytes",
    "vm.watermark_scale_factor",
    "vm.watermark_boost_factor",
    "vm.zone_reclaim_mode",
    "vm.lowmem_reserve_ratio",
    "vm.overcommit_memory",
    "vm.compaction_proactiveness",
    "vm.extfrag_threshold",
    "fs.xfs.xfssyncd_centisecs",
    "fs.xfs.speculative_prealloc_lifetime",
    "kernel.task_delayacct",
    "kernel.sched_autogroup_enabled",
    "kernel.perf_event_paranoid",
];

/// Settings below /sys that do the same.
const SETTINGS: [&str; 3] =
    ["kernel/mm/transparent_hugepage/enabled", "kernel/mm/transparent_hugepage/defrag", "kernel/mm/lru_gen/enabled"];

/// The machine. What cannot be read is left empty, and settings that this kernel lacks are left out.
pub fn host(roots: &Roots) -> Host {
    let setting = |name: &str| read_trimmed(&sysctl_path(roots, name));
    let text = |name: &str| setting(name).unwrap_or_default();
    Host {
        hostname: text("kernel.hostname"),
        kernel_release: text("kernel.osrelease"),
        kernel_version: text("kernel.version"),
        // There since Linux 6.1.
        architecture: setting("kernel.arch").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cpus: online_cpus(roots).len() as u32,
        memory_bytes: memory_bytes(roots),
        page_size_bytes: rustix::param::page_size() as u64,
        clock_ticks_per_s: rustix::param::clock_ticks_per_second(),
        boot_id: text("kernel.random.boot_id"),
        kernel_command_line: read_trimmed(&roots.proc.join("cmdline")).unwrap_or_default(),
        sysctl: settings(roots),
        cgroup_version: cgroup_version(roots),
    }
}

/// The version of the controllers that limit something; where both are mounted, most are of version 1.
fn cgroup_version(roots: &Roots) -> Option<u8> {
    let v1 = ["cpu/cpu.shares", "memory/memory.usage_in_bytes", "blkio/blkio.throttle.io_service_bytes"];
    if v1.iter().any(|file| roots.cgroup.join(file).is_file()) {
        return Some(1);
    }
    roots.cgroup.join("cgroup.controllers").is_file().then_some(2)
}

fn settings(roots: &Roots) -> Vec<(String, String)> {
    let sysctls = SYSCTLS.into_iter().map(|name| (name, sysctl_path(roots, name)));
    let settings = SETTINGS.into_iter().map(|name| (name, roots.sys.join(name)));
    let read = |(name, path): (&str, PathBuf)| Some((name.to_owned(), read_trimmed(&path)?));
    sysctls.chain(settings).filter_map(read).collect()
}

fn sysctl_path(roots: &Roots, name: &str) -> PathBuf {
    roots.proc.join("sys").join(name.replace('.', "/"))
}

fn memory_bytes(roots: &Roots) -> u64 {
    let text = std::fs::read(roots.proc.join("meminfo")).unwrap_or_default();
    let mut lines = text.split(|byte| *byte == b'\n').map(words);
    let kib = lines.find_map(|mut line| (line.next()? == b"MemTotal:").then(|| number(line.next()?)).flatten());
    kib.and_then(|kib| u64::try_from(kib).ok()).unwrap_or(0).saturating_mul(1024)
}

/// Numbers of the CPUs that are online.
pub fn online_cpus(roots: &Roots) -> Vec<u32> {
    cpu_list(&read_trimmed(&roots.sys.join("devices/system/cpu/online")).unwrap_or_default())
}

/// No machine has CPUs beyond this; a list that says so is damaged.
const HIGHEST_CPU: u32 = 1 << 16;

/// `0-3,8` as the kernel writes lists of CPUs.
fn cpu_list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (last < HIGHEST_CPU).then_some(first..=last)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Everything that is mounted, in the kernel's order.
pub fn mounts(roots: &Roots) -> Vec<Mount> {
    mountinfo::parse(&std::fs::read(roots.proc.join("self/mountinfo")).unwrap_or_default())
}

/// Whether a mount holds files on a device, an image or a server: not procfs, tmpfs, cgroups and their like.
pub fn is_storage(mount: &Mount) -> bool {
    const WITHOUT_A_DEVICE: [&str; 9] = ["nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "zfs", "overlay"];
    mount.source.starts_with("/dev/") || WITHOUT_A_DEVICE.contains(&&*mount.fs_type)
}

#[cfg(test)]
mod tests;
