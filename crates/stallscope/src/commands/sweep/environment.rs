//! The environment of a run of a sweep: a fresh file system, kernel settings, commands of the user.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use model::quantity::{Bytes, parse_size};
use rig::{BlockDevice, Entry, FileSystem, FsKind, Register, Roots, Setting, TemporaryFileSystem};
use rig::{devices_under, sync_all, sync_file_system};
use sweep::{FileSystemSpec, Setup, SweepFile};

use super::captured::captured;
use crate::recording::own_path::refuse_replaceable;
use crate::recording::scratch;
use crate::ui::failure::Failure;

/// A file system under test that is not synced within is no place for a run.
const SYNC_DEADLINE: Duration = Duration::from_secs(120);
/// Another one may be frozen, throttled, or on a server that is gone.
const SYNC_PATIENCE: Duration = Duration::from_secs(10);

/// Built before a run and removed after it, also if building fails midway.
pub(super) struct Environment {
    file_system: Option<TemporaryFileSystem>,
    directories: Vec<PathBuf>,
    settings: Vec<Entry>,
    register: Register,
    before: Vec<String>,
    /// Commands that undo `before`, last first.
    after: Vec<String>,
}

impl Environment {
    /// Creates the file system and changes the settings.
    pub(super) fn build(file: &SweepFile, setup: &Setup, register: &Register) -> Result<Environment, Failure> {
        let file_system = setup.file_system.as_ref().map(|spec| make(spec, register)).transpose()?;
        let directories = match &file_system {
            Some(made) => vec![made.path().to_owned()],
            None => file.directories.iter().map(PathBuf::from).collect(),
        };
        let commands = |part: fn(&sweep::RunHooks) -> &String| {
            setup.commands.iter().map(part).filter(|command| !command.is_empty()).cloned().collect::<Vec<_>>()
        };
        let mut after = commands(|command| &command.after);
        after.reverse();
        let before = commands(|command| &command.before);
        let register = register.clone();
        let mut environment = Environment { file_system, directories, settings: Vec::new(), register, before, after };
        match environment.change(setup) {
            Ok(()) => Ok(environment),
            Err(failure) => {
                environment.after.clear();
                environment.take_down();
                Err(failure)
            }
        }
    }

    /// Where to run.
    pub(super) fn directories(&self) -> &[PathBuf] {
        &self.directories
    }

    fn change(&mut self, setup: &Setup) -> Result<(), Failure> {
        let mut wanted = Vec::new();
        for (name, value) in &setup.sysctls {
            wanted.push(Setting::sysctl(name, value).map_err(Failure::usage)?);
        }
        for device in self.devices(setup)? {
            if let Some(scheduler) = &setup.scheduler {
                wanted.push(Setting::queue(&device, "scheduler", scheduler).map_err(Failure::usage)?);
            }
            for (name, value) in &setup.queue {
                wanted.push(Setting::queue(&device, name, value).map_err(Failure::usage)?);
            }
            for (name, value) in &setup.bdi {
                wanted.push(Setting::bdi(&device, name, value).map_err(Failure::usage)?);
            }
        }
        for setting in wanted {
            self.settings.extend(setting.change(&self.register).map_err(Failure::machine)?);
        }
        Ok(())
    }

    /// The devices under test, if any of their settings change.
    fn devices(&self, setup: &Setup) -> Result<Vec<BlockDevice>, Failure> {
        if setup.scheduler.is_none() && setup.queue.is_empty() && setup.bdi.is_empty() {
            return Ok(Vec::new());
        }
        let mut devices = Vec::new();
        for directory in &self.directories {
            devices.extend(devices_under(directory, &Roots::default()).map_err(Failure::machine)?);
        }
        devices.sort();
        devices.dedup();
        Ok(devices)
    }

    /// The last steps before the run: the user's commands, and dropping caches as root. What is not under test is
    /// waited for only so long; returns what was not.
    pub(super) fn begin(&self) -> Result<Option<String>, Failure> {
        for command in &self.before {
            shell(command).map_err(|why| Failure::machine(format_args!("before: `{command}` {why}")))?;
        }
        for directory in &self.directories {
            sync_file_system(directory, SYNC_DEADLINE).map_err(Failure::machine)?;
        }
        let unsynced = sync_all(SYNC_PATIENCE).err();
        if rustix::process::geteuid().is_root() {
            let _ = std::fs::write("/proc/sys/vm/drop_caches", "3");
        }
        Ok(unsynced.map(|why| format!("other file systems are still being written to during the run: {why}")))
    }

    /// Removes everything. Returns a message for each failure.
    pub(super) fn take_down(mut self) -> Vec<String> {
        let mut left = Vec::new();
        for command in &self.after {
            left.extend(shell(command).err().map(|why| format!("after: `{command}` {why}")));
        }
        let settings = std::mem::take(&mut self.settings);
        let mut removed = self.register.undo_all(settings);
        removed.extend(self.file_system.take().map(TemporaryFileSystem::remove).unwrap_or_default());
        left.extend(removed.iter().filter(|removed| !removed.complete).map(ToString::to_string));
        left
    }
}

fn shell(command: &str) -> Result<(), String> {
    let output = captured(Command::new("sh").args(["-c", command])).map_err(|error| format!("cannot run: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let message = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
            Err(format!("failed ({}){}{message}", output.status, if message.is_empty() { "" } else { ": " }))
        }
    }
}

fn make(spec: &FileSystemSpec, register: &Register) -> Result<TemporaryFileSystem, Failure> {
    let kind = FsKind::from_name(&spec.kind).ok_or_else(|| {
        Failure::usage(format_args!("unknown file system '{}'; supported: xfs, ext4, btrfs", spec.kind))
    })?;
    let size_bytes = parse_size(&spec.size).map_err(Failure::usage)?;
    let wanted = FileSystem { kind, size_bytes, mkfs: spec.mkfs.clone(), mount: spec.mount.clone() };
    TemporaryFileSystem::make_as(&wanted, &image_directory(spec, size_bytes)?, register).map_err(Failure::machine)
}

/// The directory for the image.
fn image_directory(spec: &FileSystemSpec, size_bytes: u64) -> Result<PathBuf, Failure> {
    if let Some(directory) = &spec.place {
        refuse_replaceable(directory.as_ref())?;
        return Ok(PathBuf::from(directory));
    }
    scratch::directory_with_space(size_bytes).ok_or_else(|| {
        Failure::machine(format_args!(
            "no space for an image of {} in /var/tmp, the temporary or the current directory; choose a directory with \
             file_system.place",
            Bytes(size_bytes)
        ))
    })
}
