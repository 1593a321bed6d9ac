//! Tests on the real kernel. Tests that need root are skipped without it.

mod crash;
mod every_crash;
mod limits;
mod temporary_file_system;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Register, Removed, Roots};

/// `false` without root; prints what is skipped.
pub(crate) fn is_root(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: {what} needs root");
    }
    root
}

/// A register in the folder.
pub(crate) fn register(folder: &Path) -> (Register, Vec<Removed>) {
    Register::open_in(&folder.join("register"), Roots::default()).unwrap()
}

/// What the next program removes once this one is dead: the owner in the register's files becomes a dead process.
fn register_after_death(folder: &Path) -> Vec<Removed> {
    for entry in std::fs::read_dir(folder.join("register")).unwrap().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let pid = format!("\"pid\":{}", std::process::id());
            assert!(text.contains(&pid), "{text}");
            std::fs::write(entry.path(), text.replace(&pid, "\"pid\":1073741824")).unwrap();
        }
    }
    register(folder).1
}

/// This test program again, with a test that does nothing unless its environment variables are set.
fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env_remove("LLVM_PROFILE_FILE");
    command
}

/// Runs a command in the cgroup as the program does: the process writes its id, then executes the command.
fn run_in_cgroup(cgroup_procs: &[PathBuf], command: &[&str]) {
    let procs: Vec<&str> = cgroup_procs.iter().map(|path| path.to_str().unwrap()).collect();
    let status = again("tests::enter_cgroup")
        .env("RIG_TEST_PROCS", procs.join(":"))
        .env("RIG_TEST_COMMAND", command.join("\n"))
        .output()
        .unwrap();
    assert!(status.status.success(), "{command:?}: {}", String::from_utf8_lossy(&status.stderr));
}

#[test]
fn enter_cgroup() {
    let (Ok(procs), Ok(command)) = (std::env::var("RIG_TEST_PROCS"), std::env::var("RIG_TEST_COMMAND")) else { return };
    let procs: Vec<PathBuf> = procs.split(':').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
    let command: Vec<_> = command.lines().map(std::ffi::OsString::from).collect();
    let Err(error) = crate::exec_in_cgroup(&procs, &command);
    panic!("{error}");
}
