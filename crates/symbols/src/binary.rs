//! A program or library on disk: its segments, its build id, and how to unwind its functions.

use std::fs::File;
use std::io;
use std::sync::Arc;

use gimli::{BaseAddresses, EndianArcSlice, RunTimeEndian};
use object::{Object, ObjectSection, ObjectSegment};

use crate::budget::Budget;

/// What is read of a file to unwind its functions. An unstripped rustc (librustc_driver) needs 31 MB.
const MOST_BYTES: u64 = 256 << 20;
/// Tables for unwinding that are kept of a file.
const MOST_UNWIND_BYTES: u64 = 64 << 20;
/// Tables without an index, which are searched from their begin. Linkers make one.
const MOST_UNSORTED_BYTES: u64 = 4 << 20;

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
    bytes: u64,
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
        let budget = Budget::new(file.try_clone()?, MOST_BYTES);
        let object = object::File::parse(&budget).map_err(io::Error::other)?;
        let build_id = object.build_id().ok().flatten().map(hexadecimal);
        let segments = object.segments().map(|segment| {
            let (offset, bytes) = segment.file_range();
            Segment { offset, bytes, address: segment.address() }
        });
        Ok(Binary { build_id, segments: segments.collect(), unwind: unwind_tables(&object) })
    }

    /// Drops the tables for unwinding if they take more than `left` bytes, of which they are else subtracted.
    #[must_use]
    pub fn within(mut self, left: &mut u64) -> Binary {
        match left.checked_sub(self.unwind.as_ref().map_or(0, |tables| tables.bytes)) {
            Some(rest) => *left = rest,
            None => self.unwind = None,
        }
        self
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
        let section = object.section_by_name(name).filter(|section| section.size() <= MOST_UNWIND_BYTES)?;
        Some((section.address(), Arc::<[u8]>::from(section.data().ok()?)))
    };
    let endian = endian(object);
    let (address, frames) = section(".eh_frame")?;
    let mut bases = BaseAddresses::default().set_eh_frame(address);
    let mut index = None;
    let mut bytes = frames.len() as u64;
    if let Some((address, header)) = section(".eh_frame_hdr") {
        bases = bases.set_eh_frame_hdr(address);
        bytes += header.len() as u64;
        index = gimli::EhFrameHdr::from(EndianArcSlice::new(header, endian)).parse(&bases, 8).ok();
    }
    if index.as_ref().is_none_or(|index| index.table().is_none()) && bytes > MOST_UNSORTED_BYTES {
        return None;
    }
    let mut frames = gimli::EhFrame::from(EndianArcSlice::new(frames, endian));
    frames.set_address_size(8);
    Some(UnwindTables { bases, frames, index, bytes })
}
