//! Storage stacks over a slow bottom: the stalls of what is on top lead to the device below.

mod pools;

use std::path::{Path, PathBuf};
use std::process::Command;

use self::pools::Raid1;
pub use self::pools::{Raid5, Thin};
use crate::devices::SlowNull;
use crate::scenes::{Scene, number_of, play, tool};
use crate::scsi::SlowScsi;

/// Of each request: the emulator's CPU time is little beside it.
const DELAY_MS: u64 = 300;
/// That of the emulator's drives, at least.
const OUTSIDE_MS: u64 = 50;
/// Requests of each scene.
const REQUESTS: u64 = 5;
/// Sectors of each slice of the slow device.
const SLICE: u64 = 16384;
/// 512 bits for two keys of AES-256.
pub const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\
                   ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100";

/// A device of the device mapper; removed when dropped.
pub struct Mapped(String);

impl Mapped {
    pub fn new(name: &str, table: &str) -> Mapped {
        tool("dmsetup", &["create", name, "--table", table]);
        tool("dmsetup", &["mknodes"]);
        Mapped(name.to_owned())
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let _ = Command::new("dmsetup").args(["remove", &self.0]).status();
    }
}

/// A mirror without metadata; stopped when dropped.
pub struct Mirror;

impl Mirror {
    /// Options of a leg precede it.
    pub fn new(legs: &[&str]) -> Mirror {
        tool("mdadm", &[&["--build", "/dev/md0", "--level=1", "--raid-devices=2", "--assume-clean"], legs].concat());
        Mirror
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        let _ = Command::new("mdadm").args(["--stop", "/dev/md0"]).status();
    }
}

fn reads(name: &'static str, device: &str, bottom: &str) -> Scene {
    let script = format!("dd if={device} of=/dev/null bs=4k count={REQUESTS} iflag=direct");
    scene(name, "read", device, script, bottom)
}

fn writes(name: &'static str, device: &str, bottom: &str) -> Scene {
    let script = format!("dd if=/dev/zero of={device} bs=4k count={REQUESTS} oflag=direct");
    scene(name, "write", device, script, bottom)
}

fn scene(name: &'static str, operation: &'static str, device: &str, script: String, bottom: &str) -> Scene {
    Scene {
        name,
        script,
        operation,
        path: Path::new(device).file_name().unwrap().to_str().unwrap().to_owned(),
        cause: "device",
        at_least_ms: REQUESTS * DELAY_MS,
        device: Some(number_of(bottom)),
        waited_for: None,
        failure: None,
        held_in: None,
    }
}

/// `dm-3` of a device of the device mapper.
pub fn name_of_mapped(name: &str) -> String {
    format!("dm-{}", tool("dmsetup", &["info", "-c", "--noheadings", "-o", "minor", name]))
}

fn name_of(device: &Path) -> String {
    device.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn stalls_on_stacked_devices_lead_to_the_device_below() {
    let (slow, leg, fast) = (SlowNull::new("slow", DELAY_MS), SlowNull::new("leg", DELAY_MS), SlowNull::new("fast", 0));
    let scsi = SlowScsi::new(8);
    scsi.set("ndelay", &(DELAY_MS * 1_000_000).to_string());
    let (below, leg, fast): (PathBuf, PathBuf, PathBuf) = (slow.device(), leg.device(), fast.device());
    let (bottom, under) = (name_of(&below), below.display());
    let _linear = Mapped::new("linear", &format!("0 {SLICE} linear {under} 0"));
    let _crypt = Mapped::new("crypt", &format!("0 {SLICE} crypt aes-xts-plain64 {KEY} 0 {under} {SLICE}"));
    let _both = Mapped::new("both", &format!("0 {} linear /dev/mapper/crypt 0", SLICE / 2));
    let _mirror = Mirror::new(&[&fast, &leg].map(|device| device.to_str().unwrap()));
    let (_raid1, _raid5, _thin) = (Raid1::new(&below), Raid5::new(&below, SLICE), Thin::new(&below, SLICE));
    let fast = SlowNull::new("instant", 0);
    let _delay = Mapped::new("delay", &format!("0 {SLICE} delay {} 0 {DELAY_MS}", fast.device().display()));
    let disk = scsi.name();
    let mut scenes = vec![
        reads("null_blk", below.to_str().unwrap(), &bottom),
        reads("dm-linear", "/dev/mapper/linear", &bottom),
        writes("dm-linear, writes", "/dev/mapper/linear", &bottom),
        reads("dm-crypt", "/dev/mapper/crypt", &bottom),
        writes("dm-crypt, writes", "/dev/mapper/crypt", &bottom),
        reads("dm-linear on dm-crypt", "/dev/mapper/both", &bottom),
        writes("md RAID1 with a slow leg, writes", "/dev/md0", &name_of(&leg)),
        writes("RAID1 (dm-raid) with a slow leg, writes", "/dev/mapper/raid1", &bottom),
        reads("RAID5 (dm-raid) with a slow leg, reads", "/dev/mapper/raid5", &bottom),
        writes("RAID5 (dm-raid) with a slow leg, writes", "/dev/mapper/raid5", &bottom),
        writes("dm-thin (LVM thin), writes", "/dev/mapper/thin", &bottom),
        reads("dm-thin (LVM thin), reads of what was written", "/dev/mapper/thin", &bottom),
        // Each read waits in the device mapper; the device below is at once.
        Scene {
            device: None,
            held_in: Some(format!("{} (delay)", name_of_mapped("delay"))),
            ..reads("dm-delay", "/dev/mapper/delay", &bottom)
        },
        reads("scsi_debug", &format!("/dev/{disk}"), &disk),
    ];
    // As qemu emulates them, with a limit of four operations a second, by another clock than this machine's.
    for (name, disk) in [("NVMe, its queues one a CPU", "nvme0n1"), ("virtio-blk, a disk of another machine", "vdb")] {
        if Path::new("/sys/block").join(disk).exists() {
            scenes.push(Scene { at_least_ms: REQUESTS * OUTSIDE_MS, ..reads(name, &format!("/dev/{disk}"), disk) });
        }
    }
    play(&scenes);
}
