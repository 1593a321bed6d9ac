//! RAID5 and thin volumes as LVM makes them, by the device mapper alone.

use std::path::Path;

use super::{Mapped, SLICE};
use crate::devices::SlowNull;

/// Of RAID5: chunks of 32 KiB.
const CHUNK: u64 = 64;
/// Of the thin volume: blocks of 64 KiB.
const BLOCK: u64 = 128;

/// RAID5 whose first leg is the given device; what is written first lies there.
pub struct Raid5 {
    _mapped: Mapped,
    _others: [SlowNull; 2],
}

impl Raid5 {
    /// With so many sectors on each leg.
    pub fn new(leg: &Path, sectors: u64) -> Raid5 {
        let others = ["second", "third"].map(|name| SlowNull::with(name, &[("memory_backed", "1")]));
        let [second, third] = others.each_ref().map(|other| other.device().display().to_string());
        let table =
            format!("0 {} raid raid5_ls 2 {CHUNK} nosync 3 - {} - {second} - {third}", 2 * sectors, leg.display());
        Raid5 { _mapped: Mapped::new("raid5", &table), _others: others }
    }
}

/// RAID1 without metadata, whose writes go to both legs; the second is the given device.
pub struct Raid1 {
    _mapped: Mapped,
    _other: SlowNull,
}

impl Raid1 {
    pub fn new(leg: &Path) -> Raid1 {
        let other = SlowNull::new("mirrored", 0);
        let first = other.device().display().to_string();
        let table = format!("0 {SLICE} raid raid1 2 0 nosync 2 - {first} - {}", leg.display());
        Raid1 { _mapped: Mapped::new("raid1", &table), _other: other }
    }
}

/// A thin volume whose data lies on the given device, and its metadata on one without a delay.
pub struct Thin {
    _volume: Mapped,
    _pool: Mapped,
    _metadata: SlowNull,
}

impl Thin {
    /// Of that size, on a pool of the same.
    pub fn new(data: &Path, sectors: u64) -> Thin {
        // New metadata begins with zeros, and must be kept.
        let metadata = SlowNull::with("metadata", &[("memory_backed", "1")]);
        let pool = format!(
            "0 {sectors} thin-pool {} {} {BLOCK} 0 1 skip_block_zeroing",
            metadata.device().display(),
            data.display()
        );
        let pool = Mapped::new("pool", &pool);
        crate::scenes::tool("dmsetup", &["message", "/dev/mapper/pool", "0", "create_thin 0"]);
        let volume = Mapped::new("thin", &format!("0 {sectors} thin /dev/mapper/pool 0"));
        Thin { _volume: volume, _pool: pool, _metadata: metadata }
    }
}
