//! The binary record: `struct blk_io_trace` (version 7, 48 bytes) and `blk_io_trace2` (version 8, 64 bytes) of the
//! kernel's `blktrace_api.h`, each followed by `pdu_len` bytes of payload.

use model::block::{Action, BlockEvent, DeviceNumber, Kind, Operation};

/// Version 7's magic number, in the writer's byte order. The low byte is the version.
pub(crate) const MAGIC_V7: u32 = 0x6561_7407;
/// Version 8's.
pub(crate) const MAGIC_V8: u32 = 0x6561_7408;
/// Length of a version 7 header.
pub(crate) const HEADER_V7: usize = 48;
/// Length of a version 8 header.
pub(crate) const HEADER_V8: usize = 64;
/// Longest record.
pub(crate) const LONGEST: usize = HEADER_V8 + u16::MAX as usize;
/// In an action: a cgroup id precedes the payload.
pub(crate) const CGROUP: u64 = 0x100;

/// Category bits, the action's upper part.
pub(crate) mod category {
    pub(crate) const READ: u64 = 1 << 16;
    pub(crate) const WRITE: u64 = 1 << 17;
    pub(crate) const FLUSH: u64 = 1 << 18;
    pub(crate) const SYNC: u64 = 1 << 19;
    pub(crate) const QUEUE: u64 = 1 << 20;
    pub(crate) const REQUEUE: u64 = 1 << 21;
    pub(crate) const ISSUE: u64 = 1 << 22;
    pub(crate) const COMPLETE: u64 = 1 << 23;
    pub(crate) const FS: u64 = 1 << 24;
    pub(crate) const PASSTHROUGH: u64 = 1 << 25;
    pub(crate) const NOTIFY: u64 = 1 << 26;
    pub(crate) const AHEAD: u64 = 1 << 27;
    pub(crate) const META: u64 = 1 << 28;
    pub(crate) const DISCARD: u64 = 1 << 29;
    pub(crate) const FUA: u64 = 1 << 31;
}

/// A record's header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) sequence: u32,
    pub(crate) time_ns: u64,
    pub(crate) sector: u64,
    pub(crate) bytes: u32,
    pub(crate) action: u64,
    pub(crate) pid: u32,
    pub(crate) device: u32,
    pub(crate) cpu: u32,
    pub(crate) error: u16,
    pub(crate) pdu_len: u16,
}

/// The byte order of a trace: that of the machine that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// x86, ARM, RISC-V and nearly all others.
    Little,
    /// s390, old POWER.
    Big,
}

fn u16_at<const BIG: bool>(bytes: &[u8], at: usize) -> u16 {
    let array = bytes[at..at + 2].try_into().expect("two bytes");
    if BIG { u16::from_be_bytes(array) } else { u16::from_le_bytes(array) }
}

pub(crate) fn u32_at<const BIG: bool>(bytes: &[u8], at: usize) -> u32 {
    let array = bytes[at..at + 4].try_into().expect("four bytes");
    if BIG { u32::from_be_bytes(array) } else { u32::from_le_bytes(array) }
}

fn u64_at<const BIG: bool>(bytes: &[u8], at: usize) -> u64 {
    let array = bytes[at..at + 8].try_into().expect("eight bytes");
    if BIG { u64::from_be_bytes(array) } else { u64::from_le_bytes(array) }
}

/// Length of the header that begins with these four bytes; `None` where no record begins.
pub(crate) fn header_length<const BIG: bool>(bytes: &[u8]) -> Option<usize> {
    match u32_at::<BIG>(bytes, 0) {
        MAGIC_V7 => Some(HEADER_V7),
        MAGIC_V8 => Some(HEADER_V8),
        _ => None,
    }
}

