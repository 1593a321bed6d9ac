//! The known stalls, by area.

mod asynchronous;
mod beneath;
mod calls;
mod clients;
mod culprits;
mod limits;
mod locks;
mod processes;
mod storage;

use serde_json::Value;

use crate::ground::{Disk, Frozen, Ground};
use crate::victim::{Truth, Victim};

/// The file that starts what waits for it.
const GO: &str = "go";

/// A victim that writes to the file system, which is frozen, once the returned file starts it. It runs these steps first.
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
    /// Whether it may run beside other such tests in one recording: it leaves them the CPUs, and changes nothing of theirs.
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
        beneath::TESTS,
        limits::TESTS,
        locks::TESTS,
        processes::TESTS,
        culprits::TESTS,
    ]
    .into_iter()
    .flatten()
}
