//! Limits of a device's speed, as the two cgroup versions write them.
//!
//! **Version 1.** A rule holds for the I/O that the tasks of one group submit. Buffered writes are submitted by the
//! kernel's flusher threads, which are in the root group, so a rule in the box alone would slow reads and direct writes
//! and let writeback pass. Groups do not share a rule's budget either. The rule therefore goes into the *root* group, and
//! the load joins the root group: one budget for all that the load causes, as a slow device would have. Other programs
//! of the root group that use the device feel it, too.
//!
//! **Version 2.** `io.max` of the box also holds for the writeback of the pages that the box dirtied, where the file
//! system supports it (ext4, btrfs, xfs) and the memory controller is enabled beside the io controller.

use std::fs;
use std::path::Path;

use model::run::Limits;

use crate::remove::throttle::rule_in;
use crate::{BlockDevice, Entry, Register, RigError, Thing};

/// One of the v1 files with the value that the limits ask for.
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

/// Places v1 rules in a group. A device that has a rule there already is refused.
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
                let rule = Thing::ThrottleRule { file: file.clone(), device: device.number.clone(), value };
                entries.push(register.enter(rule)?);
                let text = format!("{} {value}", device.number);
                fs::write(&file, &text).map_err(RigError::cgroup(flag, format!("write {text} to"), &file))?;
            }
        }
        Ok(())
    })
}

/// Before anything is written, so that a refusal leaves nothing behind.
fn refuse_foreign(group: &Path, device: &BlockDevice, limits: &Limits) -> Result<(), RigError> {
    for (_, name, _) in v1_values(limits) {
        let file = group.join(name);
        if let Some(value) = rule_in(&file, &device.number) {
            let rule = format!("{} {value}", device.number);
            return Err(RigError::ForeignRule { device: device.name.clone(), rule, file });
        }
    }
    Ok(())
}

/// Places v2 limits in a box of our own; they vanish with it.
pub(crate) fn place_v2(group: &Path, devices: &[BlockDevice], limits: &Limits) -> Result<(), RigError> {
    let file = group.join("io.max");
    for device in devices {
        let text = v2_line(device, limits);
        fs::write(&file, &text).map_err(RigError::cgroup("--disk-bps", format!("write {text} to"), &file))?;
    }
    Ok(())
}

fn v2_line(device: &BlockDevice, limits: &Limits) -> String {
    let bps = limits.disk_bytes_per_s.map(|bps| format!(" rbps={bps} wbps={bps}")).unwrap_or_default();
    let iops = limits.disk_operations_per_s.map(|iops| format!(" riops={iops} wiops={iops}")).unwrap_or_default();
    format!("{}{bps}{iops}", device.number)
}