impl Header {
    /// Reads a header of version 7; `bytes` holds at least [`HEADER_V7`].
    #[inline]
    pub(crate) fn v7<const BIG: bool>(bytes: &[u8]) -> Header {
        let bytes = &bytes[..HEADER_V7];
        Header {
            sequence: u32_at::<BIG>(bytes, 4),
            time_ns: u64_at::<BIG>(bytes, 8),
            sector: u64_at::<BIG>(bytes, 16),
            bytes: u32_at::<BIG>(bytes, 24),
            action: u64::from(u32_at::<BIG>(bytes, 28)),
            pid: u32_at::<BIG>(bytes, 32),
            device: u32_at::<BIG>(bytes, 36),
            cpu: u32_at::<BIG>(bytes, 40),
            error: u16_at::<BIG>(bytes, 44),
            pdu_len: u16_at::<BIG>(bytes, 46),
        }
    }

    /// Reads a header of version 8; `bytes` holds at least [`HEADER_V8`].
    #[inline]
    pub(crate) fn v8<const BIG: bool>(bytes: &[u8]) -> Header {
        let bytes = &bytes[..HEADER_V8];
        Header {
            sequence: u32_at::<BIG>(bytes, 4),
            time_ns: u64_at::<BIG>(bytes, 8),
            sector: u64_at::<BIG>(bytes, 16),
            bytes: u32_at::<BIG>(bytes, 24),
            pid: u32_at::<BIG>(bytes, 28),
            action: u64_at::<BIG>(bytes, 32),
            device: u32_at::<BIG>(bytes, 40),
            cpu: u32_at::<BIG>(bytes, 44),
            error: u16_at::<BIG>(bytes, 48),
            pdu_len: u16_at::<BIG>(bytes, 50),
        }
    }

    pub(crate) fn is_notify(&self) -> bool {
        self.action & category::NOTIFY != 0
    }

    /// The event, with its payload decoded. `None`: an action that no known kernel writes.
    #[inline]
    pub(crate) fn event<const BIG: bool>(&self, payload: &[u8]) -> Option<BlockEvent> {
        let action = Action::from_number((self.action & 0xff) as u32)?;
        let mut event = BlockEvent {
            time_ns: self.time_ns,
            sector: self.sector,
            argument: 0,
            cgroup: 0,
            bytes: self.bytes,
            pid: self.pid,
            device: DeviceNumber(self.device),
            from_device: DeviceNumber(0),
            cpu: self.cpu,
            // The kernel stores a negative errno in an unsigned field. Until 2.6.36 or so 1 meant success ("up to
            // date").
            error: if self.error == 1 { 0 } else { (self.error as i16).unsigned_abs() },
            action,
            kind: kind_of(self.action, self.bytes),
        };
        if !payload.is_empty() {
            self.read_payload::<BIG>(&mut event, payload);
        }
        Some(event)
    }

    fn read_payload<const BIG: bool>(&self, event: &mut BlockEvent, payload: &[u8]) {
        let mut rest = payload;
        if self.action & CGROUP != 0 && rest.len() >= 8 {
            event.cgroup = u64_at::<BIG>(rest, 0);
            rest = &rest[8..];
        }
        // Payloads of the block layer are big-endian on every machine.
        match event.action {
            Action::Unplug | Action::TimerUnplug | Action::ZoneUnplug | Action::Split if rest.len() >= 8 => {
                event.argument = u64_at::<true>(rest, 0);
            }
            Action::Remap if rest.len() >= 16 => {
                event.from_device = DeviceNumber(u32_at::<true>(rest, 0));
                event.argument = u64_at::<true>(rest, 8);
            }
            _ => {}
        }
    }
}

/// The kind from an action's category bits. As in blkparse's RWBS column, a read of 0 bytes is `N`.
#[inline]
fn kind_of(action: u64, bytes: u32) -> Kind {
    let operation = match action & (category::DISCARD | category::WRITE) {
        category::WRITE => Operation::Write,
        0 if bytes == 0 => Operation::None,
        0 => Operation::Read,
        _ => Operation::Discard,
    };
    let flag = |bit: u64, kind: Kind| if action & bit != 0 { kind } else { Kind::default() };
    Kind::of(operation)
        .with(flag(category::FLUSH, Kind::PREFLUSH))
        .with(flag(category::FUA, Kind::FUA))
        .with(flag(category::AHEAD, Kind::AHEAD))
        .with(flag(category::SYNC, Kind::SYNC))
        .with(flag(category::META, Kind::META))
        .with(flag(category::PASSTHROUGH, Kind::PASSTHROUGH))
}
