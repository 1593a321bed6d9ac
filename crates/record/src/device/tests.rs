use std::os::unix::fs::symlink;

use model::run::Mapper;

use super::{chosen, devices};
use crate::SamplerOptions;
use crate::fake::Kernel;

const IDLE: &str = "0 0 0 0 0 0 0 0 0 0 0";

fn diskstats(lines: &[(&str, &str)]) -> String {
    lines.iter().map(|(device, numbers)| format!("   {device} {numbers}\n")).collect()
}

#[test]
fn devices_have_an_identity_that_survives_renaming() {
    let kernel = Kernel::new().with(&[
        ("sys/class/block/nvme0n1/wwid", "eui.0025385b71b0a1b2\n"),
        ("sys/class/block/nvme0n1/size", "1953525168\n"),
        ("sys/class/block/nvme0n1/queue/scheduler", "none [mq-deadline] kyber\n"),
        ("sys/class/block/nvme0n1/queue/nr_requests", "1023\n"),
        ("sys/class/block/nvme0n1/queue/rotational", "0\n"),
        ("sys/class/block/sda/device/wwid", "t10.ATA     Disk  \0X1"),
        ("sys/class/block/sda/size", "100\n"),
        ("sys/class/block/loop3/loop/backing_file", "/var/lib/my image.img\n"),
        ("sys/class/block/loop3/size", "2048\n"),
        ("sys/class/block/loop4/size", "0\n"),
        ("sys/class/block/dm-0/dm/uuid", "LVM-abc\n"),
        ("sys/class/block/dm-0/size", "8\n"),
        ("sys/class/block/zram0/size", "8\n"),
        ("sys/class/block/cciss!c0d0/size", "8\n"),
    ]);
    kernel.write(
        "proc/diskstats",
        diskstats(&[
            ("259 0 nvme0n1", IDLE),
            ("8 0 sda", IDLE),
            ("7 3 loop3", IDLE),
            ("7 4 loop4", IDLE),
            ("253 0 dm-0", IDLE),
            ("252 0 zram0", IDLE),
            ("104 0 cciss/c0d0", IDLE),
            ("nonsense", ""),
        ]),
    );
    let devices = devices(&kernel.roots());
    let brief: Vec<_> = devices.iter().map(|device| (&*device.number, &*device.identity)).collect();
    assert_eq!(
        brief,
        [
            ("259:0", "eui.0025385b71b0a1b2"),
            ("8:0", "t10.ATA_Disk_\0X1"),
            ("7:3", "/var/lib/my_image.img"),
            ("253:0", "LVM-abc"),
            ("252:0", "zram0"),
            ("104:0", "cciss/c0d0"),
        ]
    );
    let nvme = &devices[0];
    assert_eq!((nvme.size_bytes, nvme.rotational, nvme.queue_depth), (1953525168 * 512, Some(false), Some(1023)));
    assert_eq!(nvme.scheduler.as_deref(), Some("mq-deadline"));
    assert_eq!(devices[4].rotational, None);
}

#[test]
fn a_partition_is_named_after_its_disk() {
    let kernel = Kernel::new().with(&[
        ("sys/devices/pci/sda/wwid", "naa.5000\n"),
        ("sys/devices/pci/sda/device/model", "WDC WD40EFRX-68N \n"),
        ("sys/devices/pci/sda/size", "100\n"),
        ("sys/devices/pci/sda/sda2/partition", "2\n"),
        ("sys/devices/pci/sda/sda2/size", "50\n"),
        ("sys/class/block/README", ""),
    ]);
    let class = kernel.roots().sys.join("class/block");
    symlink("../../devices/pci/sda", class.join("sda")).unwrap();
    symlink("../../devices/pci/sda/sda2", class.join("sda2")).unwrap();
    kernel.write("proc/diskstats", diskstats(&[("8 0 sda", IDLE), ("8 2 sda2", IDLE)]));
    let devices = devices(&kernel.roots());
    let brief: Vec<_> = devices.iter().map(|device| (&*device.identity, device.model.as_deref())).collect();
    assert_eq!(brief, [("naa.5000", Some("WDC WD40EFRX-68N")), ("naa.5000-part2", Some("WDC WD40EFRX-68N"))]);
}

