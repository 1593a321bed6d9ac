//! Kernel settings that are changed temporarily: sysctls, attributes of a device's queue and of its share of dirty memory.
//!
//! A setting is changed only if it can be restored: the file must be readable, and the kernel must accept the value
//! unchanged. The earlier value is in the register before the file is written, so the next start restores it after a crash.

use std::fs;
use std::path::{Path, PathBuf};

use crate::remove::setting::present;
use crate::{BlockDevice, Entry, Register, RigError, Thing};

/// A setting and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    file: PathBuf,
    value: String,
}

/// Sysctls with one state in two files: writing one sets the other to 0, and 0 cannot be written back.
const TWINS: [(&str, &str); 2] = [("dirty_bytes", "dirty_ratio"), ("dirty_background_bytes", "dirty_background_ratio")];

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

    fn at(file: &Path, name: &str, value: &str) -> Result<Setting, RigError> {
        let refuse =
            |why: &str| Err(RigError::Setting { file: file.to_owned(), value: value.to_owned(), why: why.to_owned() });
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if !is_plain || name.split('.').any(str::is_empty) {
            return refuse("this is not the name of a setting");
        }
        if value.is_empty() || value.contains('\n') {
            return refuse("a value is one line");
        }
        Ok(Setting { file: file.to_owned(), value: value.to_owned() })
    }

    /// The file that holds it.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Changes the setting. `None`: it already has the value, and there is nothing to restore.
    pub fn change(&self, register: &Register) -> Result<Option<Entry>, RigError> {
        let refuse = |why: String| RigError::Setting { file: self.file.clone(), value: self.value.clone(), why };
        let earlier = present(&self.file).map_err(|error| refuse(format!("it cannot be read ({error})")))?;
        if earlier == self.value {
            return Ok(None);
        }
        let (restore_file, restore) = restoring(&self.file, &earlier);
        let thing = Thing::Setting {
            file: self.file.clone(),
            ours: self.value.clone(),
            restore_file,
            restore: restore.clone(),
        };
        let entry = register.enter(thing)?;
        let written = fs::write(&self.file, &self.value);
        let now = present(&self.file).unwrap_or_default();
        match written {
            Ok(()) if now == self.value => Ok(Some(entry)),
            Ok(()) => {
                // The register holds our value, not the one that the kernel made of it, so restore it here.
                let _ = fs::write(&self.file, &restore);
                register.undo(entry);
                Err(refuse(format!("the kernel changed it to '{now}'; write that value")))
            }
            Err(error) => {
                register.undo(entry);
                Err(refuse(format!("{error}; it is '{earlier}'")))
            }
        }
    }
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
        && let Ok(value) = present(&twin)
    {
        return (twin, value);
    }
    (file.to_owned(), earlier.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{present, restoring};

    #[test]
    fn the_selected_word_of_a_list_and_the_twin_of_a_zero_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        assert_eq!(present(&file("scheduler", "none [mq-deadline] bfq \n")).unwrap(), "mq-deadline");
        assert_eq!(present(&file("lowmem", "256\t32\t0\n")).unwrap(), "256 32 0");
        let (bytes, ratio) = (file("dirty_bytes", "0\n"), file("dirty_ratio", "20\n"));
        assert_eq!(restoring(&bytes, "0"), (ratio.clone(), "20".to_owned()));
        assert_eq!(restoring(&ratio, "20"), (ratio.clone(), "20".to_owned()));
    }
}
