use proptest::prelude::*;

use super::{cpu_list, host, is_storage, mounts};
use crate::fake::Kernel;

#[test]
fn the_machine() {
    let kernel = Kernel::new().with(&[
        ("proc/sys/kernel/hostname", "vm\n"),
        ("proc/sys/kernel/osrelease", "6.18.44\n"),
        ("proc/sys/kernel/random/boot_id", "0b1c\n"),
        ("proc/sys/vm/dirty_ratio", "20\n"),
        ("proc/sys/vm/lowmem_reserve_ratio", "256\t256\t32\n"),
        ("proc/cmdline", "console=ttyS0 psi=1\n"),
        ("proc/meminfo", "MemTotal:       24684084 kB\nMemFree:        23571264 kB\n"),
        ("sys/devices/system/cpu/online", "0-2,5\n"),
    ]);
    let host = host(&kernel.roots());
    assert_eq!((&*host.hostname, &*host.kernel_release, &*host.boot_id), ("vm", "6.18.44", "0b1c"));
    assert_eq!((host.cpus, host.memory_bytes), (4, 24684084 * 1024));
    assert_eq!(host.kernel_command_line, "console=ttyS0 psi=1");
    let expected = [("vm.dirty_ratio", "20"), ("vm.lowmem_reserve_ratio", "256\t256\t32")];
    assert_eq!(host.sysctl, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn the_version_of_the_controllers() {
    let version = |files: &[(&str, &str)]| host(&Kernel::new().with(files).roots()).cgroup_version;
    let (v1, v2) =
        (("sys/fs/cgroup/cpu/cpu.shares", "1024\n"), ("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n"));
    assert_eq!((version(&[v1]), version(&[v2]), version(&[v1, v2])), (Some(1), Some(2), Some(1)));
    assert_eq!(version(&[]), None);
}

#[test]
fn an_empty_machine_is_described_as_unknown() {
    let host = host(&Kernel::new().roots());
    assert_eq!((host.cpus, host.memory_bytes, host.sysctl.len()), (0, 0, 0));
}

#[test]
fn mounts_with_blanks_in_their_paths_and_their_storage() {
    let table = "27 1 254:0 / / rw - ext4 /dev/vda rw\n\
        28 27 7:0 / /mnt/my\\040disk rw - xfs /dev/loop0 rw\n\
        29 27 0:23 / /dev/shm rw - tmpfs tmpfs rw\n\
        30 28 0:50 / /mnt/my\\040disk/nfs rw - nfs4 server:/export rw\n\
        31 27 7:1 / /mnt/my\\040disk rw - ext4 /dev/loop1 rw\n";
    let mounts = mounts(&Kernel::new().with(&[("proc/self/mountinfo", table)]).roots());
    let placed: Vec<_> = mounts.iter().map(|mount| (&*mount.point, &*mount.device)).collect();
    assert_eq!(
        placed,
        [
            ("/", "254:0"),
            ("/mnt/my disk", "7:0"),
            ("/dev/shm", "0:23"),
            ("/mnt/my disk/nfs", "0:50"),
            ("/mnt/my disk", "7:1")
        ]
    );
    let storage: Vec<_> = mounts.iter().map(is_storage).collect();
    assert_eq!(storage, [true, true, false, true, true]);
}

#[test]
fn lists_of_cpus() {
    for (text, cpus) in [
        ("0", &[0][..]),
        ("0-3", &[0, 1, 2, 3]),
        ("0,2-3,7", &[0, 2, 3, 7]),
        ("", &[]),
        ("0-4294967295", &[]),
        ("3-1", &[]),
    ] {
        assert_eq!(cpu_list(text), cpus, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_list_of_cpus_or_none(text in "[0-9,\\- ]{0,12}|.{0,12}") {
        cpu_list(&text);
    }
}
