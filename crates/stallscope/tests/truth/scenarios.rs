//! The known stalls, by area.

mod asynchronous;
mod attempts;
mod below;
mod calls;
mod clients;
mod culprits;
mod lasting_waits;
mod limits;
mod locks;
mod processes;
mod storage;
mod unified;

use serde_json::Value;

use crate::ground::{Disk, Frozen, Ground};
use crate::victim::{Truth, Victim};

/// The file that starts what waits for it.
const GO: &str = "go";

/// A victim that writes to the file system, which is frozen, once the returned file starts it. It runs these steps
/// first.
fn writer_of_frozen(ground: &Ground, disk: &Disk, first: &str) -> (Victim, Frozen, String) {
    let (file, go) = (disk.file("victim"), ground.at(GO));
    let script = format!("{first}open {file}\nwrite {file} 0 4k\nawait {go}\nwrite {file} 0 4k");
    let victim = Victim::start(ground, &script);
    ground.wait_for(&format!("{go}.awaited"));
    let frozen = ground.freeze(disk);
    (victim, frozen, go)
}

/// Causes a stall, and returns its true cause.
pub type Scenario = fn() -> Truth;

/// One test: scenarios that run at the same time and are judged together.
#[derive(Debug, Clone, Copy)]
pub struct Test {
    pub name: &'static str,
    pub scenarios: &'static [Scenario],
    /// A test with a recording of its own: the explanation, and what is true.
    pub recorded: Option<fn() -> (Value, Truth)>,
    /// Whether it may run beside other such tests in one recording: it leaves them the CPUs, and changes nothing of
    /// theirs.
    pub shares: bool,
}

const fn alone(name: &'static str, scenarios: &'static [Scenario]) -> Test {
    Test { name, scenarios, recorded: None, shares: false }
}

const fn sharing(name: &'static str, scenarios: &'static [Scenario]) -> Test {
    Test { name, scenarios, recorded: None, shares: true }
}

/// With a recording of its own, which may begin and end while its victim waits.
const fn recorded(name: &'static str, test: fn() -> (Value, Truth)) -> Test {
    Test { name, scenarios: &[], recorded: Some(test), shares: false }
}

/// All tests.
pub fn tests() -> impl Iterator<Item = &'static Test> {
    [
        storage::TESTS,
        calls::TESTS,
        clients::TESTS,
        asynchronous::TESTS,
        below::TESTS,
        limits::TESTS,
        locks::TESTS,
        processes::TESTS,
        attempts::TESTS,
        lasting_waits::TESTS,
        culprits::TESTS,
        unified::TESTS,
    ]
    .into_iter()
    .flatten()
}

/// What scripts/test-vm runs in its emulator: first what depends on the version of cgroups, then one of each mechanism.
/// Not those whose many short waits the emulator's own time exceeds (`page_fault`, `wbt`, `culprit_of_dirty_pages`).
const EMULATED: &[&str] = &[
    "io_throttle",
    "limit_above_two_cgroups",
    "limit_of_the_owner_of_pages",
    "memory_high_of_a_shared_cgroup",
    "io_cost",
    "culprit_of_io_cost",
    "culprit_of_limit",
    "culprit_of_limit_page_cache",
    "culprit_is_victim",
    "culprit_of_flusher",
    "culprit_behind_sync",
    "culprit_of_direct_read",
    "culprit_of_quota",
    "cpu_quota",
    "cpu_quota_of_server",
    "frozen_v2_cgroup_in_a_write",
    "lock_of_an_inode_behind_a_limit",
    "mix_in_one_call",
    "frozen",
    "lock",
    "fuse_sleeps",
    "unix_client",
    "flock",
    "semaphore",
    "lock_file",
    "tcp_server_that_does_not_listen_yet",
];

pub fn runs_emulated(name: &str) -> bool {
    EMULATED.contains(&name)
}

/// Tests without a counterpart in cgroups of version 2, and why.
const VERSION_1: &[(&str, &str)] = &[
    ("out_of_memory", "the OOM killer cannot be switched off"),
    ("frozen_cgroup_in_a_write", "it has another freezer (frozen_v2_cgroup_in_a_write)"),
    ("direct_reclaim", "reclaim itself does not wait for writeback"),
    ("mix_log_reclaim_queue", "reclaim itself does not wait for writeback"),
];

/// Those that only cgroups of version 2 can have.
pub fn needs_version_2(name: &str) -> bool {
    unified::TESTS.iter().any(|test| test.name == name)
}

pub fn needs_version_1(name: &str) -> Option<&'static str> {
    VERSION_1.iter().find(|(known, _)| *known == name).map(|(_, why)| *why)
}
