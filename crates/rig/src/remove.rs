//! Taking one thing away, within a bounded time, and only where it is proved to be ours.

mod cgroup;
mod directory;
pub(crate) mod mount;

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::setting;
use crate::thing::PREFIX;
use crate::throttle;
use crate::{Roots, Thing};

/// What became of a thing that was to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// In one sentence, without a full stop.
    pub sentence: String,
    /// `false`: it is still there, and stays registered for the next run.
    pub complete: bool,
}

impl Removed {
    pub(crate) fn done(sentence: String) -> Removed {
        Removed { sentence, complete: true }
    }

    pub(crate) fn left(sentence: String) -> Removed {
        Removed { sentence, complete: false }
    }
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Outcome of [`undo`]; sentences as in [`Removed`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Undone {
    /// There was nothing to remove.
    Gone,
    /// Removed.
    Removed(String),
    /// Still there.
    Left(String),
    /// Still there, and another program uses it.
    InUse(String),
}

/// Removes a thing. One that does not go within `patience` is left; no thing is waited for longer than its own kind may
/// take.
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
        Thing::ThrottleRule { file, device, value } => lift_rule(file, device, *value),
        Thing::Controllers { file, names } => disable_controllers(file, names),
        Thing::Mount { point, source, fs_type } => mount::unmount(point, source, fs_type, roots, patience),
        Thing::Setting { file, ours, restore_file, restore } => setting::put_back(file, ours, restore_file, restore),
        Thing::LoopDevice { backing } => mount::detach(backing, roots),
        Thing::Directory { path, marker } => directory::remove(path, marker, roots, patience),
    };
    match outcome {
        Ok(None) => Undone::Gone,
        Ok(Some(how)) => Undone::Removed(format!("{how} {thing}")),
        Err(why) => Undone::Left(format!("could not remove {thing}: {why}; it stays registered for the next run")),
    }
}

/// `Ok(None)`: nothing was there. `Ok(Some(verb))`: removed. `Err`: still there, and why.
pub(crate) type Outcome = Result<Option<&'static str>, String>;

/// A rule with another value is no longer ours and is left alone.
fn lift_rule(file: &Path, device: &str, value: u64) -> Outcome {
    match throttle::rule_in(file, device) {
        Some(found) if found == value.to_string() => {
            fs::write(file, format!("{device} 0")).map(|()| Some("lifted")).map_err(|error| error.to_string())
        }
        _ => Ok(None),
    }
}

/// Another box of ours beside may still need the controllers; the last one to go disables them.
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
    match fs::write(file, text.join(" ")) {
        Ok(()) => Ok(Some("disabled")),
        // Somebody below relies on them by now (EBUSY), so they are no longer only ours.
        Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}
