//! Removing a resource, within a bounded time, and only if it is proved to be ours.

mod cgroup;
pub(crate) mod command;
mod directory;
mod existing;
pub(crate) mod mount;
pub(crate) mod setting;
pub(crate) mod throttle;

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::effect;
use crate::outcome::{Outcome, Undone};
use crate::resource::PREFIX;
use crate::{Resource, Roots};

/// Removes a resource. It is left if it is not gone within `patience`, or within the limit of its kind.
pub(crate) fn undo(resource: &Resource, roots: &Roots, patience: Duration) -> Undone {
    let _hold = match resource {
        Resource::Directory { path, .. } => match directory::hold(path, patience) {
            Ok(hold) => hold,
            Err(directory::InUse) => return Undone::InUse(format!("left {resource} to another run, which uses it")),
        },
        _ => None,
    };
    let outcome = match resource {
        Resource::Cgroup { path } => cgroup::remove(path, patience),
        Resource::ThrottleRule { file, device, value } => throttle::lift(file, device, *value),
        Resource::Controllers { file, names } => disable_controllers(file, names),
        Resource::Mount { point, source, fs_type } => mount::unmount(point, source, fs_type, roots, patience),
        Resource::Setting { file, device, ours, restore_file, restore } => {
            setting::restore_setting(file, device.as_deref(), ours, restore_file, restore)
        }
        Resource::Companion { file, restore } => setting::restore_companion(file, restore),
        Resource::Command { revert } => command::revert(revert),
        Resource::LoopDevice { backing } => mount::detach(backing, roots),
        Resource::Directory { path, marker } => directory::remove(path, marker, roots, patience),
    };
    match outcome {
        Ok(None) => Undone::Gone,
        Ok(Some(how)) => Undone::Removed(format!("{how} {resource}")),
        Err(why) => Undone::Left(format!("could not remove {resource}: {why}; it stays registered for the next run")),
    }
}

/// Disables the controllers, unless another cgroup of ours still needs them.
fn disable_controllers(file: &Path, names: &[String]) -> Outcome {
    let Some(folder) = file.parent() else { return Ok(None) };
    let Ok(children) = fs::read_dir(folder) else { return Ok(None) };
    let in_use = children
        .flatten()
        .any(|child| child.path().is_dir() && child.file_name().to_string_lossy().starts_with(PREFIX));
    if in_use {
        return Ok(None);
    }
    let text: Vec<String> = names.iter().map(|name| format!("-{name}")).collect();
    match effect::write(file, text.join(" ")) {
        Ok(()) => Ok(Some("disabled")),
        // A cgroup below uses them by now (EBUSY).
        Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}
