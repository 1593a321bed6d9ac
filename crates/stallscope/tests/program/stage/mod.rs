//! What a test of the program needs: the program running, disks to run it on, and a look at what it leaves.

pub mod disk;
pub mod kernel;
pub mod program;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

pub use disk::{Disk, Frozen};
pub use program::{Ended, Running, run};

/// A simoop that a busy machine of two CPUs does beside others: 32 MiB of files, some MiB of memory, seconds.
pub const SMALL: &str = "-t 2 -m 8 -M 4 -f 4 -n 8 -T 2 -R 1 -W 1 -C 1 -D 1 -w 1 -r 3 -i 1";

/// Whether this is root; says what is passed over where it is not.
pub fn is_root(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: {what} needs root");
    }
    root
}

/// A folder for run directories, taken away when dropped. In memory where that can be: what others do to the machine's
/// disk must not stall our archives.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Held by the one test that changes settings of the whole machine, or that finds runs to differ in nothing else.
pub fn the_machines_settings() -> MutexGuard<'static, ()> {
    static SETTINGS: Mutex<()> = Mutex::new(());
    SETTINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the next runs take away what a dead one left, until all is gone: what is not removed in time, on a busy machine,
/// stays for the run after.
#[track_caller]
pub fn sweep_until(all_is_gone: impl Fn() -> bool) {
    let folder = folder();
    for attempt in 1..=30 {
        let out = folder.path().join(attempt.to_string());
        run(&format!("record --runtime 100ms --json -q --out {}", out.display())).expect_code(0);
        if all_is_gone() {
            return println!("swept after {attempt} runs");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("something is left");
}

/// `show --json`, which must work.
pub fn shown(run_directory: &Path) -> Value {
    run(&format!("show --json {}", run_directory.display())).expect_code(0).document()
}

/// `check --json`, whatever its exit code.
pub fn checked(run_directory: &Path) -> Value {
    run(&format!("check --json {}", run_directory.display())).document()
}

/// A number in a document; the whole document where it is not there.
pub fn number(document: &Value, pointer: &str) -> f64 {
    let found = document.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number {pointer} in {document:#}"))
}

/// All errors of all operation classes.
pub fn errors(document: &Value) -> u64 {
    let classes = document["operations"].as_object().expect("operations is an object");
    classes.values().map(|class| class["errors"].as_u64().unwrap()).sum()
}
