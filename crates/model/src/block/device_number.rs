//! Numbers of block devices.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Major and minor number of a block device in the kernel's internal form, `major << 20 | minor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct DeviceNumber(pub u32);

impl DeviceNumber {
    /// The device `major:minor`. Majors have 12 bits and minors 20; higher bits are cut off.
    pub const fn new(major: u32, minor: u32) -> DeviceNumber {
        DeviceNumber((major & 0xfff) << 20 | minor & 0xf_ffff)
    }

    /// The device of `8,16`, as blkparse writes it, or `8:16`, as the kernel does.
    pub fn parse(text: &str) -> Option<DeviceNumber> {
        let (major, minor) = text.split_once([',', ':'])?;
        Some(DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?))
    }

    /// Major number: which driver.
    pub const fn major(self) -> u32 {
        self.0 >> 20
    }

    /// Minor number: which of the driver's devices.
    pub const fn minor(self) -> u32 {
        self.0 & 0xf_ffff
    }

    /// The name of a disk that a run does not describe because it came later, where its number says it
    /// (Documentation/admin-guide/devices.txt of the kernel): many drivers get theirs when they are loaded.
    pub fn registered_name(self) -> Option<String> {
        let driver = match self.major() {
            1 => "ram",
            7 => "loop",
            9 => "md",
            _ => return None,
        };
        Some(format!("{driver}{}", self.minor()))
    }
}

/// `8,16`, as blkparse writes it.
impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{},{}", self.major(), self.minor()))
    }
}
