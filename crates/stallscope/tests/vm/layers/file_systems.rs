//! File systems on the slow disk through other devices, and what lies on them.

use std::fs;
use std::process::Command;

use super::{Bottom, DELAY_MS, SLICE, slower};
use crate::devices::SlowNull;
use crate::scenes::{Scene, tool};
use crate::stacks::{KEY, Mapped, Mirror, Thin};

const MEBIBYTE: usize = 1 << 20;

/// What a file system lies on, removed after it.
enum On {
    /// Something that the test removes.
    Other,
    Crypt {
        _mapped: Mapped,
    },
    Mirror {
        _mirror: Mirror,
        _leg: Mapped,
        _fast: SlowNull,
    },
    Thin {
        _thin: Thin,
        _data: Mapped,
    },
}

/// A mounted file system.
pub struct FileSystem {
    names: [&'static str; 2],
    /// Causes of a wait for its fsync: the device, or its journal, which waits for the device.
    of_fsync: &'static str,
    /// Of each read.
    read_kib: usize,
    mount: Mount,
    _on: On,
}

/// Unmounted when dropped.
pub struct Mount(String);

impl Mount {
    pub fn new(kind: &str, device: &str) -> Mount {
        let folder = format!("/run/{kind}-{}", device.rsplit('/').next().unwrap());
        fs::create_dir_all(&folder).unwrap();
        tool("mount", &["-t", kind, device, &folder]);
        Mount(folder)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

impl FileSystem {
    pub fn ext4_on_crypt(bottom: &Bottom) -> FileSystem {
        let table = format!("0 {SLICE} crypt aes-xts-plain64 {KEY} 0 /dev/{} 0", bottom.paths[0]);
        let on = On::Crypt { _mapped: Mapped::new("ext4-crypt", &table) };
        tool("mkfs.ext4", &["-q", "/dev/mapper/ext4-crypt"]);
        let names = ["ext4 on dm-crypt, reads", "ext4 on dm-crypt, fsync"];
        FileSystem::with_files("ext4", "/dev/mapper/ext4-crypt", names, "journal|device", on)
    }

    /// Reads are those of the slow leg: the other one is to be written only.
    pub fn xfs_on_mirror(bottom: &Bottom) -> FileSystem {
        let (leg, fast) = (bottom.slice("leg", 1), SlowNull::with("fast", &[("memory_backed", "1")]));
        let mirror = Mirror::new(&["/dev/mapper/leg", "--write-mostly", &fast.device().display().to_string()]);
        // Of files as small as this one's it says that nobody should have them.
        tool("mkfs.xfs", &["-q", "-f", "--unsupported", "/dev/md0"]);
        let names = ["XFS on md RAID1, reads", "XFS on md RAID1, fsync"];
        let on = On::Mirror { _mirror: mirror, _leg: leg, _fast: fast };
        FileSystem::with_files("xfs", "/dev/md0", names, "fs_log|device", on)
    }

    pub fn btrfs_on_thin(bottom: &Bottom) -> FileSystem {
        let data = bottom.slice("data", 2);
        let on = On::Thin { _thin: Thin::new("/dev/mapper/data".as_ref(), SLICE), _data: data };
        tool("mkfs.btrfs", &["-q", "-M", "/dev/mapper/thin"]);
        let names = ["btrfs on dm-thin, reads", "btrfs on dm-thin, fsync"];
        FileSystem::with_files("btrfs", "/dev/mapper/thin", names, "fs_transaction|device", on)
    }

    /// One of these on a device of that name in /dev/mapper, whose reads take all parts of a stripe.
    pub fn on(kind: &'static str, device: &str, name: &str) -> FileSystem {
        let (options, of_fsync): (&[&str], _) = match kind {
            "ext4" => (&["-q"], "journal|device"),
            "xfs" => (&["-q", "-f", "--unsupported"], "fs_log|device"),
            _ => (&["-q", "-M"], "fs_transaction|device"),
        };
        let device = format!("/dev/mapper/{device}");
        tool(&format!("mkfs.{kind}"), &[options, &[&device]].concat());
        // They live as long as the test.
        let names = ["reads", "fsync"].map(|what| &*format!("{kind} on {name}, {what}").leak());
        FileSystem { read_kib: 256, ..FileSystem::with_files(kind, &device, names, of_fsync, On::Other) }
    }

    fn with_files(kind: &str, device: &str, names: [&'static str; 2], of_fsync: &'static str, on: On) -> FileSystem {
        let mount = Mount::new(kind, device);
        fs::write(format!("{}/read", mount.0), vec![b'x'; MEBIBYTE]).unwrap();
        fs::write(format!("{}/copied-up", mount.0), vec![b'x'; MEBIBYTE / 4]).unwrap();
        FileSystem { names, of_fsync, read_kib: 64, mount, _on: on }
    }

    pub fn folder(&self) -> &str {
        &self.mount.0
    }

    pub fn scenes(&self, bottom: &Bottom) -> [Scene; 2] {
        let (folder, [reads, fsyncs]) = (self.folder(), self.names);
        let path = |file: &str| format!("{}/{file}", &folder["/run/".len()..]);
        let read = format!("dd if={folder}/read of=/dev/null bs={}k count=1", self.read_kib);
        let write = format!("dd if=/dev/zero of={folder}/written bs=4k count=4 conv=fsync");
        [
            bottom.scene(reads, slower(&read), ("read", &path("read")), "device"),
            bottom.scene(fsyncs, slower(&write), ("fsync", &path("written")), self.of_fsync),
        ]
    }
}

/// An overlay whose lower layer is slow, and whose upper one is in memory.
pub struct Overlay(Mount);

impl Overlay {
    pub fn new(lower: &str) -> Overlay {
        for folder in ["/run/overlay", "/run/upper", "/run/work"] {
            fs::create_dir_all(folder).unwrap();
        }
        let options = format!("lowerdir={lower},upperdir=/run/upper,workdir=/run/work");
        tool("mount", &["-t", "overlay", "overlay", "/run/overlay", "-o", &options]);
        Overlay(Mount("/run/overlay".to_owned()))
    }

    /// To open a file of the lower layer for writing copies it.
    pub fn scene(&self, bottom: &Bottom) -> Scene {
        let script = slower(&format!("sh -c ': >> {}/copied-up'", self.0.0));
        let name = "overlayfs on ext4, copy-up of 256 KiB";
        let scene = bottom.scene(name, script, ("openat", "overlay/copied-up"), "device");
        Scene { at_least_ms: DELAY_MS, ..scene }
    }
}

/// A loop device on a file of a file system on a loop device.
pub struct LoopOnLoop {
    upper: Loop,
    _inner: Mount,
    _lower: Loop,
}

/// Detached when dropped.
pub struct Loop(pub String);

impl Loop {
    fn new(file: &str, bytes: usize) -> Loop {
        fs::write(file, vec![b'x'; bytes]).unwrap();
        Loop::of(file)
    }

    pub fn of(file: &str) -> Loop {
        Loop(tool("losetup", &["--find", "--show", file]))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

impl LoopOnLoop {
    pub fn new(folder: &str) -> LoopOnLoop {
        let lower = Loop::new(&format!("{folder}/lower"), 16 * MEBIBYTE);
        tool("mkfs.ext4", &["-q", &lower.0]);
        let inner = Mount::new("ext4", &lower.0);
        let upper = Loop::new(&format!("{}/upper", inner.0), 4 * MEBIBYTE);
        LoopOnLoop { upper, _inner: inner, _lower: lower }
    }

    /// Far enough from each other that no read-ahead has them.
    pub fn scene(&self, bottom: &Bottom) -> Scene {
        let device = &self.upper.0;
        let read = |block: u32| format!("dd if={device} of=/dev/null bs=4k skip={block} count=1 iflag=direct");
        let script = [64, 320, 576].map(read).join("\n");
        let path = device.rsplit('/').next().unwrap();
        let scene = bottom.scene("loop on ext4 on loop on XFS, reads", script, ("read", path), "device");
        Scene { at_least_ms: 3 * DELAY_MS, ..bottom.scene_above(scene, path) }
    }
}
