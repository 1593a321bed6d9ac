//! The block device under a directory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::roots::mount_of;
use crate::{MountEntry, RigError, Roots};

/// A whole block device, as a throttle rule names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockDevice {
    /// `major:minor`.
    pub number: String,
    /// Kernel name: `sda`, `loop3`.
    pub name: String,
}

/// The whole devices under a directory: one, or all devices of a btrfs.
///
/// A partition gives its disk, because the kernel throttles whole disks only. Device-mapper and loop devices count as
/// devices; the devices below them are left alone.
pub fn devices_under(directory: &Path, roots: &Roots) -> Result<Vec<BlockDevice>, RigError> {
    let canonical = fs::canonicalize(directory).map_err(RigError::io("find", directory))?;
    let number = fs::metadata(&canonical).map_err(RigError::io("look at", &canonical))?.dev();
    devices_of(rustix::fs::major(number), rustix::fs::minor(number), &canonical, roots)
}

/// As [`devices_under`], of a directory whose device number is known.
pub(crate) fn devices_of(
    major: u32,
    minor: u32,
    canonical: &Path,
    roots: &Roots,
) -> Result<Vec<BlockDevice>, RigError> {
    // Major 0: file systems that are not on one device, such as tmpfs, overlay, NFS, and each subvolume of a btrfs.
    if major != 0 {
        return Ok(vec![whole_device(&format!("{major}:{minor}"), roots)?]);
    }
    let mounts = roots.mounts()?;
    let mount = mount_of(&mounts, canonical);
    let fs_type = mount.map_or("an unknown file system", |mount| &mount.fs_type).to_owned();
    let none = RigError::NoBlockDevice { directory: canonical.to_owned(), fs_type };
    let Some(mount) = mount.filter(|mount| mount.fs_type == "btrfs") else { return Err(none) };
    let numbers = btrfs_members(mount, roots).ok_or(none)?;
    let mut devices = numbers.iter().map(|number| whole_device(number, roots)).collect::<Result<Vec<_>, _>>()?;
    devices.sort();
    devices.dedup();
    Ok(devices)
}

/// `major:minor` of every device of a mounted btrfs, from the sysfs directory that lists the mounted one.
fn btrfs_members(mount: &MountEntry, roots: &Roots) -> Option<Vec<String>> {
    // /dev/mapper names are links to the kernel's.
    let source = roots.path(&mount.source);
    let source = fs::canonicalize(&source).unwrap_or(source);
    let name = source.file_name()?;
    let number_of = |folder: PathBuf| Some(fs::read_to_string(folder.join("dev")).ok()?.trim().to_owned());
    for volume in fs::read_dir(roots.path("/sys/fs/btrfs")).into_iter().flatten().flatten() {
        let devices = volume.path().join("devices");
        if devices.join(name).exists() {
            let members = fs::read_dir(devices).ok()?.flatten().filter_map(|member| number_of(member.path()));
            return Some(members.collect::<Vec<_>>()).filter(|members| !members.is_empty());
        }
    }
    Some(vec![number_of(roots.path("/sys/class/block").join(name))?])
}

fn whole_device(number: &str, roots: &Roots) -> Result<BlockDevice, RigError> {
    let link = roots.path("/sys/dev/block").join(number);
    let mut folder = fs::canonicalize(&link).map_err(RigError::io("find", &link))?;
    if folder.join("partition").exists() {
        folder.pop();
    }
    let file = folder.join("dev");
    let number = fs::read_to_string(&file).map_err(RigError::io("read", &file))?.trim().to_owned();
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(BlockDevice { number, name })
}

#[cfg(test)]
mod tests;
