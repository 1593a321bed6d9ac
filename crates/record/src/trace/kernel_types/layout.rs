//! What programs need to know of block requests and cannot find by a type's name: numbers of flags, whose enumeration has no name before
//! Linux 6.18, and places within a SCSI command, whose type mostly is a module's.

use std::path::Path;

use super::reader::{ENUMERATION, KernelTypes, STRUCTURE};

/// The SCSI command, which follows its request in memory (Linux 3.17 to 7.3), its device, and the module that has their types.
const COMMAND: &str = "scsi_cmnd";
const DEVICE: &str = "scsi_device";
const MODULE: &str = "scsi_mod";

/// Numbers of the bits of `struct request`'s `rq_flags`, and offsets within a SCSI command; 0: unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct RequestLayout {
    pub(in super::super) flush_bit: u8,
    pub(in super::super) timed_out_bit: u8,
    pub(in super::super) scsi_result: u16,
    pub(in super::super) scsi_sense: u16,
    pub(in super::super) scsi_device: u16,
    /// Within the device.
    pub(in super::super) scsi_state: u16,
}

impl Default for RequestLayout {
    /// Before Linux 6.12, where the flags are macros.
    fn default() -> RequestLayout {
        RequestLayout { flush_bit: 4, timed_out_bit: 21, scsi_result: 0, scsi_sense: 0, scsi_device: 0, scsi_state: 0 }
    }
}

impl KernelTypes {
    /// The layout of this kernel, whose modules' types are in that folder.
    pub(in super::super) fn request_layout(&self, modules: &Path) -> RequestLayout {
        let layout = RequestLayout::default();
        let bit = |name: &str, other: u8| self.enumerator(name).and_then(|bit| bit.try_into().ok()).unwrap_or(other);
        let module = std::fs::read(modules.join(MODULE)).ok().and_then(KernelTypes::parse);
        let offset = |structure: &str, member: &str| match &module {
            Some(module) => module.offset(Some(self), structure, member),
            None => self.offset(None, structure, member),
        };
        RequestLayout {
            flush_bit: bit("__RQF_FLUSH_SEQ", layout.flush_bit),
            timed_out_bit: bit("__RQF_TIMED_OUT", layout.timed_out_bit),
            scsi_result: offset(COMMAND, "result").unwrap_or(0),
            scsi_sense: offset(COMMAND, "sense_buffer").unwrap_or(0),
            scsi_device: offset(COMMAND, "device").unwrap_or(0),
            scsi_state: offset(COMMAND, "device").and(offset(DEVICE, "sdev_state")).unwrap_or(0),
        }
    }

    /// The value of an enumeration's name.
    pub(super) fn enumerator(&self, name: &str) -> Option<u32> {
        let enumerations = self.ids().filter(|id| self.kind(*id) == ENUMERATION);
        let mut pairs = enumerations.flat_map(|id| self.enumerators(id));
        pairs.find(|(text, _)| self.text(*text) == name.as_bytes()).map(|(_, value)| value)
    }

    /// Where a structure has a member, in bytes. The names of a module's types go on where those of the kernel end.
    pub(super) fn offset(&self, kernel: Option<&KernelTypes>, structure: &str, member: &str) -> Option<u16> {
        let border = kernel.map_or(0, KernelTypes::text_bytes);
        let is = |at: u32, name: &str| match (at.checked_sub(border), kernel) {
            (None, Some(kernel)) => kernel.text(at) == name.as_bytes(),
            (at, _) => at.is_some_and(|at| self.text(at) == name.as_bytes()),
        };
        let is_it = |id: &u32| self.kind(*id) == STRUCTURE && is(self.name_at(*id), structure);
        let id = self.ids().find(is_it)?;
        let (_, bits) = self.places(id).find(|(name, _)| is(*name, member))?;
        // The upper bits are the width of a bit field.
        u16::try_from((bits & 0xff_ffff) / 8).ok()
    }
}
