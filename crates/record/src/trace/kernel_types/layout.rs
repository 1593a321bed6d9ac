//! What the programs need to know of types and cannot find by a relocation: numbers of flags, whose enumeration has no
//! name before Linux 6.18, and places within the types of drivers, which mostly are those of modules.

use super::reader::{ENUMERATION, KernelTypes, STRUCTURE};

/// The SCSI command, which follows its request in memory (Linux 3.17 to 7.3), and its device.
const COMMAND: &str = "scsi_cmnd";
const DEVICE: &str = "scsi_device";

/// Numbers of the bits of `struct request`'s `rq_flags`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct RequestFlags {
    pub(in super::super) flush_bit: u8,
    pub(in super::super) timed_out_bit: u8,
}

impl Default for RequestFlags {
    /// Before Linux 6.12, where the flags are macros.
    fn default() -> RequestFlags {
        RequestFlags { flush_bit: 4, timed_out_bit: 21 }
    }
}

/// Offsets within types of drivers, in bytes; 0: the driver is not loaded, or has no such type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) struct DriverLayout {
    /// Of the I/O within a command of a loop device, which follows its request in memory.
    pub(in super::super) loop_iocb: u16,
    /// Of the file of a loop device.
    pub(in super::super) loop_file: u16,
    pub(in super::super) scsi_result: u16,
    pub(in super::super) scsi_sense: u16,
    pub(in super::super) scsi_device: u16,
    /// Within the device.
    pub(in super::super) scsi_state: u16,
}

impl KernelTypes {
    /// The numbers of this kernel's flags.
    pub(in super::super) fn request_flags(&self) -> RequestFlags {
        let older = RequestFlags::default();
        let bit = |name: &str, other: u8| self.enumerator(name).and_then(|bit| bit.try_into().ok()).unwrap_or(other);
        RequestFlags {
            flush_bit: bit("__RQF_FLUSH_SEQ", older.flush_bit),
            timed_out_bit: bit("__RQF_TIMED_OUT", older.timed_out_bit),
        }
    }

    /// The layout of the drivers that are built in or whose modules were added.
    pub(in super::super) fn driver_layout(&self) -> DriverLayout {
        let offset = |structure: &str, member: &str| self.offset(structure, member).unwrap_or(0);
        let scsi_device = offset(COMMAND, "device");
        DriverLayout {
            loop_iocb: offset("loop_cmd", "iocb"),
            loop_file: offset("loop_device", "lo_backing_file"),
            scsi_result: offset(COMMAND, "result"),
            scsi_sense: offset(COMMAND, "sense_buffer"),
            scsi_device,
            scsi_state: if scsi_device == 0 { 0 } else { offset(DEVICE, "sdev_state") },
        }
    }

    /// The value of an enumeration's name.
    pub(super) fn enumerator(&self, name: &str) -> Option<u32> {
        let enumerations = self.ids().filter(|id| self.kind(*id) == ENUMERATION);
        let mut pairs = enumerations.flat_map(|id| self.enumerators(id));
        pairs.find(|(text, _)| self.text(*text) == name.as_bytes()).map(|(_, value)| value)
    }

    /// Where a structure has a member, in bytes.
    pub(super) fn offset(&self, structure: &str, member: &str) -> Option<u16> {
        let is_it = |id: &u32| self.kind(*id) == STRUCTURE && self.name(*id) == structure.as_bytes();
        let id = self.ids().find(is_it)?;
        let (_, bits) = self.places(id).find(|(name, _)| self.text(*name) == member.as_bytes())?;
        // The upper bits are the width of a bit field.
        u16::try_from((bits & 0xff_ffff) / 8).ok()
    }
}