#[test]
fn two_paths_to_one_disk_stay_apart() {
    let kernel = Kernel::new().with(&[
        ("sys/class/block/sda/wwid", "naa.5000\n"),
        ("sys/class/block/sda/size", "100\n"),
        ("sys/class/block/sdb/wwid", "naa.5000\n"),
        ("sys/class/block/sdb/size", "100\n"),
    ]);
    kernel.write("proc/diskstats", diskstats(&[("8 0 sda", IDLE), ("8 16 sdb", IDLE)]));
    let identities: Vec<_> = devices(&kernel.roots()).into_iter().map(|device| device.identity).collect();
    assert_eq!(identities, ["naa.5000", "naa.5000@sdb"]);
}

/// A loop device is unused, gets a file, loses it, and gets another.
#[test]
fn a_loop_device_is_its_file() {
    let kernel = Kernel::new().with(&[("sys/class/block/loop0/size", "0\n"), ("sys/class/block/loop0/diskseq", "1\n")]);
    kernel.write("proc/diskstats", diskstats(&[("7 0 loop0", IDLE)]));
    let mut recording = kernel.record(&SamplerOptions::default());
    assert_eq!(recording.sample(), [""; 0]);

    let attach = |file: &str, sequence: &str| {
        kernel.write("sys/class/block/loop0/size", "2048\n");
        kernel.write("sys/class/block/loop0/diskseq", sequence);
        kernel.write("sys/class/block/loop0/loop/backing_file", file);
    };
    attach("/a.img\n", "2\n");
    recording.sample();
    assert_eq!(recording.value("diskstats.read_ios", "/a.img"), Some(0));

    // The same size, another file, and I/O at once: nothing of it is counted for the first file.
    attach("/b.img\n", "3\n");
    kernel.write("proc/diskstats", diskstats(&[("7 0 loop0", "9 0 0 0 0 0 0 0 0 0 0")]));
    recording.sample();
    assert_eq!(recording.value("diskstats.read_ios", "/a.img"), None);
    assert_eq!(recording.value("diskstats.read_ios", "/b.img"), Some(9));

    kernel.write("sys/class/block/loop0/size", "0\n");
    recording.sample();
    assert_eq!(recording.value("diskstats.read_ios", "/b.img"), None);
    assert_eq!(recording.set.metric_count(), recording.descriptors.len());
}

#[test]
fn schedulers() {
    for (list, scheduler) in [("none [bfq] kyber", "bfq"), ("[none]", "none"), ("none", "none"), ("[", "[")] {
        assert_eq!(chosen(list), scheduler);
    }
}

#[test]
fn what_a_mapped_device_is_made_of_is_described() {
    let kernel = Kernel::new().with(&[
        ("sys/class/block/sda/size", "8\n"),
        ("sys/class/block/sdb/size", "8\n"),
        ("sys/class/block/md0/size", "8\n"),
        ("sys/class/block/md0/md/level", "raid1\n"),
        ("sys/class/block/md0/slaves/sdb/size", "8\n"),
        ("sys/class/block/md0/slaves/sda/size", "8\n"),
        ("sys/class/block/dm-0/size", "8\n"),
        ("sys/class/block/dm-0/dm/name", "vg-home\n"),
        ("sys/class/block/dm-0/slaves/md0/size", "8\n"),
    ]);
    kernel.write("proc/diskstats", diskstats(&[("8 0 sda", IDLE), ("9 0 md0", IDLE), ("253 0 dm-0", IDLE)]));
    let described: Vec<_> = devices(&kernel.roots()).into_iter().map(|device| device.mapper).collect();
    let below = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    // The target of a device in a fake sysfs is unknown.
    let mirror = Mapper { kind: Some("raid1".into()), name: None, below: below(&["sda", "sdb"]) };
    let mapped = Mapper { kind: None, name: Some("vg-home".into()), below: below(&["md0"]) };
    assert_eq!(described, [None, Some(mirror), Some(mapped)]);
}
