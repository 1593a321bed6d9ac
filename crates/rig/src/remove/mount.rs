//! Unmounting and detaching, by tools with a deadline.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::existing::{existing, text};
use crate::child::{find_tool, run};
use crate::outcome::Outcome;
use crate::{MountEntry, Roots};

const TOOL_DEADLINE: Duration = Duration::from_secs(10);
const THAW_DEADLINE: Duration = Duration::from_secs(2);
const BUSY_PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(50);

/// Unmounts what we mounted. Retries a busy mount for a while, then unmounts it lazily if it is temporary.
pub(super) fn unmount(point: &Path, source: &str, fs_type: &str, roots: &Roots, patience: Duration) -> Outcome {
    match mounted_at(point, roots)? {
        None => return Ok(None),
        Some(mount) if mount.source != source || mount.fs_type != fs_type => {
            return Err(format!("{} ({}) is mounted there now, by another program", mount.source, mount.fs_type));
        }
        Some(_) => {}
    }
    let temporary = source.starts_with("/dev/loop");
    if temporary {
        // A frozen file system can be unmounted, but is then never released. Thawing one that is not frozen fails.
        let _ = tool("fsfreeze", THAW_DEADLINE, |command| command.arg("-u").arg(point));
    }
    let started = Instant::now();
    let mut last;
    loop {
        last = tool("umount", TOOL_DEADLINE, |command| command.arg(point));
        if mounted_at(point, roots)?.is_none() {
            return Ok(Some("unmounted"));
        }
        if started.elapsed() >= BUSY_PATIENCE.min(patience) {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    if temporary {
        last = tool("umount", TOOL_DEADLINE, |command| command.arg("--lazy").arg(point));
        if mounted_at(point, roots)?.is_none() {
            return Ok(Some("lazily unmounted (something still used it)"));
        }
    }
    Err(last.err().unwrap_or_else(|| "it is still mounted".into()))
}

/// Detaches every loop device of the backing file.
pub(super) fn detach(backing: &Path, roots: &Roots) -> Outcome {
    let devices = find_loops(backing, roots)?;
    if devices.is_empty() {
        return Ok(None);
    }
    let mut last = Ok(());
    for device in devices {
        last = tool("losetup", TOOL_DEADLINE, |command| command.arg("-d").arg(roots.path("/dev").join(&device)));
    }
    let started = Instant::now();
    // The kernel detaches a device when its last user closes it.
    while started.elapsed() < BUSY_PATIENCE {
        if find_loops(backing, roots)?.is_empty() {
            return Ok(Some("detached"));
        }
        std::thread::sleep(PAUSE);
    }
    Err(last.err().unwrap_or_else(|| "it is still in use".into()))
}

/// Names of the loop devices of a backing file, which may have been deleted; none if they cannot be read.
pub(crate) fn loops_of(backing: &Path, roots: &Roots) -> Vec<String> {
    find_loops(backing, roots).unwrap_or_default()
}

fn find_loops(backing: &Path, roots: &Roots) -> Result<Vec<String>, String> {
    let block = roots.path("/sys/block");
    let deleted = PathBuf::from(format!("{} (deleted)", backing.display()));
    let failed = |error: std::io::Error| format!("{}: {error}", block.display());
    let mut found = Vec::new();
    if existing(&block)?.is_none() {
        return Ok(found);
    }
    for entry in std::fs::read_dir(&block).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().into_string();
        let Ok(name) = name else { continue };
        if !name.starts_with("loop") {
            continue;
        }
        let text = text(&block.join(&name).join("loop/backing_file"))?.unwrap_or_default();
        let file = Path::new(text.trim_end_matches('\n'));
        if file == backing || file == deleted {
            found.push(name);
        }
    }
    Ok(found)
}

fn mounted_at(point: &Path, roots: &Roots) -> Result<Option<MountEntry>, String> {
    let mounts = roots.mounts().map_err(|error| error.to_string())?;
    Ok(mounts.into_iter().rev().find(|mount| mount.point == point))
}

fn tool(
    name: &'static str,
    deadline: Duration,
    arguments: impl FnOnce(&mut Command) -> &mut Command,
) -> Result<(), String> {
    let program = find_tool(name).ok_or_else(|| format!("{name} is not installed"))?;
    run(arguments(&mut Command::new(program)), deadline).map(drop).map_err(|error| error.to_string())
}
