//! The proof of the advice: a short trial of the first remedy that can be tried live, on the load of the demo.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use model::quantity::{Nanoseconds, parse_size};
use rig::{Register, Setting, TemporaryFileSystem};

use crate::ui::screen::Screen;

const PERIODS: u64 = 24;
const PERIOD_MS: u64 = 1500;
const WASH_OUT_MS: u64 = 300;
/// Limits on a device, as a cgroup of version 1 has them. The root's also hold for the load's own.
const LIMITS: [&str; 2] = ["read_bps_device", "write_bps_device"];

/// Whether there is a disk to throttle, and a place for the trial's output: not beside a document.
pub(super) fn is_possible(json: bool, file_system: &TemporaryFileSystem) -> bool {
    !json && file_system.device().is_some()
}

/// Tries the first remedy that can be tried live, and prints what was predicted beside what was measured. `load`: the
/// words of a command that runs for longer; `limit`: what its disk, a `major:minor`, was throttled to.
pub(super) fn prove(
    run: &Path,
    load: &[OsString],
    (device, limit): (&str, &str),
    register: &Register,
    screen: &Screen,
) {
    let mut entries = Vec::new();
    for name in LIMITS {
        let file = format!("/sys/fs/cgroup/blkio/blkio.throttle.{name}");
        let value = format!("{device} {}", parse_size(limit).unwrap_or(0));
        match Setting::named(&file, &value).and_then(|setting| setting.change(register)) {
            Ok(made) => entries.extend(made),
            Err(why) => {
                screen.remark(&format!("\nThe advice is not tried: {why}"));
                register.undo_all(entries);
                return;
            }
        }
    }
    let length = Nanoseconds(PERIODS * PERIOD_MS * 1_000_000);
    screen.remark(&format!("\nThe advice is tried on the same load, for {length}:"));
    if let Err(why) = trial(run, load) {
        screen.warning(&format!("the advice was not tried: {why}"));
    }
    register.undo_all(entries);
}

/// The trial is a program of its own, as a user would start it.
fn trial(run: &Path, load: &[OsString]) -> std::io::Result<()> {
    let program = std::env::current_exe()?;
    let mut words: Vec<OsString> = ["trial", "--first", "1", "--slower-than", "100ms", "--interval", "500ms"]
        .into_iter()
        .map(OsString::from)
        .collect();
    words.extend([OsString::from("--from"), run.into()]);
    words.extend(["--periods".into(), PERIODS.to_string().into()]);
    words.extend(["--period".into(), format!("{PERIOD_MS}ms").into()]);
    words.extend(["--wash-out".into(), format!("{WASH_OUT_MS}ms").into()]);
    // What the load says of itself when it is ended is of no interest.
    words.extend(["--", "sh", "-c", "exec \"$@\" >/dev/null 2>&1", "sh"].map(OsString::from));
    words.push(program.clone().into());
    words.extend(load.iter().cloned());
    let started = Command::new(&program).args(words).status();
    // A program that was replaced while it ran is another file.
    let unstarted = |why| format!("{}: {why}; start the demo again if the program was replaced", program.display());
    let status = started.map_err(|why| std::io::Error::other(unstarted(why)))?;
    match status.success() {
        true => Ok(()),
        false => Err(std::io::Error::other(format!("its trial ended with {status}"))),
    }
}
