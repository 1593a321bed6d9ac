//! Limits of cgroup v2, which hold for a cgroup and all below it, and for what the kernel writes back for them.

use std::path::Path;

use super::{GO, Test, alone};
use crate::cgroups::Limit;
use crate::ground::{Disk, Ground};
use crate::victim::{Truth, Victim};

pub const TESTS: &[Test] = &[
    alone("limit_above_two_cgroups", &[limit_above_two_cgroups]),
    alone("limit_of_the_owner_of_pages", &[limit_of_the_owner_of_pages]),
    alone("memory_high_of_a_shared_cgroup", &[memory_high]),
    alone("io_cost", &[io_cost]),
    alone("culprit_of_io_cost", &[culprit_of_io_cost]),
];

const CULPRIT: Option<&str> = Some("neighbour/");

fn put(cgroup: &Path) -> String {
    format!("put {}/cgroup.procs 0", cgroup.display())
}

/// Two cgroups below the one with the limit, and a third one that reads from the same disk without it.
fn limit_above_two_cgroups() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (own, theirs, outside) = (ground.another_cgroup("io"), ground.another_cgroup("io"), ground.outside());
    let [file, streamed, unlimited] = ["victim", "streamed", "unlimited"].map(|name| disk.file(name));
    let (go, begin, known) = (ground.at(GO), ground.at("begin"), ground.at("known"));
    ground.neighbour(&format!(
        "{}\nopen {streamed} direct\nwrite {streamed} 0 4m\nawait {begin}\nforever\nread {streamed} 0 2m",
        put(&theirs)
    ));
    ground.program(
        "outsider",
        &format!(
            "{}\nopen {unlimited} direct\nwrite {unlimited} 0 4m\nawait {known}\nforever\nsleep 300\nread {unlimited} \
             0 2m",
            put(&outside)
        ),
    );
    let script = format!(
        "{}\nopen {file} direct\nwrite {file} 0 1m\nawait {go}\nduring 4000\nsleep 20\nread {file} 0 4k",
        put(&own)
    );
    let victim = Victim::start(&ground, &script);
    [&go, &begin, &known].into_iter().for_each(|path| ground.wait_for(&format!("{path}.awaited")));
    ground.slow(&disk, "read_bps", 4 << 20);
    [&known, &begin].into_iter().for_each(|path| ground.go(path));
    std::thread::sleep(std::time::Duration::from_secs(1));
    ground.go(&go);
    Truth { culprit: CULPRIT, innocent: Some("outsider/"), ..victim.suffered("io_throttle") }
}

/// The pages of a file count for the cgroup of the task that first made it dirty. The victim, which has no limit, syncs
/// the file.
fn limit_of_the_owner_of_pages() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (limited, unlimited) = (ground.outside(), ground.outside());
    let (file, go, written) = (disk.file("shared"), ground.at(GO), ground.at("written"));
    ground.limit(&limited, Limit::Writes(&disk.number, 2 << 20));
    ground.neighbour(&format!("{}\nopen {file}\nwrite {file} 0 10m\nawait {written}\nsleep 60000", put(&limited)));
    ground.wait_for(&format!("{written}.awaited"));
    let victim = Victim::start(&ground, &format!("{}\nopen {file}\nawait {go}\nfsync {file}", put(&unlimited)));
    ground.go(&go);
    Truth { culprit: CULPRIT, ..victim.suffered("io_throttle") }
}

/// The neighbour's memory cannot be reclaimed. Another process reads as much, in another cgroup.
fn memory_high() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(96);
    let (shared, outside) = (ground.another_cgroup("memory"), ground.outside());
    let (file, other, go, grown) = (disk.file("victim"), disk.file("other"), ground.at(GO), ground.at("grown"));
    let script = format!(
        "open {file}\nwrite {file} 0 1m\nfsync {file}\nwriteback {file}\n{}\nawait {go}\nread {file} 0 1m",
        put(&shared)
    );
    // Limits are read every few seconds.
    ground.limit(&shared, Limit::High(64 << 20));
    let victim = Victim::start(&ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    ground.program(
        "outsider",
        &format!("{}\nopen {other}\nforever\nsleep 300\nwrite {other} 0 2m\nfsync {other}", put(&outside)),
    );
    ground.neighbour(&format!("{}\nmemory 24m\nawait {grown}\nsleep 60000", put(&shared)));
    ground.wait_for(&format!("{grown}.awaited"));
    ground.limit(&shared, Limit::High(12 << 20));
    ground.go(&go);
    Truth { culprit: CULPRIT, innocent: Some("outsider/"), ..victim.suffered("reclaim_throttle") }
}

/// What a device can do, by `io.cost.model`: 2 MB a second. All cgroups but the root one wait for their shares of it by
/// weight.
fn limit_by_cost(ground: &Ground, disk: &Disk) {
    let number = &disk.number;
    let rates = "rbps=2000000 rseqiops=1000 rrandiops=1000 wbps=2000000 wseqiops=1000 wrandiops=1000";
    ground.change_by(
        &format!(
            "cd /sys/fs/cgroup && echo '{number} ctrl=user model=linear {rates}' >io.cost.model &&
            echo '{number} enable=1 ctrl=user rpct=0 rlat=5000 wpct=0 wlat=5000 min=100 max=100' >io.cost.qos"
        ),
        &format!("echo '{number} enable=0' >/sys/fs/cgroup/io.cost.qos"),
    );
}

fn io_cost() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (file, go) = (disk.file("victim"), ground.at(GO));
    let victim = Victim::start(&ground, &format!("open {file} direct\nawait {go}\ntimes 3\nwrite {file} 0 1m"));
    ground.wait_for(&format!("{go}.awaited"));
    limit_by_cost(&ground, &disk);
    ground.go(&go);
    Truth { culprit: Some("victim/"), ..victim.suffered("io_throttle") }
}

/// A neighbour in a cgroup of ten times the weight takes nearly all that the device can do by that model.
fn culprit_of_io_cost() -> Truth {
    let ground = Ground::new();
    let disk = ground.ext4(64);
    let (own, theirs) = (ground.another_cgroup("io"), ground.another_cgroup("io"));
    let (file, streamed) = (disk.file("victim"), disk.file("streamed"));
    let (go, begin) = (ground.at(GO), ground.at("begin"));
    ground.limit(&theirs, Limit::IoWeight(1000));
    ground.neighbour(&format!(
        "{}\nopen {streamed} direct\nwrite {streamed} 0 4m\nawait {begin}\nforever\nread {streamed} 0 1m",
        put(&theirs)
    ));
    let script =
        format!("{}\nopen {file} direct\nwrite {file} 0 1m\nawait {go}\nduring 4000\nread {file} 0 64k", put(&own));
    let victim = Victim::start(&ground, &script);
    [&go, &begin].into_iter().for_each(|path| ground.wait_for(&format!("{path}.awaited")));
    limit_by_cost(&ground, &disk);
    ground.go(&begin);
    std::thread::sleep(std::time::Duration::from_secs(1));
    ground.go(&go);
    Truth { culprit: CULPRIT, ..victim.suffered("io_throttle") }
}
