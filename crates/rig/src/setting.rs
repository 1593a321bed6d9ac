//! Kernel settings that are changed temporarily: sysctls, attributes of a device's queue and of its share of dirty
//! memory.
//!
//! A setting is changed only if it can be restored: the file must be readable, and the kernel must accept the value
//! unchanged. The earlier value is in the register before the file is written, so the next start restores it after a
//! crash.

use std::fs;
use std::path::{Path, PathBuf};

use crate::effect;
use crate::remove::setting::{has, line, present};
use crate::{BlockDevice, Entry, Register, Resource, RigError};

/// A setting and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    file: PathBuf,
    /// Whose line of the file it is, where each device has one.
    device: Option<String>,
    value: String,
}

/// What removes a device's line from a file with a line for each device (Documentation/admin-guide/cgroup-v2.rst, IO
/// Interface Files; cgroup-v1/blkio-controller.rst).
const WITHOUT_LINE: [(&str, &str); 4] = [
    ("blkio.throttle.", "0"),
    ("io.max", "rbps=max wbps=max riops=max wiops=max"),
    ("io.latency", "target=max"),
    ("io.weight", "default"),
];

/// Sysctls with one state in two files: writing one sets the other to 0, and 0 cannot be written back.
const TWINS: [(&str, &str); 2] = [("dirty_bytes", "dirty_ratio"), ("dirty_background_bytes", "dirty_background_ratio")];

/// An attribute whose list grows by modules.
const SCHEDULER: &str = "queue/scheduler";
/// Attributes of a queue that a new scheduler sets: `blk_mq_init_sched` the number of requests, bfq the target of
/// writeback throttling.
const SET_WITH_SCHEDULER: [&str; 2] = ["nr_requests", "wbt_lat_usec"];

impl Setting {
    /// A sysctl by its name: `vm.dirty_ratio`.
    pub fn sysctl(name: &str, value: &str) -> Result<Setting, RigError> {
        let path: PathBuf = name.split('.').collect();
        Setting::at(&Path::new("/proc/sys").join(path), name, value)
    }

    /// An attribute of a device's queue: `scheduler`, `nr_requests`, `wbt_lat_usec`, `read_ahead_kb`.
    pub fn queue(device: &BlockDevice, name: &str, value: &str) -> Result<Setting, RigError> {
        let path: PathBuf = name.split('.').collect();
        Setting::at(&Path::new("/sys/block").join(&device.name).join("queue").join(path), name, value)
    }

    /// An attribute of a device's share of dirty memory: `max_ratio`, `strict_limit`.
    pub fn bdi(device: &BlockDevice, name: &str, value: &str) -> Result<Setting, RigError> {
        Setting::at(&Path::new("/sys/class/bdi").join(&device.number).join(name), name, value)
    }

    /// A file below /sys or /proc/sys by its path, or a sysctl by its name. In a file with a line for each device, such
    /// as `blkio.throttle.read_bps_device` and `io.max`, the value begins with the device: `7:0 1048576`.
    pub fn named(name: &str, value: &str) -> Result<Setting, RigError> {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if !name.starts_with('/') {
            return Setting::sysctl(name, &value);
        }
        let file = PathBuf::from(name);
        let refuse = |why: String| RigError::Setting { file: file.clone(), value: value.clone(), why };
        let real = fs::canonicalize(&file).map_err(|error| refuse(format!("it cannot be found ({error})")))?;
        if !real.starts_with("/sys") && !real.starts_with("/proc/sys") || !real.is_file() {
            return Err(refuse("only files below /sys and /proc/sys are settings".into()));
        }
        if value.is_empty() {
            return Err(refuse("a value is one line".into()));
        }
        match value.split_once(' ').filter(|(device, _)| is_device_number(device)) {
            Some((device, rest)) => Ok(Setting { file, device: Some(device.into()), value: rest.into() }),
            None => Ok(Setting { file, device: None, value }),
        }
    }

    pub(crate) fn at(file: &Path, name: &str, value: &str) -> Result<Setting, RigError> {
        let refuse =
            |why: &str| Err(RigError::Setting { file: file.to_owned(), value: value.to_owned(), why: why.to_owned() });
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if !is_plain || name.split('.').any(str::is_empty) {
            return refuse("this is not the name of a setting");
        }
        if value.is_empty() || value.contains('\n') {
            return refuse("a value is one line");
        }
        Ok(Setting { file: file.to_owned(), device: None, value: value.to_owned() })
    }

    /// The file that holds it.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The device whose line of the file it is.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// The new value.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The current value; empty where the file has no line for the device.
    pub fn present(&self) -> Result<String, RigError> {
        present(&self.file, self.device()).map_err(|error| self.refused(format!("it cannot be read ({error})")))
    }

