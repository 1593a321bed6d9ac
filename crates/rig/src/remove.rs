//! Removing a thing, within a bounded time, and only if it is proved to be ours.

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
use crate::thing::PREFIX;
use crate::{Roots, Thing};

/// Removes a thing. It is left if it is not gone within `patience`, or within the limit of its kind.
pub(crate) fn undo(thing: &Thing, roots: &Roots, patience: Duration) -> Undone {
    let _hold = match thing {
        Thing::Directory { path, .. } => match directory::hold(path, patience) {
            Ok(hold) => hold,
            Err(directory::InUse) => return Undone::InUse(format!("left {thing} to another run, which uses it")),
        },
        _ => None,
    };
    let outcome = match thing {
        Thing::Cgroup { path } => cgroup::remove(path, patience),
        Thing::ThrottleRule { file, device, value } => throttle::lift(file, device, *value),
        Thing::Controllers { file, names } => disable_controllers(file, names),
        Thing::Mount { point, source, fs_type } => mount::unmount(point, source, fs_type, roots, patience),
        Thing::Setting { file, device, ours, restore_file, restore } => {
            setting::restore_setting(file, device.as_deref(), ours, restore_file, restore)
        }
        Thing::Companion { file, restore } => setting::restore_companion(file, restore),
        Thing::Command { revert } => command::revert(revert),
        Thing::LoopDevice { backing } => mount::detach(backing, roots),
        Thing::Directory { path, marker } => directory::remove(path, marker, roots, patience),
    };
    match outcome {
        Ok(None) => Undone::Gone,
        Ok(Some(how)) => Undone::Removed(format!("{how} {thing}")),
        Err(why) => Undone::Left(format!("could not remove {thing}: {why}; it stays registered for the next run")),
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
