//! Events of the block layer, as blktrace, the ftrace `blk` tracer and a live tracer all report them.
//!
//! A [`BlockEvent`] is a plain value of fixed size: traces have tens of millions of them, so nothing about one is
//! allocated. Names of processes, which are long and few, live in a [`ProcessNames`] table beside the events.

mod device_number;

use std::collections::HashMap;
use std::fmt;

pub use device_number::DeviceNumber;

/// Bytes in a sector, the unit of every position in a block trace, whatever the device's own block size.
pub const SECTOR_BYTES: u32 = 512;

/// The event's action. The numbers are those of `enum blktrace_act` in the kernel; the letters are blkparse's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Action {
    /// `Q`: a bio was submitted to the block layer.
    Queue = 1,
    /// `M`: a bio (or a whole request) was appended to a request.
    BackMerge = 2,
    /// `F`: a bio was put before a request.
    FrontMerge = 3,
    /// `G`: a request was allocated for a bio.
    GetRequest = 4,
    /// `S`: the task sleeps until a request (tag) is free.
    Sleep = 5,
    /// `R`: the driver requeued the request.
    Requeue = 6,
    /// `D`: the request was issued to the driver.
    Issue = 7,
    /// `C`: the request, or a first part of it, completed.
    Complete = 8,
    /// `P`: a task began to plug its requests.
    Plug = 9,
    /// `U`: the task unplugged them. Argument: how many.
    Unplug = 10,
    /// `UT`: a timer unplugged them. Argument: how many.
    TimerUnplug = 11,
    /// `I`: the request went to the I/O scheduler or the dispatch list.
    Insert = 12,
    /// `X`: a bio was split. Argument: first sector of the second piece.
    Split = 13,
    /// `B`: a bio's data was copied to lower memory.
    Bounce = 14,
    /// `A`: a bio was sent on to another device. Argument: its sector on the first one, `from_device`.
    Remap = 15,
    /// `abort`: a request was aborted.
    Abort = 16,
    /// A driver's own data.
    DriverData = 17,
    /// `ZP`: writes to a zone are plugged.
    ZonePlug = 18,
    /// `ZU`: writes to a zone were unplugged.
    ZoneUnplug = 19,
    /// Not the kernel's: a reader's mark that events are missing. `sector`: how many; argument: before which moment;
    /// device and CPU: where. It comes as early as the reader detects the loss; its time has no other meaning.
    Lost = 255,
}

impl Action {
    /// The action of that number in the kernel.
    pub const fn from_number(number: u32) -> Option<Action> {
        const ALL: [Action; 19] = [
            Action::Queue,
            Action::BackMerge,
            Action::FrontMerge,
            Action::GetRequest,
            Action::Sleep,
            Action::Requeue,
            Action::Issue,
            Action::Complete,
            Action::Plug,
            Action::Unplug,
            Action::TimerUnplug,
            Action::Insert,
            Action::Split,
            Action::Bounce,
            Action::Remap,
            Action::Abort,
            Action::DriverData,
            Action::ZonePlug,
            Action::ZoneUnplug,
        ];
        if number >= 1 && number <= 19 { Some(ALL[number as usize - 1]) } else { None }
    }

    /// The action of that name in blkparse's text.
    pub fn from_letters(letters: &[u8]) -> Option<Action> {
        Some(match letters {
            b"Q" => Action::Queue,
            b"M" => Action::BackMerge,
            b"F" => Action::FrontMerge,
            b"G" => Action::GetRequest,
            b"S" => Action::Sleep,
            b"R" => Action::Requeue,
            b"D" => Action::Issue,
            b"C" => Action::Complete,
            b"P" => Action::Plug,
            b"U" => Action::Unplug,
            b"UT" => Action::TimerUnplug,
            b"I" => Action::Insert,
            b"X" => Action::Split,
            b"B" => Action::Bounce,
            b"A" => Action::Remap,
            b"ZP" => Action::ZonePlug,
            b"ZU" => Action::ZoneUnplug,
            _ => return None,
        })
    }

    /// blkparse's name for it.
    pub const fn letters(self) -> &'static str {
        match self {
            Action::Queue => "Q",
            Action::BackMerge => "M",
            Action::FrontMerge => "F",
            Action::GetRequest => "G",
            Action::Sleep => "S",
            Action::Requeue => "R",
            Action::Issue => "D",
            Action::Complete => "C",
            Action::Plug => "P",
            Action::Unplug => "U",
            Action::TimerUnplug => "UT",
            Action::Insert => "I",
            Action::Split => "X",
            Action::Bounce => "B",
            Action::Remap => "A",
            Action::Abort => "abort",
            Action::DriverData => "drv",
            Action::ZonePlug => "ZP",
            Action::ZoneUnplug => "ZU",
            Action::Lost => "lost",
        }
    }
}

/// What kind of I/O: the operation and its flags. blkparse's RWBS column (`WS`, `RA`, `FWFSM`) in one byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Kind(u8);

/// What an I/O does to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Operation {
    /// Nothing with data: a flush of the cache, a plug.
    None = 0,
    /// Read.
    Read = 1,
    /// Write.
    Write = 2,
    /// Discard (or secure erase).
    Discard = 3,
}

impl Kind {
    /// The device's cache is flushed first (the F before the operation).
    pub const PREFLUSH: Kind = Kind(4);
    /// The write is durable when it completes (the F after the operation).
    pub const FUA: Kind = Kind(8);
    /// Read ahead (A).
    pub const AHEAD: Kind = Kind(16);
    /// Synchronous: a task waits for it, or will (S).
    pub const SYNC: Kind = Kind(32);
    /// Metadata (M).
    pub const META: Kind = Kind(64);
    /// A command passed through to the driver, not a file system's I/O.
    pub const PASSTHROUGH: Kind = Kind(128);

