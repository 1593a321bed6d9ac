//! What a killed campaign leaves: mounts, loop devices and folders, whose names say which process made them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rig::{Owner, Roots};

const PREFIX: &str = "torture-";

/// A folder of this process in that directory, removed when it is dropped, or by the next start.
pub fn folder_in(directory: &Path) -> tempfile::TempDir {
    let owner = Owner::current(&Roots::default()).expect("this process has a start time");
    let prefix = format!("{PREFIX}{}-{}-", owner.pid, owner.start_ticks);
    tempfile::Builder::new().prefix(&prefix).tempdir_in(directory).expect("a folder can be made")
}

/// The same in the directory of temporary files.
pub fn folder() -> tempfile::TempDir {
    folder_in(&std::env::temp_dir())
}

/// Removes what processes left that are dead. Returns what that was, and what could not be removed.
pub fn remove() -> Vec<String> {
    // First: what the programs left that were attacked, by their register.
    let mut removed: Vec<String> = match rig::Register::open() {
        Ok((_, removed)) => removed.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    };
    [std::env::temp_dir(), "/dev/shm".into()].iter().for_each(|directory| removed.extend(remove_in(directory)));
    removed
}

/// The same in one directory.
pub fn remove_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir() && is_of_the_dead(path)).map(|path| take_down(&path)).collect()
}

fn is_of_the_dead(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut parts = name.strip_prefix(PREFIX).unwrap_or_default().splitn(3, '-').map(str::parse::<u64>);
    let (Some(Ok(pid)), Some(Ok(start_ticks))) = (parts.next(), parts.next()) else { return false };
    let boot_id = Owner::current(&Roots::default()).map(|owner| owner.boot_id);
    boot_id.is_ok_and(|boot_id| !Owner { pid: pid as u32, start_ticks, boot_id }.is_alive(&Roots::default()))
}

/// Unmounts what is below a folder, and detaches the loop devices of its files: those of a disk that a dead process
/// served, too, which the kernel answers with errors.
fn take_down(folder: &Path) -> String {
    let below = folder.display().to_string();
    let is_served = |kind: &str| kind.starts_with("fuse");
    // Ends its connection, also if it is in use: a thread of the dead process that waits for its own disk holds it
    // open.
    for (point, _) in mounts_below(folder).iter().filter(|(_, kind)| is_served(kind)) {
        let _ = tool("umount", &["--force", point]);
    }
    for (point, kind) in mounts_below(folder).iter().rev() {
        if !is_served(kind) {
            let _ = tool("umount", &[point]) || tool("umount", &["--lazy", point]);
        }
    }
    for device in loops_of(folder) {
        let _ = tool("losetup", &["--detach", &device]);
    }
    for (point, _) in mounts_below(folder).iter().rev() {
        let _ = tool("umount", &["--lazy", point]);
    }
    if !mounts_below(folder).is_empty() {
        return format!("{below}: something is still mounted there");
    }
    match fs::remove_dir_all(folder) {
        Ok(()) => format!("{below}: left by a campaign that was killed; removed"),
        Err(error) => format!("{below}: {error}"),
    }
}

/// Mount points below a folder and their types, in the order of mounting.
fn mounts_below(folder: &Path) -> Vec<(String, String)> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mount = |line: &str| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    mounts.lines().filter_map(mount).filter(|(point, _)| Path::new(point).starts_with(folder)).collect()
}

/// Loop devices whose backing files are below a folder.
fn loops_of(folder: &Path) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_of_it = |device: &PathBuf| {
        let backing = fs::read_to_string(device.join("loop/backing_file")).unwrap_or_default();
        Path::new(backing.trim_end()).starts_with(folder)
    };
    let name = |device: PathBuf| format!("/dev/{}", device.file_name().unwrap_or_default().display());
    devices.filter(is_of_it).map(name).collect()
}

fn tool(program: &str, arguments: &[&str]) -> bool {
    let quiet =
        Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}
