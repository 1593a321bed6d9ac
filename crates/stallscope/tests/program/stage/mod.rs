//! Test fixtures: the program running, disks to run it on, and its remains.

pub mod disk;
pub mod kernel;
pub mod program;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

pub use disk::{Disk, Frozen};
pub use program::{Ended, Running, run};

/// A simoop that is small enough for two busy CPUs: 32 MiB of files, some MiB of memory, seconds.
pub const SMALL: &str = "-t 2 -m 8 -M 4 -f 4 -n 8 -T 2 -R 1 -W 1 -C 1 -D 1 -w 1 -r 3 -i 1";

/// Whether this is root; prints what is skipped without it.
pub fn is_root(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: {what} needs root");
    }
    root
}

/// A folder for run directories, removed when dropped. In memory where possible: other activity on the machine's disk
/// must not stall the archives.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Held by tests that change settings of the whole machine, or that compare runs and allow no other difference.
pub fn exclusive_machine_settings() -> MutexGuard<'static, ()> {
    static SETTINGS: Mutex<()> = Mutex::new(());
    SETTINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts runs, which remove the remains of a dead one, until all are removed. On a busy machine, what one run does not
/// remove in time is left to the next.
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

/// A number in a document; panics with the document where it is missing.
pub fn number(document: &Value, pointer: &str) -> f64 {
    let found = document.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number {pointer} in {document:#}"))
}

/// All errors of all operation classes.
pub fn errors(document: &Value) -> u64 {
    let classes = document["operations"].as_object().expect("operations is an object");
    classes.values().map(|class| class["errors"].as_u64().unwrap()).sum()
}
