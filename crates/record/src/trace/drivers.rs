//! Where drivers that may be modules keep what the programs read: `struct drivers` of `bpf/driver.h`.

use std::path::Path;

use libbpf_rs::{MapCore, MapFlags, Object};

use super::kernel_types::DriverLayout;
use super::programs;
use super::symbols::Symbols;

/// The end of a loop device's direct I/O (Linux 4.4 to 6.18).
const LOOP_END_IO: &str = "lo_rw_aio_complete";
const MAP: &str = ".data.drivers";

/// What the programs know of drivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Drivers {
    layout: DriverLayout,
    loop_end_io: u64,
    mapper_major: u16,
}

impl Drivers {
    /// Those that are loaded now.
    pub(super) fn find(layout: DriverLayout, symbols: &Symbols, proc: &Path) -> Drivers {
        let devices = std::fs::read(proc.join("devices")).unwrap_or_default();
        let mapper_major = mapper_major(&String::from_utf8_lossy(&devices));
        Drivers { layout, loop_end_io: symbols.address(LOOP_END_IO).unwrap_or(0), mapper_major }
    }

    /// Hands them to the programs.
    pub(super) fn set(&self, object: &Object) {
        if let Ok(map) = programs::map(object, MAP) {
            let _ = map.update(&0u32.to_ne_bytes(), &self.bytes(), MapFlags::ANY);
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let DriverLayout { loop_iocb, loop_file, scsi_result, scsi_sense, scsi_device, scsi_state } = self.layout;
        let offsets = [loop_iocb, loop_file, self.mapper_major, scsi_result, scsi_sense, scsi_device, scsi_state, 0];
        self.loop_end_io.to_ne_bytes().into_iter().chain(offsets.into_iter().flat_map(u16::to_ne_bytes)).collect()
    }
}

/// The major number of the device mapper's devices, in the text of /proc/devices; 0: there is none.
fn mapper_major(devices: &str) -> u16 {
    let (_, block) = devices.split_once("Block devices:").unwrap_or_default();
    let fields = block.lines().filter_map(|line| line.trim().split_once(' '));
    fields.filter(|(_, name)| *name == "device-mapper").find_map(|(major, _)| major.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_major_number_of_the_device_mapper_is_that_of_its_block_devices() {
        let devices = "Character devices:\n 10 misc\n 77 device-mapper\n\nBlock devices:\n  8 sd\n254 \
                       device-mapper\n259 blkext\n";
        assert_eq!(super::mapper_major(devices), 254);
        assert_eq!(super::mapper_major("Block devices:\n  7 loop\n"), 0);
    }
}
