//! Any bytes as files of /proc, /sys and cgroups, through discovery and two samples.
//!
//! The input is a sequence of files: a byte that chooses the file, two that say how long it is, and its content.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};

use libfuzzer_sys::fuzz_target;
use record::{Roots, Sample, SamplerOptions, SamplerSet};

const FILES: [&str; 36] = [
    "proc/vmstat",
    "proc/meminfo",
    "proc/stat",
    "proc/pressure/io",
    "proc/pressure/memory",
    "proc/pressure/cpu",
    "proc/diskstats",
    "proc/self/mountstats",
    "proc/self/mountinfo",
    "proc/slabinfo",
    "proc/buddyinfo",
    "proc/cpuinfo",
    "proc/cmdline",
    "proc/config.gz",
    "proc/fs/jbd2/sda-8/info",
    "proc/self/cgroup",
    "proc/filesystems",
    "proc/sys/kernel/hostname",
    "sys/fs/xfs/sda/stats/stats",
    "sys/fs/ext4/sda/delayed_allocation_blocks",
    "sys/fs/ext4/sda/lifetime_write_kbytes",
    "sys/block/sda/dev",
    "sys/block/sda/queue/scheduler",
    "sys/block/sda/queue/nr_requests",
    "sys/block/sda/size",
    "sys/devices/system/cpu/online",
    "sys/kernel/debug/bdi/8:0/stats",
    "sys/fs/cgroup/cgroup.controllers",
    "sys/fs/cgroup/cpu.stat",
    "sys/fs/cgroup/a/memory.stat",
    "sys/fs/cgroup/a/io.stat",
    "sys/fs/cgroup/a/io.max",
    "sys/fs/cgroup/a/cpu.stat",
    "sys/fs/cgroup/memory/a/memory.stat",
    "sys/fs/cgroup/blkio/a/blkio.throttle.io_serviced",
    "sys/kernel/security/lockdown",
];

fn folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    base.join(format!("stallscope-fuzz-{}", std::process::id()))
}

/// Writes files until half of the input is used up, or all; returns the rest.
fn write_files<'a>(root: &Path, mut bytes: &'a [u8], until: usize) -> &'a [u8] {
    while let [which, high, low, rest @ ..] = bytes {
        let length = (usize::from(*high) << 8 | usize::from(*low)).min(rest.len());
        let path = root.join(FILES[usize::from(*which) % FILES.len()]);
        fs::create_dir_all(path.parent().expect("it is below the root")).expect("a folder can be made");
        fs::write(path, &rest[..length]).expect("a file can be written");
        bytes = &rest[length..];
        if bytes.len() <= until {
            break;
        }
    }
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    let root = folder();
    let _ = fs::remove_dir_all(&root);
    let rest = write_files(&root, bytes, bytes.len() / 2);
    let roots = Roots::below(&root);
    record::host::host(&roots);
    record::host::online_cpus(&roots);
    let _ = record::host::mounts(&roots).iter().filter(|mount| record::host::is_storage(mount)).count();
    record::kernel::facts(&roots, "6.1.0");
    // Sources of the real kernel, not of the files.
    let disabled = ["tracepoint", "recorder"].map(str::to_owned).to_vec();
    let (mut set, _) = SamplerSet::discover(&roots, &SamplerOptions { disabled, ..SamplerOptions::default() });
    let mut sample = Sample::default();
    set.sample(0, &mut sample);
    write_files(&root, rest, 0);
    set.sample(1, &mut sample);
    let _ = fs::remove_dir_all(&root);
});
