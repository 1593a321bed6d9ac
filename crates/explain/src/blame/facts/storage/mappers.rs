//! Devices of the device mapper and md that may hold back what a file system gives them: until they pass it on, the
//! disk below has no request.

use std::collections::{BTreeSet, HashMap};

use crate::thresholds::DEVICE_LAYERS;
use model::block::DeviceNumber;
use model::detail::Detail;
use model::run::{Device, Mount, mount_of};

/// What passes a bio on in the context of its submitter, or is based on requests and has one.
const PASS_ON: [&str; 6] = ["linear", "striped", "raid0", "multipath", "zero", "error"];
/// What keeps copies.
const ARRAYS: [&str; 2] = ["raid", "mirror"];

/// By device, and by file.
#[derive(Debug, Default)]
pub(crate) struct Mappers {
    /// `dm-3 (crypt)`: the uppermost such device on the way down from this one.
    held_in: HashMap<DeviceNumber, String>,
    mounts: Vec<Mount>,
    /// What lies right below such devices of the device mapper.
    lower: BTreeSet<DeviceNumber>,
    /// By file that is the device itself.
    nodes: HashMap<String, DeviceNumber>,
}

impl Mappers {
    pub(crate) fn new(mounts: &[Mount], devices: &[Device]) -> Mappers {
        let (mut held_in, mut nodes) = (HashMap::new(), HashMap::new());
        for of in devices {
            let Some((number, words)) = of.device_number().zip(holder(devices, of, DEVICE_LAYERS)) else { continue };
            let mapped = of.mapper.as_ref().and_then(|mapper| mapper.name.as_ref());
            nodes.extend(mapped.map(|name| (format!("/dev/mapper/{name}"), number)));
            nodes.insert(format!("/dev/{}", of.name), number);
            held_in.insert(number, words);
        }
        if held_in.is_empty() {
            return Mappers::default();
        }
        let lower = devices.iter().filter(|of| hands_over(of)).flat_map(|of| below(devices, of)).collect();
        // A btrfs has a number of its own.
        for mount in mounts {
            let source = devices.iter().find(|of| of.is_mapped_as(&mount.source)).and_then(Device::device_number);
            let known = source.and_then(|number| held_in.get(&number).cloned());
            held_in.extend(DeviceNumber::parse(&mount.device).zip(known));
        }
        Mappers { held_in, mounts: mounts.to_vec(), lower, nodes }
    }

    /// The devices to which threads of a mapped device submit what was given to it.
    pub(crate) fn lower_devices(&self) -> impl Iterator<Item = DeviceNumber> {
        self.lower.iter().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held_in.is_empty()
    }

    /// What may hold pages that a detail is about: those of a file system on that device.
    pub(crate) fn of_detail(&self, detail: &Detail) -> Option<&str> {
        self.held_in.get(&detail.device()?).map(String::as_str)
    }

    /// What may hold pages of a file.
    pub(crate) fn of_path(&self, path: &str) -> Option<&str> {
        let number =
            self.nodes.get(path).copied().or_else(|| DeviceNumber::parse(&mount_of(&self.mounts, path)?.device))?;
        self.held_in.get(&number).map(String::as_str)
    }
}

/// Whether a device of the device mapper gives what it gets to a thread of its own. Those of arrays also write for
/// nobody (resync).
fn hands_over(of: &Device) -> bool {
    let kind = of.mapper.as_ref().and_then(|mapper| mapper.kind.as_deref());
    of.name.starts_with("dm-") && kind.is_some_and(|kind| !PASS_ON.contains(&kind) && !ARRAYS.contains(&kind))
}

/// The devices right below one.
fn below(devices: &[Device], of: &Device) -> Vec<DeviceNumber> {
    let names = of.mapper.as_ref().map_or(&[][..], |mapper| &mapper.below);
    let known = names.iter().filter_map(|name| devices.iter().find(|device| device.name == *name));
    known.filter_map(Device::device_number).collect()
}

/// The uppermost device from this one on down that may hold a bio back.
fn holder(devices: &[Device], of: &Device, depth: usize) -> Option<String> {
    let mapper = of.mapper.as_ref()?;
    let kind = mapper.kind.as_deref()?;
    if !PASS_ON.contains(&kind) {
        return Some(format!("{} ({kind})", of.name));
    }
    // Which of several is unknown.
    let [below] = mapper.below.as_slice() else { return None };
    holder(devices, devices.iter().find(|device| device.name == *below)?, depth.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use model::block::DeviceNumber;
    use model::detail::Detail;
    use model::run::{Device, Mapper, Mount};

    use super::Mappers;

    fn disk(name: &str, number: &str, mapper: Option<(&str, &[&str])>) -> Device {
        let mapper = mapper.map(|(kind, below)| Mapper {
            kind: Some(kind.into()),
            name: Some(format!("{name}-name")),
            below: below.iter().map(|name| (*name).to_owned()).collect(),
        });
        Device { number: number.into(), name: name.into(), mapper, ..Device::default() }
    }

    #[test]
    fn the_uppermost_device_that_may_hold_back_is_named() {
        let devices = [
            disk("sda", "8:0", None),
            disk("dm-0", "253:0", Some(("delay", &["sda"]))),
            disk("dm-1", "253:1", Some(("linear", &["dm-0"]))),
            disk("dm-2", "253:2", Some(("linear", &["sda"]))),
            disk("dm-3", "253:3", Some(("linear", &["dm-0", "sda"]))),
            // Damaged: above itself.
            disk("dm-4", "253:4", Some(("linear", &["dm-4"]))),
            disk("md0", "9:0", Some(("raid5", &["sda"]))),
        ];
        let mount = Mount {
            point: "/b".into(),
            source: "/dev/mapper/dm-1-name".into(),
            fs_type: "btrfs".into(),
            options: String::new(),
            device: "0:39".into(),
        };
        let mappers = Mappers::new(&[mount], &devices);
        for (number, expected) in [
            ((8, 0), None),
            ((253, 0), Some("dm-0 (delay)")),
            ((253, 1), Some("dm-0 (delay)")),
            ((253, 2), None),
            ((253, 3), None),
            ((253, 4), None),
            ((9, 0), Some("md0 (raid5)")),
            ((0, 39), Some("dm-0 (delay)")),
        ] {
            let device = DeviceNumber::new(number.0, number.1);
            assert_eq!(mappers.of_detail(&Detail::Inode { inode: 13, device }), expected, "of {device}");
        }
        assert_eq!((mappers.of_path("/b/file"), mappers.of_path("/c")), (Some("dm-0 (delay)"), None));
        assert_eq!(
            (mappers.of_path("/dev/mapper/dm-1-name"), mappers.of_path("/dev/dm-2")),
            (Some("dm-0 (delay)"), None)
        );
        assert_eq!(mappers.lower_devices().collect::<Vec<_>>(), [DeviceNumber::new(8, 0)]);
        assert_eq!(mappers.of_detail(&Detail::LockFlags(2)), None);
    }
}
