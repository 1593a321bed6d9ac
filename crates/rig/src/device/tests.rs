use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{BlockDevice, devices_of};
use crate::Roots;

const MOUNTS: &str = "20 1 0:30 / / rw - overlay overlay rw\n\
    21 20 0:31 / /tmp rw - tmpfs tmpfs rw\n\
    22 20 0:40 /@ /data rw - btrfs /dev/sdb1 rw\n\
    23 20 0:41 / /single rw - btrfs /dev/sdd rw\n";

fn device(number: &str, name: &str) -> BlockDevice {
    BlockDevice { number: number.into(), name: name.into() }
}

fn put(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn machine() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    put(root, "proc/self/mountinfo", MOUNTS);
    for (disk, partitions) in [("sda", [("8:0", ""), ("8:1", "sda1")]), ("sdb", [("8:16", ""), ("8:17", "sdb1")])] {
        for (number, partition) in partitions {
            let below = format!("sys/devices/{disk}/{partition}");
            put(root, &format!("{below}/dev"), &format!("{number}\n"));
            if !partition.is_empty() {
                put(root, &format!("{below}/partition"), "1\n");
                put(root, &format!("sys/class/block/{partition}/dev"), &format!("{number}\n"));
            }
            fs::create_dir_all(root.join("sys/dev/block")).unwrap();
            symlink(root.join(&below), root.join("sys/dev/block").join(number)).unwrap();
        }
    }
    put(root, "sys/devices/sdd/dev", "8:48\n");
    put(root, "sys/class/block/sdd/dev", "8:48\n");
    symlink(root.join("sys/devices/sdd"), root.join("sys/dev/block/8:48")).unwrap();
    put(root, "sys/fs/btrfs/1f2e/devices/sdb1/dev", "8:17\n");
    put(root, "sys/fs/btrfs/1f2e/devices/sda1/dev", "8:1\n");
    folder
}

#[test]
fn a_partition_gives_its_disk() {
    let folder = machine();
    let roots = Roots::at(folder.path());
    assert_eq!(devices_of(8, 1, Path::new("/x"), &roots).unwrap(), [device("8:0", "sda")]);
    assert_eq!(devices_of(8, 16, Path::new("/x"), &roots).unwrap(), [device("8:16", "sdb")]);
}

#[test]
fn a_btrfs_gives_all_its_devices() {
    let folder = machine();
    let roots = Roots::at(folder.path());
    let both = [device("8:0", "sda"), device("8:16", "sdb")];
    assert_eq!(devices_of(0, 99, Path::new("/data/sub"), &roots).unwrap(), both);
    assert_eq!(devices_of(0, 99, Path::new("/single"), &roots).unwrap(), [device("8:48", "sdd")]);
}

#[test]
fn without_a_device_the_error_names_the_file_system() {
    let folder = machine();
    let roots = Roots::at(folder.path());
    for (path, fs_type) in [("/tmp/x", "tmpfs"), ("/elsewhere", "overlay")] {
        let error = devices_of(0, 31, Path::new(path), &roots).unwrap_err().to_string();
        assert!(error.contains(&format!("is on {fs_type}, which has no block device to slow")), "{error}");
    }
}
