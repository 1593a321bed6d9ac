//! Each of ext4, XFS and btrfs on each stack of devices that people put one on: what waits for a file leads to the slow
//! disk at the bottom.

use std::any::Any;
use std::path::Path;

use crate::devices::SlowNull;
use crate::layers::file_systems::{FileSystem, Loop, Mount};
use crate::layers::{Bottom, DELAY_MS, SLICE, drop_caches, shown};
use crate::scenes::{Scene, play, tool};
use crate::stacks::{KEY, Mapped, Mirror, Raid5, Thin, name_of_mapped};

const KINDS: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// Sectors of each file system: 20 MiB, three on a stack.
const PART: u64 = 20 << 11;
/// A mapper that delays each request itself, above a device that does not.
const DELAYED: &str = "delayed";

/// A device on the slow disk, and what it consists of, from top to bottom.
struct Stack {
    name: &'static str,
    device: String,
    _made_of: Vec<Box<dyn Any>>,
}

impl Stack {
    fn new(name: &'static str, device: &str, made_of: Vec<Box<dyn Any>>) -> Stack {
        Stack { name, device: device.to_owned(), _made_of: made_of }
    }

    fn mapped(name: &'static str, device: &str, mapped: Mapped) -> Stack {
        Stack::new(name, &format!("/dev/mapper/{device}"), vec![Box::new(mapped)])
    }

    fn all(bottom: &Bottom) -> Vec<Stack> {
        let memory = |name: &str| SlowNull::with(name, &[("memory_backed", "1")]);
        let slice = |name: &str, number: u64| bottom.slice(&format!("{name}-below"), number);
        let below = |name: &str| format!("/dev/mapper/{name}-below");
        let crypt_table = format!("0 {SLICE} crypt aes-xts-plain64 {KEY} 0 {} 0", below("crypt"));
        let (crypt_below, mirror_below, fast) = (slice("crypt", 2), slice("mirror", 3), memory("fast"));
        let mirror = Mirror::new(&[&below("mirror"), "--write-mostly", &fast.device().display().to_string()]);
        let raid5_below = slice("raid5", 4);
        let raid5 = Raid5::new(Path::new(&below("raid5")), SLICE / 2);
        let thin_below = slice("thin", 5);
        let thin = Thin::new(Path::new(&below("thin")), SLICE);
        let instant = memory("instant");
        let delayed = Mapped::new(DELAYED, &delay_table(&instant.device(), 0));
        let on_delay =
            Stack::new("dm-delay", &format!("/dev/mapper/{DELAYED}"), vec![Box::new(delayed), Box::new(instant)]);
        vec![
            Stack::mapped("multipath", "paths", bottom.multipath("paths")),
            Stack::mapped("dm-linear", "linear", bottom.slice("linear", 1)),
            Stack::new(
                "dm-crypt",
                "/dev/mapper/crypt",
                vec![Box::new(Mapped::new("crypt", &crypt_table)), Box::new(crypt_below)],
            ),
            Stack::new("md RAID1", "/dev/md0", vec![Box::new(mirror), Box::new(mirror_below), Box::new(fast)]),
            Stack::new("RAID5", "/dev/mapper/raid5", vec![Box::new(raid5), Box::new(raid5_below)]),
            Stack::new("dm-thin", "/dev/mapper/thin", vec![Box::new(thin), Box::new(thin_below)]),
            Stack::on_loop(slice("loop", 6), &below("loop")),
            on_delay,
        ]
    }

    /// A loop device on a sparse file of ext4.
    fn on_loop(below: Mapped, device: &str) -> Stack {
        tool("mkfs.ext4", &["-q", device]);
        let mount = Mount::new("ext4", device);
        let file = format!("/run/ext4-{}/image", device.rsplit('/').next().unwrap());
        tool("truncate", &["-s", &format!("{}", SLICE * 512), &file]);
        let device = Loop::of(&file);
        Stack::new("a loop device on ext4", &device.0.clone(), vec![Box::new(device), Box::new(mount), Box::new(below)])
    }

    /// The name of its uppermost device that has requests of its own, if that is not the disk.
    fn with_requests(&self) -> Option<String> {
        match self.device.rsplit('/').next() {
            Some("paths") => Some(name_of_mapped("paths")),
            Some(name) if name.starts_with("loop") => Some(name.to_owned()),
            _ => None,
        }
    }

    /// One of each on its third of the device.
    fn systems(&self) -> Vec<On> {
        let parts = KINDS.iter().zip(0..).map(|(kind, number)| {
            let name = format!("{}-{kind}", self.device.rsplit('/').next().unwrap());
            let table = format!("0 {PART} linear {} {}", self.device, number * PART);
            let part = Mapped::new(&name, &table);
            On {
                system: FileSystem::on(kind, &name, self.name),
                _part: part,
                above: self.with_requests(),
                is_delayed: self.device.ends_with(DELAYED),
            }
        });
        parts.collect()
    }
}

/// A file system, unmounted before its device is removed.
struct On {
    system: FileSystem,
    _part: Mapped,
    above: Option<String>,
    is_delayed: bool,
}

impl On {
    fn scenes(&self, bottom: &Bottom) -> Vec<Scene> {
        let mut scenes = Vec::from(self.system.scenes(bottom));
        if let Some(above) = &self.above {
            scenes.iter_mut().for_each(|scene| scene.device = scene.device.take().map(|disk| shown(above, disk)));
        }
        if self.is_delayed {
            // The device below is at once: what took the time is the mapper, which had no request below it.
            for scene in &mut scenes {
                (scene.device, scene.held_in) = (None, Some(format!("{} (delay)", name_of_mapped(DELAYED))));
            }
        }
        scenes
    }
}

fn delay_table(below: &Path, delay_ms: u64) -> String {
    format!("0 {SLICE} delay {} 0 {delay_ms}", below.display())
}

/// Shell commands that change the delay.
fn set_delay(below: &Path, delay_ms: u64) -> String {
    format!("dmsetup reload {DELAYED} --table '{}'\ndmsetup resume {DELAYED}", delay_table(below, delay_ms))
}

#[test]
fn each_file_system_on_each_stack_leads_to_the_disk_at_the_bottom() {
    let bottom = Bottom::new(7);
    let stacks = Stack::all(&bottom);
    let systems: Vec<On> = stacks.iter().flat_map(Stack::systems).collect();
    drop_caches();
    bottom.disk.set("ndelay", &(DELAY_MS * 1_000_000).to_string());
    let mut scenes: Vec<Scene> = systems.iter().flat_map(|on| on.scenes(&bottom)).collect();
    let first = systems.iter().position(|on| on.is_delayed).expect("a stack delays") * 2;
    let below = SlowNull::device_of("instant");
    scenes[first].script.insert_str(0, &(set_delay(&below, 3 * DELAY_MS) + "\n"));
    let last = scenes.last_mut().expect("there are scenes");
    last.script.push_str(&("\n".to_owned() + &set_delay(&below, 0)));
    play(&scenes);
    bottom.disk.set("ndelay", "1000");
}
