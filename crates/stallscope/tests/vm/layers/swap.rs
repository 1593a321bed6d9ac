//! Swap: on zram, which is memory and CPU time, and on the slow disk.

use std::fs;
use std::process::Command;

use super::{Bottom, DELAY_MS};
use crate::scenes::{Scene, tool};
use crate::stacks::Mapped;
use crate::stalls::Group;

const DISK: &str = "/dev/mapper/swap";
const ZRAM: &str = "/dev/zram0";

/// Memory cgroups, and what their tasks may swap to.
pub struct Swap {
    small: Group,
    reclaimed: Group,
    _disk: Mapped,
}

impl Swap {
    pub fn new(disk: Mapped) -> Swap {
        tool("modprobe", &["zram"]);
        fs::write("/sys/block/zram0/disksize", "64M").unwrap();
        for device in [DISK, ZRAM] {
            tool("mkswap", &[device]);
        }
        // Not zeros, which some kernels do not write to swap.
        let text: Vec<u8> =
            (0..20u32 << 18).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        fs::write("/run/swapped-on-zram", text).unwrap();
        let small = Group::new("swap", &[("memory.max", "8388608")]);
        Swap { small, reclaimed: Group::new("reclaimed", &[]), _disk: disk }
    }

    /// A task that reads a file in memory twice into a buffer that its cgroup has no room for: what it overwrites must
    /// be read back from swap first, which on zram is the work of its CPU, as is what it writes there in reclaim. No
    /// device is waited for.
    fn on_zram(&self, bottom: &Bottom) -> Scene {
        let read = self.small.run("dd if=/run/swapped-on-zram of=/dev/null bs=10M count=2");
        let script = format!("swapon {ZRAM}\n{read}\nswapoff {ZRAM}");
        let scene =
            bottom.scene("swap on zram", script, ("read", "swapped-on-zram"), "running|direct_reclaim|swap|cpu_wait");
        Scene { device: None, ..scene }
    }

    /// A task whose buffer is reclaimed while it is frozen, and then filled again.
    fn on_disk(&self, bottom: &Bottom) -> Scene {
        let [high, current, freeze] =
            ["memory.high", "memory.current", "cgroup.freeze"].map(|name| self.reclaimed.file(name));
        let script = [
            format!("swapon {DISK}"),
            format!("{} &", self.reclaimed.run("dd if=/dev/urandom of=/dev/null bs=256k")),
            format!("sleep 1; echo 1 > {freeze}; sleep 1"),
            // Its pages are written first, and freed when reclaim finds them written.
            format!(
                "for try in 1 2 3 4 5 6 7 8 9 10; do echo 0 > {high}; sleep 1; [ $(cat {current}) -gt 65536 ] || \
                 break; done"
            ),
            format!("echo max > {high}"),
            format!("echo 0 > {freeze}; sleep 6; kill $!; wait; swapoff {DISK}"),
        ];
        let scene = bottom.scene("swap on the disk", script.join("\n"), ("read", "/urandom"), "swap");
        Scene { at_least_ms: 4 * DELAY_MS, ..scene }
    }

    pub fn scenes(&self, bottom: &Bottom) -> [Scene; 2] {
        [self.on_zram(bottom), self.on_disk(bottom)]
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        for device in [DISK, ZRAM] {
            let _ = Command::new("swapoff").arg(device).status();
        }
        let _ = fs::write("/sys/block/zram0/reset", "1");
    }
}
