//! A program or library on disk: its segments, its build id, and how to unwind its functions.

use std::fs::File;
use std::io;
use std::sync::Arc;

use gimli::{BaseAddresses, EndianArcSlice, RunTimeEndian};
use object::{Object, ObjectSection, ObjectSegment, ReadCache};

/// A part of the file that is loaded.
#[derive(Debug, Clone, Copy)]
struct Segment {
    offset: u64,
    bytes: u64,
    address: u64,
}

/// The tables for unwinding.
#[derive(Debug)]
pub(crate) struct UnwindTables {
    pub(crate) bases: BaseAddresses,
    pub(crate) frames: gimli::EhFrame<EndianArcSlice<RunTimeEndian>>,
    pub(crate) index: Option<gimli::ParsedEhFrameHdr<EndianArcSlice<RunTimeEndian>>>,
}

/// A program or library.
#[derive(Debug)]
pub struct Binary {
    build_id: Option<String>,
    segments: Vec<Segment>,
    pub(crate) unwind: Option<UnwindTables>,
}

impl Binary {
    /// Reads what is needed to unwind. The file need not stay open, which would keep its file system busy.
    pub fn open(file: &File) -> io::Result<Binary> {
        let cache = ReadCache::new(file.try_clone()?);
        let object = object::File::parse(&cache).map_err(io::Error::other)?;
        let build_id = object.build_id().ok().flatten().map(hexadecimal);
        let segments = object.segments().map(|segment| {
            let (offset, bytes) = segment.file_range();
            Segment { offset, bytes, address: segment.address() }
        });
        Ok(Binary { build_id, segments: segments.collect(), unwind: unwind_tables(&object) })
    }

    /// Its build id, in hexadecimal.
    pub fn build_id(&self) -> Option<&str> {
        self.build_id.as_deref()
    }

    /// The address, as the file counts them, of an offset in the file.
    pub fn address(&self, offset: u64) -> Option<u64> {
        let holds = |segment: &&Segment| offset >= segment.offset && offset - segment.offset < segment.bytes;
        let segment = self.segments.iter().find(holds)?;
        (offset - segment.offset).checked_add(segment.address)
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn endian<'data>(object: &impl Object<'data>) -> RunTimeEndian {
    if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big }
}

fn unwind_tables<'data>(object: &impl Object<'data>) -> Option<UnwindTables> {
    let section = |name: &str| {
        let section = object.section_by_name(name)?;
        Some((section.address(), Arc::<[u8]>::from(section.data().ok()?)))
    };
    let endian = endian(object);
    let (address, bytes) = section(".eh_frame")?;
    let mut bases = BaseAddresses::default().set_eh_frame(address);
    let mut index = None;
    if let Some((address, bytes)) = section(".eh_frame_hdr") {
        bases = bases.set_eh_frame_hdr(address);
        let header = gimli::EhFrameHdr::from(EndianArcSlice::new(bytes, endian));
        index = header.parse(&bases, 8).ok();
    }
    let mut frames = gimli::EhFrame::from(EndianArcSlice::new(bytes, endian));
    frames.set_address_size(8);
    Some(UnwindTables { bases, frames, index })
}
