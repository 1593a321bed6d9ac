//! What lies on storage stacks: file systems, overlayfs, loop devices on loop devices, multipath, NBD and swap. Their
//! stalls lead to the disk at the bottom, or to the server.

pub mod file_systems;
mod nbd;
mod swap;

use self::file_systems::{FileSystem, LoopOnLoop, Overlay};
use crate::devices::SlowNull;
use crate::scenes::{Scene, is_since, number_of, play, tool};
use crate::scsi::SlowScsi;
use crate::stacks::{Mapped, name_of_mapped};

/// Of each request of the slow disk: the emulator's CPU time is little beside it.
pub const DELAY_MS: u64 = 300;
/// Sectors of each slice of the slow disk: 64 MiB.
pub const SLICE: u64 = 64 << 11;

/// The slow disk, at once as long as nothing is recorded: two paths lead to it.
pub struct Bottom {
    pub disk: SlowScsi,
    paths: Vec<String>,
}

impl Bottom {
    /// Of so many slices.
    pub fn new(slices: u64) -> Bottom {
        let size = format!("dev_size_mb={}", (slices * SLICE) >> 11);
        let disk = SlowScsi::with(&[&size, "max_luns=2"]);
        disk.set("ndelay", "1000");
        let paths = disk.names(2);
        Bottom { disk, paths }
    }

    /// A device of the device mapper on a slice.
    pub fn slice(&self, name: &str, number: u64) -> Mapped {
        Mapped::new(name, &format!("0 {SLICE} linear /dev/{} {}", self.paths[0], number * SLICE))
    }

    /// Both paths to the first slice, as one device.
    pub fn multipath(&self, name: &str) -> Mapped {
        let paths: Vec<String> = self.paths.iter().map(|path| format!("round-robin 0 1 1 /dev/{path} 1")).collect();
        Mapped::new(name, &format!("0 {SLICE} multipath 0 0 2 1 {}", paths.join(" ")))
    }

    fn number(&self) -> String {
        number_of(&self.paths[0])
    }

    /// A stall on this disk.
    fn scene(
        &self,
        name: &'static str,
        script: String,
        (operation, path): (&'static str, &str),
        cause: &'static str,
    ) -> Scene {
        Scene {
            name,
            script,
            operation,
            path: path.to_owned(),
            cause,
            at_least_ms: DELAY_MS,
            device: Some(self.number()),
            waited_for: None,
            failure: None,
            held_in: None,
        }
    }

    /// Of something whose requests an earlier tracer does not lead to the disk: the device itself is what it names.
    fn scene_above(&self, scene: Scene, device: &str) -> Scene {
        Scene { device: Some(shown(device, self.number())), ..scene }
    }

    fn reads(&self, name: &'static str, device: &str) -> Scene {
        let script = format!("dd if=/dev/mapper/{device} of=/dev/null bs=4k count=5 iflag=direct");
        Scene { at_least_ms: 5 * DELAY_MS, ..self.scene(name, script, ("read", device), "device") }
    }
}

/// The disk, or before Linux 5.17 the device above it that has requests of its own, by name in /sys/block.
pub fn shown(above: &str, disk: String) -> String {
    if is_since(5, 17) { disk } else { number_of(above) }
}

/// The command, while each request of the disk takes three times as long: one that waits for few of them.
pub fn slower(command: &str) -> String {
    let set = |delay_ms: u64| SlowScsi::setting("ndelay", &(delay_ms * 1_000_000).to_string());
    format!("{}\n{command}\n{}", set(3 * DELAY_MS), set(DELAY_MS))
}

/// Without pages in memory.
pub fn drop_caches() {
    tool("sync", &[]);
    std::fs::write("/proc/sys/vm/drop_caches", "3").unwrap();
}

#[test]
fn stalls_of_what_lies_on_stacks_lead_to_the_disk_at_the_bottom() {
    let bottom = Bottom::new(5);
    let systems =
        [FileSystem::ext4_on_crypt(&bottom), FileSystem::xfs_on_mirror(&bottom), FileSystem::btrfs_on_thin(&bottom)];
    let overlay = Overlay::new(systems[0].folder());
    let loops = LoopOnLoop::new(systems[1].folder());
    let _multipath = bottom.multipath("paths");
    let fast = SlowNull::new("first", 0);
    let two = format!("0 8 linear {} 0\n8 {SLICE} linear /dev/{} 0", fast.device().display(), bottom.paths[0]);
    let _two = Mapped::new("two", &two);
    let server = nbd::Server::new(bottom.slice("exported", 3));
    let swap = swap::Swap::new(bottom.slice("swap", 4));
    drop_caches();
    bottom.disk.set("ndelay", &(DELAY_MS * 1_000_000).to_string());
    let mut scenes: Vec<Scene> = systems.iter().flat_map(|system| system.scenes(&bottom)).collect();
    scenes.extend([
        overlay.scene(&bottom),
        loops.scene(&bottom),
        bottom.scene_above(bottom.reads("dm-multipath", "paths"), &name_of_mapped("paths")),
        Scene { at_least_ms: 4 * DELAY_MS, ..bottom.reads("dm-linear over two disks", "two") },
    ]);
    scenes.extend(server.as_ref().map(|server| server.scene(&bottom)));
    scenes.extend(swap.scenes(&bottom));
    play(&scenes);
    bottom.disk.set("ndelay", "1000");
}
