//! Writing traces: binary records and blkparse's text. For exporters, and for tests that need a trace with known truth.

use std::io::Write;

use model::block::{Action, BlockEvent, Kind, Operation};

pub use crate::record::ByteOrder;
use crate::record::{CGROUP, MAGIC_V7, MAGIC_V8, category};

/// Version of the binary record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// `struct blk_io_trace`, 48 bytes.
    V7,
    /// `struct blk_io_trace2`, 64 bytes.
    V8,
}

/// Appends binary records to a buffer.
#[derive(Debug, Clone, Copy)]
pub struct Encoder {
    /// Record version.
    pub version: Version,
    /// Byte order.
    pub order: ByteOrder,
}

impl Encoder {
    /// Appends `event` with a sequence number; 0: none. An [`Action::Lost`] mark is not written.
    pub fn event(&self, event: &BlockEvent, sequence: u32, out: &mut Vec<u8>) {
        if event.action == Action::Lost {
            return;
        }
        let mut payload = [0_u8; 24];
        let mut length = 0;
        let mut put = |bytes: &[u8]| {
            payload[length..length + bytes.len()].copy_from_slice(bytes);
            length += bytes.len();
        };
        if event.cgroup != 0 {
            put(&self.u64(event.cgroup));
        }
        match event.action {
            Action::Unplug | Action::TimerUnplug | Action::ZoneUnplug | Action::Split => {
                put(&event.argument.to_be_bytes());
            }
            Action::Remap => {
                put(&event.from_device.0.to_be_bytes());
                put(&event.device.0.to_be_bytes());
                put(&event.argument.to_be_bytes());
            }
            _ => {}
        }
        self.record(event, sequence, action_bits(event), &payload[..length], out);
    }

    /// Appends the notification that `pid` has the name `name`.
    pub fn process(&self, time_ns: u64, pid: u32, name: &str, out: &mut Vec<u8>) {
        let mut payload = [0_u8; 16];
        let length = name.len().min(15);
        payload[..length].copy_from_slice(&name.as_bytes()[..length]);
        let event = BlockEvent { pid, ..BlockEvent::new(time_ns, Action::Queue, Default::default()) };
        self.record(&event, 0, category::NOTIFY, &payload, out);
    }

    fn record(&self, event: &BlockEvent, sequence: u32, action: u64, payload: &[u8], out: &mut Vec<u8>) {
        let magic = if self.version == Version::V7 { MAGIC_V7 } else { MAGIC_V8 };
        out.extend(self.u32(magic));
        out.extend(self.u32(sequence));
        out.extend(self.u64(event.time_ns));
        out.extend(self.u64(event.sector));
        out.extend(self.u32(event.bytes));
        if self.version == Version::V7 {
            out.extend(self.u32(action as u32));
            out.extend(self.u32(event.pid));
        } else {
            out.extend(self.u32(event.pid));
            out.extend(self.u64(action));
        }
        out.extend(self.u32(event.device.0));
        out.extend(self.u32(event.cpu));
        out.extend(self.u16((event.error as i16).wrapping_neg() as u16));
        out.extend(self.u16(payload.len() as u16));
        if self.version == Version::V8 {
            out.extend([0; 12]);
        }
        out.extend(payload);
    }

    fn u16(&self, value: u16) -> [u8; 2] {
        if self.order == ByteOrder::Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u32(&self, value: u32) -> [u8; 4] {
        if self.order == ByteOrder::Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u64(&self, value: u64) -> [u8; 8] {
        if self.order == ByteOrder::Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }
}

/// The action with its category bits, as in the kernel.
fn action_bits(event: &BlockEvent) -> u64 {
    let kind = event.kind;
    let mut bits = event.action as u64;
    bits |= match kind.operation() {
        Operation::None | Operation::Read => category::READ,
        Operation::Write => category::WRITE,
        Operation::Discard => category::WRITE | category::DISCARD,
    };
    for (flag, bit) in [
        (Kind::PREFLUSH, category::FLUSH),
        (Kind::FUA, category::FUA),
        (Kind::AHEAD, category::AHEAD),
        (Kind::SYNC, category::SYNC),
        (Kind::META, category::META),
        (Kind::PASSTHROUGH, category::PASSTHROUGH),
    ] {
        if kind.has(flag) {
            bits |= bit;
        }
    }
    bits |= match event.action {
        Action::Requeue => category::REQUEUE | category::FS,
        Action::Issue => category::ISSUE | category::FS,
        Action::Complete => category::COMPLETE | category::FS,
        Action::Split | Action::Bounce => 0,
        _ => category::QUEUE,
    };
    if event.cgroup != 0 { bits | CGROUP } else { bits }
}

/// Appends `event` as a line of blkparse's default text. `name` is the thread's.
pub fn line(event: &BlockEvent, sequence: u32, name: &str, out: &mut Vec<u8>) {
    if event.action == Action::Lost {
        return;
    }
    let device = event.device;
    let (seconds, ns) = (event.time_ns / 1_000_000_000, event.time_ns % 1_000_000_000);
    let letters = event.action.letters();
    let kind = event.kind.to_string();
    let (cpu, pid) = (event.cpu, event.pid);
    let (sector, sectors, argument) = (event.sector, event.sectors(), event.argument);
    let head = format!(
        "{:3},{:<3} {cpu:2} {sequence:8} {seconds:5}.{ns:09} {pid:5} {letters:>2} {kind:>3} ",
        device.major(),
        device.minor()
    );
    let tail = match event.action {
        Action::Complete if sectors > 0 => format!("{sector} + {sectors} [{}]", event.error),
        Action::Complete => format!("{sector} [{}]", event.error),
        Action::Split => format!("{sector} / {argument} [{name}]"),
        Action::Unplug | Action::TimerUnplug | Action::ZoneUnplug => format!("[{name}] {argument}"),
        Action::Remap => {
            let from = event.from_device;
            format!("{sector} + {sectors} <- ({},{}) {argument}", from.major(), from.minor())
        }
        _ if sectors > 0 => format!("{sector} + {sectors} [{name}]"),
        _ => format!("[{name}]"),
    };
    writeln!(out, "{head}{tail}").expect("writing to memory does not fail");
}
