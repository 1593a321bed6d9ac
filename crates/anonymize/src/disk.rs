//! Identities of disks, and what is mounted from them.

use crate::address::{host, remote};
use crate::file_name::file_name;
use crate::known::{PSEUDO_SOURCES, VALUED_OPTIONS, has, is_device};
use crate::names::{Kept, Names};
use crate::path::path;

const PART: &str = "-part";

/// The replacement of what a disk is known by across boots: a serial number, the file behind a loop device; a kernel
/// name stays.
pub(crate) fn identity(names: &mut Names, text: &str) -> String {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    if is_number || is_device(text) {
        return names.keep(Kept::Device, text);
    }
    if let Some((disk, part)) =
        text.rsplit_once(PART).filter(|(_, part)| part.bytes().all(|byte| byte.is_ascii_digit()))
    {
        let after = format!("{}{PART}{part}", identity(names, disk));
        return names.change(text, after);
    }
    if text.starts_with('/') {
        return path(names, text);
    }
    let after = names.name(text);
    names.change(text, after)
}

/// That of a disk in a metric, or of the kernel's name of one, which stays.
pub(crate) fn device(names: &mut Names, text: &str) -> String {
    if is_device(text) { names.keep(Kept::Device, text) } else { identity(names, text) }
}

/// That of what is mounted.
pub(crate) fn source(names: &mut Names, text: &str, fs_type: &str) -> String {
    if text == fs_type || has(PSEUDO_SOURCES, text) {
        return text.to_owned();
    }
    match remote(names, text) {
        Some(after) => names.change(text, after),
        None => path(names, text),
    }
}

/// That of the options of a mount: words stay, values do where they name nobody.
pub(crate) fn options(names: &mut Names, text: &str) -> String {
    let after: Vec<String> = text.split(',').map(|option| one_option(names, option)).collect();
    after.join(",")
}

fn one_option(names: &mut Names, option: &str) -> String {
    let Some((key, value)) = option.split_once('=') else { return names.keep(Kept::FileSystem, option) };
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || b":.".contains(&byte)) && !value.contains('.');
    let after = match key {
        "addr" | "clientaddr" | "mountaddr" | "srcaddr" | "ip" => host(names, value),
        _ if has(VALUED_OPTIONS, key) || is_number => return names.keep(Kept::FileSystem, option),
        // Of an overlay: several folders.
        _ if value.contains('/') => value.split(':').map(|part| path(names, part)).collect::<Vec<_>>().join(":"),
        _ => file_name(names, value),
    };
    format!("{key}={after}")
}

#[cfg(test)]
mod tests {
    use super::{identity, options, source};
    use crate::names::{Comms, Names};

    #[test]
    fn a_disk_keeps_its_kernel_name_and_loses_its_serial_number() {
        let mut names = Names::new(Comms::Known, Vec::new());
        for (text, expected) in [
            ("sda", "sda"),
            ("", ""),
            ("0:39", "0:39"),
            ("naa.5000c500a1b2c3d4", "n1"),
            ("naa.5000c500a1b2c3d4-part2", "n1-part2"),
            ("/srv/images/acme.img", "/srv/n2/n3.img"),
            ("S3Z9NB0K", "n4"),
        ] {
            assert_eq!(identity(&mut names, text), expected, "{text}");
        }
        assert_eq!(source(&mut names, "/dev/mapper/vg-acme", "ext4"), "/dev/mapper/n5");
        assert_eq!(source(&mut names, "overlay", "overlay"), "overlay");
        assert_eq!(source(&mut names, "nas:/srv/acme", "nfs4"), "n6:/srv/n3");
    }

    #[test]
    fn options_keep_what_names_nobody() {
        let mut names = Names::new(Comms::Known, Vec::new());
        assert_eq!(
            options(&mut names, "rw,noatime,data=ordered,size=65536k,vers=4.2"),
            "rw,noatime,data=ordered,size=65536k,vers=4.2"
        );
        assert_eq!(
            options(
                &mut names,
                "rw,username=alice,addr=10.0.0.9,lowerdir=/srv/alice/l:/srv/alice/m,subvol=/@acme,label=x"
            ),
            "rw,username=n1,addr=2001:db8::1,lowerdir=/srv/n1/n2:/srv/n1/n3,subvol=/n4,label=n5"
        );
    }
}
