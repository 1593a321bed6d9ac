//! What every machine has: names that say nothing of anybody.

mod folders;
mod mounts;
mod programs;
mod units;

pub(crate) use folders::{FILES, FOLDERS, SUFFIXES, WHOLE};
pub(crate) use mounts::{PSEUDO_SOURCES, VALUED_OPTIONS};
pub(crate) use programs::{KERNEL_THREADS, PROGRAMS, TITLE_WORDS};
pub(crate) use units::{CONTAINER_PREFIXES, GROUPS, KINDS, UNITS};

/// Whether a list of words, separated by white space, has a word.
pub(crate) fn has(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split_ascii_whitespace().any(|known| known == word)
}

/// Names of block devices and other nodes of /dev, without the digits and partitions at their end.
const NODES: &str = "sd hd vd xvd nvme mmcblk loop dm- md nbd ram zram sr fd drbd rbd bcache pmem dasd ublkb null zero \
                     full random urandom tty ttyS \
    console ptmx kmsg mem fuse kvm vhost-net vhost-vsock net mapper control cuse rtc sg watchdog hpet nvram \
    loop-control btrfs-control";

/// Whether that is the kernel's name of a device: `sda1`, `nvme0n1p2`, `dm-3`, `null`.
pub(crate) fn is_device(name: &str) -> bool {
    let rest = |known: &str| name.strip_prefix(known).map(str::to_owned);
    NODES.split_ascii_whitespace().filter_map(rest).any(|rest| is_number_of_device(&rest, name))
}

/// What follows the driver's name: letters of a disk, numbers of a namespace and a partition.
fn is_number_of_device(rest: &str, name: &str) -> bool {
    let lettered = ["sd", "hd", "vd", "xvd", "dasd"].iter().any(|driver| name.starts_with(driver));
    let rest = if lettered { rest.trim_start_matches(|c: char| c.is_ascii_lowercase()) } else { rest };
    rest.len() <= 12 && rest.chars().all(|c| c.is_ascii_digit() || "npcd_".contains(c)) && !rest.starts_with('_')
}

#[cfg(test)]
mod tests {
    use super::{has, is_device};

    #[test]
    fn names_of_devices_are_known_and_others_are_not() {
        for name in
            ["sda", "sdab12", "vda1", "nvme0n1p2", "dm-3", "loop7", "md127", "null", "zram0", "nbd0", "mmcblk0p1"]
        {
            assert!(is_device(name), "{name}");
        }
        for name in ["", "secret", "vg0-home", "sda-secret", "loopback", "acme", "mdsecret", "overlayblk"] {
            assert!(!is_device(name), "{name}");
        }
        assert!(has("a b", "b") && !has("a b", "") && !has("ab", "a"));
    }
}