    /// The operation without flags.
    pub const fn of(operation: Operation) -> Kind {
        Kind(operation as u8)
    }

    /// The same with another flag.
    #[must_use]
    pub const fn with(self, flag: Kind) -> Kind {
        Kind(self.0 | flag.0 & !3)
    }

    /// Whether all of `flag`'s flags are set.
    pub const fn has(self, flag: Kind) -> bool {
        self.0 & flag.0 & !3 == flag.0 & !3
    }

    /// The operation.
    pub const fn operation(self) -> Operation {
        match self.0 & 3 {
            1 => Operation::Read,
            2 => Operation::Write,
            3 => Operation::Discard,
            _ => Operation::None,
        }
    }

    /// A number below 256 that stands for this kind in tables.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The kind of that number.
    pub const fn from_number(number: u8) -> Kind {
        Kind(number)
    }

    /// Reads an RWBS column. `None` where it contains a letter that no kernel writes.
    pub fn from_rwbs(text: &[u8]) -> Option<Kind> {
        let mut kind = Kind::default();
        let mut operation_seen = false;
        for &letter in text {
            let (operation, flag) = match letter {
                b'R' => (Operation::Read, Kind(0)),
                b'W' | b'Z' => (Operation::Write, Kind(0)),
                b'D' | b'E' => (Operation::Discard, Kind(0)),
                b'N' => (Operation::None, Kind(0)),
                b'F' if operation_seen => (Operation::None, Kind::FUA),
                b'F' => (Operation::None, Kind::PREFLUSH),
                b'A' => (Operation::None, Kind::AHEAD),
                b'S' => (Operation::None, Kind::SYNC),
                b'M' => (Operation::None, Kind::META),
                b'B' | b'U' => (Operation::None, Kind(0)),
                _ => return None,
            };
            operation_seen |= matches!(letter, b'R' | b'W' | b'D' | b'N' | b'Z' | b'E');
            kind.0 |= operation as u8 | flag.0;
        }
        Some(kind)
    }
}

/// As in blkparse's RWBS column.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = match self.operation() {
            Operation::None => "N",
            Operation::Read => "R",
            Operation::Write => "W",
            Operation::Discard => "D",
        };
        let mut text = String::with_capacity(8);
        for (present, letters) in [
            (self.has(Kind::PREFLUSH), "F"),
            (true, operation),
            (self.has(Kind::FUA), "F"),
            (self.has(Kind::AHEAD), "A"),
            (self.has(Kind::SYNC), "S"),
            (self.has(Kind::META), "M"),
        ] {
            if present {
                text.push_str(letters);
            }
        }
        f.pad(&text)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pass = if self.has(Kind::PASSTHROUGH) { " passthrough" } else { "" };
        write!(f, "{self}{pass}")
    }
}

/// One event of the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEvent {
    /// The trace's clock, ns.
    pub time_ns: u64,
    /// First sector.
    pub sector: u64,
    /// The action's argument; see [`Action`]. 0 if it has none.
    pub argument: u64,
    /// Cgroup that the I/O is charged to; 0 where the trace does not say.
    pub cgroup: u64,
    /// Length.
    pub bytes: u32,
    /// Thread that was running.
    pub pid: u32,
    /// Device.
    pub device: DeviceNumber,
    /// For [`Action::Remap`]: the device it came from.
    pub from_device: DeviceNumber,
    /// CPU that it happened on.
    pub cpu: u32,
    /// Errno of a completion, positive; 0 is success.
    pub error: u16,
    /// What happened.
    pub action: Action,
    /// What kind of I/O.
    pub kind: Kind,
}

impl BlockEvent {
    /// An event without length, process or payload, to be completed with struct update syntax.
    pub const fn new(time_ns: u64, action: Action, device: DeviceNumber) -> BlockEvent {
        BlockEvent {
            time_ns,
            sector: 0,
            argument: 0,
            cgroup: 0,
            bytes: 0,
            pid: 0,
            device,
            from_device: DeviceNumber(0),
            cpu: 0,
            error: 0,
            action,
            kind: Kind(0),
        }
    }

    /// Length in sectors. A passthrough command's odd bytes are cut off, as blkparse does.
    pub const fn sectors(&self) -> u32 {
        self.bytes / SECTOR_BYTES
    }
}

/// Names of threads. Bounded, because a damaged trace may name any number of threads.
#[derive(Debug, Clone, Default)]
pub struct ProcessNames {
    names: HashMap<u32, String>,
}

impl ProcessNames {
    /// Names beyond this many threads are not kept.
    pub const LIMIT: usize = 1 << 16;

    /// Sets the name of `pid`. The last name counts: a thread renames itself after a fork.
    pub fn insert(&mut self, pid: u32, name: &str) {
        let full = self.names.len() >= ProcessNames::LIMIT;
        match self.names.get_mut(&pid) {
            Some(known) if known == name => {}
            Some(known) => name.clone_into(known),
            None if full => {}
            None => {
                self.names.insert(pid, name.to_owned());
            }
        }
    }

    /// The thread's name, if the trace has it.
    pub fn get(&self, pid: u32) -> Option<&str> {
        self.names.get(&pid).map(String::as_str)
    }

    /// Adds the other table's names.
    pub fn merge(&mut self, other: &ProcessNames) {
        for (&pid, name) in &other.names {
            self.insert(pid, name);
        }
    }

    /// All names, by thread.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.names.iter().map(|(&pid, name)| (pid, name.as_str()))
    }
}

#[cfg(test)]
mod tests;