    /// Refuses a value that the kernel would: a sysctl that holds numbers takes no word, and an attribute that lists
    /// its values takes no other. A module may bring an I/O scheduler that is not listed yet.
    pub fn refuse_unfit(&self) -> Result<(), RigError> {
        let listed = fs::read_to_string(&self.file).unwrap_or_default();
        let is_unlisted = |values: &Vec<String>| !values.contains(&self.value) && !self.file.ends_with(SCHEDULER);
        if let Some(values) = choices(&listed).filter(is_unlisted) {
            return Err(self.refused(format!("it takes one of: {}", values.join(", "))));
        }
        let are_numbers = |text: &str| text.split_whitespace().all(|word| word.parse::<i128>().is_ok());
        if self.file.starts_with("/proc/sys") && are_numbers(&self.present()?) && !are_numbers(&self.value) {
            return Err(self.refused(format!("it holds numbers, such as '{}'", self.present()?.trim())));
        }
        Ok(())
    }

    /// Whether it has the new value now.
    pub fn is_set(&self) -> bool {
        self.present().is_ok_and(|now| has(&now, &self.value))
    }

    fn refused(&self, why: String) -> RigError {
        RigError::Setting { file: self.file.clone(), value: line(self.device(), &self.value), why }
    }

    /// Changes the setting. No entries: it already has the value, and there is nothing to restore.
    pub fn change(&self, register: &Register) -> Result<Vec<Entry>, RigError> {
        let earlier = self.present()?;
        if has(&earlier, &self.value) {
            return Ok(Vec::new());
        }
        let mut entries = self.enter_companions(register)?;
        let (restore_file, restore) = self.restoring(&earlier)?;
        let resource = Resource::Setting {
            file: self.file.clone(),
            device: self.device.clone(),
            ours: self.value.clone(),
            restore_file: restore_file.clone(),
            restore: restore.clone(),
        };
        entries.push(register.enter(resource)?);
        let written = effect::write(&self.file, line(self.device(), &self.value));
        let now = self.present().unwrap_or_default();
        match written {
            Ok(()) if has(&now, &self.value) => Ok(entries),
            Ok(()) => {
                // The register holds our value, not the one that the kernel made of it, so restore it here.
                let _ = effect::write(&restore_file, line(self.device(), &restore));
                register.undo_all(entries);
                Err(self.refused(format!("the kernel changed it to '{now}'; write that value")))
            }
            Err(error) => {
                register.undo_all(entries);
                Err(self.refused(format!("{error}; it is '{earlier}'")))
            }
        }
    }

    /// Registers the attributes of a queue that a new scheduler sets. They come first, and are restored last.
    fn enter_companions(&self, register: &Register) -> Result<Vec<Entry>, RigError> {
        let is_scheduler = self.file.ends_with(SCHEDULER);
        let files = SET_WITH_SCHEDULER.iter().filter(|_| is_scheduler).map(|name| self.file.with_file_name(name));
        let known = files.filter_map(|file| present(&file, None).ok().map(|restore| (file, restore)));
        known.map(|(file, restore)| register.enter(Resource::Companion { file, restore })).collect()
    }

    fn restoring(&self, earlier: &str) -> Result<(PathBuf, String), RigError> {
        if self.device.is_none() || !earlier.is_empty() {
            return Ok(restoring(&self.file, earlier));
        }
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let known = WITHOUT_LINE.iter().find(|(prefix, _)| name.starts_with(prefix));
        known.map(|(_, value)| (self.file.clone(), (*value).to_owned())).ok_or_else(|| {
            self.refused(
                "the file has no line for the device, and how to remove one is unknown; write one first".into(),
            )
        })
    }
}

/// `8:16`.
fn is_device_number(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once(':').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// The values that an attribute may have, where it lists them with the present one in brackets.
fn choices(text: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_chosen = |word: &&str| word.starts_with('[') && word.ends_with(']');
    let is_list = words.len() > 1 && words.iter().filter(|word| is_chosen(word)).count() == 1;
    is_list.then(|| words.iter().map(|word| word.trim_matches(['[', ']']).to_owned()).collect())
}

/// The file and value that restore the earlier state.
fn restoring(file: &Path, earlier: &str) -> (PathBuf, String) {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let twin = TWINS.iter().find_map(|(a, b)| match () {
        () if *a == name => Some(*b),
        () if *b == name => Some(*a),
        () => None,
    });
    if let Some(twin) = twin.map(|twin| file.with_file_name(twin)).filter(|_| earlier == "0")
        && let Ok(value) = present(&twin, None)
    {
        return (twin, value);
    }
    (file.to_owned(), earlier.to_owned())
}

#[cfg(test)]
mod tests;
