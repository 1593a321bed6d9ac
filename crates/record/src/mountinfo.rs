//! /proc/self/mountinfo: one mount to a line, with blanks in names written in octal.

use model::run::Mount;

use crate::bytes::shown;

/// A name with its `\040` and the like put back. What is not UTF-8 is escaped ([`model::name`]).
pub(crate) fn unescaped(name: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, after)) = rest.split_first() {
        let octal = (*first == b'\\').then(|| after.get(..3)).flatten().and_then(octal_byte);
        bytes.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    shown(&bytes)
}

fn octal_byte(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0u8, |byte, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 8)?;
        byte.checked_mul(8)?.checked_add(digit)
    })
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue` (proc_pid_mountinfo(5)). A line
/// that is not of this form is passed over.
pub(crate) fn parse(text: &[u8]) -> Vec<Mount> {
    text.split(|byte| *byte == b'\n').filter_map(parse_line).collect()
}

/// Where a file system, or a part of it, is mounted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MountedAt {
    /// `7:1`.
    pub(crate) device: String,
    /// What of it, from its own root.
    pub(crate) root: String,
    pub(crate) point: String,
}

/// The same lines, as places.
pub(crate) fn mounted_at(text: &[u8]) -> Vec<MountedAt> {
    text.split(|byte| *byte == b'\n').filter_map(place_of_line).collect()
}

fn place_of_line(line: &[u8]) -> Option<MountedAt> {
    let mut words = line.split(|byte| *byte == b' ').skip(2).map(unescaped);
    Some(MountedAt { device: words.next()?, root: words.next()?, point: words.next()? })
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|byte| *byte == b' ');
    let device = words.nth(2)?;
    let point = words.nth(1)?;
    let mount_options = words.next()?;
    words.find(|word| *word == b"-")?;
    let (fs_type, source) = (words.next()?, words.next()?);
    let super_options = words.next().unwrap_or_default();
    let options = [mount_options, super_options].map(unescaped);
    Some(Mount {
        point: unescaped(point),
        source: unescaped(source),
        fs_type: unescaped(fs_type),
        options: joined(&options[0], &options[1]),
        device: unescaped(device),
    })
}

/// Options of the mount, then those of the superblock that do not repeat them.
fn joined(mount: &str, superblock: &str) -> String {
    let mut all: Vec<&str> = mount.split(',').collect();
    for option in superblock.split(',').filter(|option| !option.is_empty()) {
        if !all.contains(&option) {
            all.push(option);
        }
    }
    all.join(",")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{mounted_at, parse, unescaped};

    #[test]
    fn names_with_blanks() {
        for (written, name) in [
            ("/mnt/two\\040words", "/mnt/two words"),
            ("a\\011b\\012c\\134d", "a\tb\nc\\d"),
            ("\\04", "\\04"),
            ("\\777", "\\777"),
            ("\\08x", "\\08x"),
        ] {
            assert_eq!(unescaped(written.as_bytes()), name);
        }
    }

    #[test]
    fn mounts() {
        let text = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resuid=65534\n\
            36 35 98:0 /sub /my\\040disk rw,noatime master:1 shared:2 - xfs /dev/sdb1 rw,logbufs=8\n\
            nonsense\n\
            25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw,size=24684084k\n";
        let mounts = parse(text);
        let brief: Vec<_> = mounts.iter().map(|m| (&*m.point, &*m.fs_type, &*m.device, &*m.options)).collect();
        assert_eq!(
            brief,
            [
                ("/", "ext4", "254:0", "rw,relatime,discard,resuid=65534"),
                ("/my disk", "xfs", "98:0", "rw,noatime,logbufs=8"),
                ("/dev/shm", "tmpfs", "0:23", "rw,size=24684084k"),
            ]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..300)) {
            parse(&text);
            mounted_at(&text);
            unescaped(&text);
        }
    }
}
