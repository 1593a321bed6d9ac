//! I/O throttling of a device in both cgroup versions.
//!
//! **Version 1.** A rule applies to I/O submitted by tasks of one group. Buffered writes are submitted by the kernel's
//! flusher threads, which are in the root group, so a rule in the load's cgroup alone would slow reads and direct
//! writes but not writeback. Groups do not share a rule's budget either. The rule therefore goes into the *root* group,
//! and the load joins the root group: one budget for all I/O that the load causes, as on a slow device. Other programs
//! of the root group that use the device are throttled as well.
//!
//! **Version 2.** `io.max` of the load's cgroup also applies to the writeback of pages that the cgroup dirtied, if the
//! file system supports it (ext4, btrfs, xfs) and the memory controller is enabled in addition to the io controller.

use std::fs::OpenOptions;
use std::path::Path;

use model::run::Limits;

use crate::effect;
use crate::remove::throttle::rule_in;
use crate::{BlockDevice, Entry, Register, Resource, RigError};

/// The v1 files with the values of the limits.
fn v1_values(limits: &Limits) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
    let [bps, iops] = [limits.disk_bytes_per_s, limits.disk_operations_per_s];
    [
        ("--disk-bps", "blkio.throttle.read_bps_device", bps),
        ("--disk-bps", "blkio.throttle.write_bps_device", bps),
        ("--disk-iops", "blkio.throttle.read_iops_device", iops),
        ("--disk-iops", "blkio.throttle.write_iops_device", iops),
    ]
    .into_iter()
    .filter_map(|(flag, file, value)| Some((flag, file, value?)))
}

/// Writes v1 rules in a group. A device that already has a rule there is refused.
pub(crate) fn place_v1(
    group: &Path,
    devices: &[BlockDevice],
    limits: &Limits,
    register: &Register,
    entries: &mut Vec<Entry>,
) -> Result<(), RigError> {
    register.alone(|| {
        for device in devices {
            refuse_foreign(group, device, limits)?;
            for (flag, name, value) in v1_values(limits) {
                let file = group.join(name);
                let rule = Resource::ThrottleRule { file: file.clone(), device: device.number.clone(), value };
                entries.push(register.enter(rule)?);
                let text = format!("{} {value}", device.number);
                effect::write(&file, &text).map_err(RigError::cgroup(flag, format!("write {text} to"), &file))?;
            }
        }
        Ok(())
    })
}

/// Checks before anything is written, so a refusal leaves nothing behind. Where no rule may be written at all, no other
/// rule is in the way.
fn refuse_foreign(group: &Path, device: &BlockDevice, limits: &Limits) -> Result<(), RigError> {
    for (flag, name, _) in v1_values(limits) {
        let file = group.join(name);
        if let Some(value) = rule_in(&file, &device.number) {
            let opened = OpenOptions::new().write(true).open(&file);
            opened.map_err(RigError::cgroup(flag, "open for writing".to_owned(), &file))?;
            let rule = format!("{} {value}", device.number);
            return Err(RigError::ForeignRule { device: device.name.clone(), rule, file });
        }
    }
    Ok(())
}

/// Writes v2 limits in our cgroup; they vanish with it.
pub(crate) fn place_v2(group: &Path, devices: &[BlockDevice], limits: &Limits) -> Result<(), RigError> {
    let file = group.join("io.max");
    for device in devices {
        let text = v2_line(device, limits);
        effect::write(&file, &text).map_err(RigError::cgroup("--disk-bps", format!("write {text} to"), &file))?;
    }
    Ok(())
}

fn v2_line(device: &BlockDevice, limits: &Limits) -> String {
    let bps = limits.disk_bytes_per_s.map(|bps| format!(" rbps={bps} wbps={bps}")).unwrap_or_default();
    let iops = limits.disk_operations_per_s.map(|iops| format!(" riops={iops} wiops={iops}")).unwrap_or_default();
    format!("{}{bps}{iops}", device.number)
}
