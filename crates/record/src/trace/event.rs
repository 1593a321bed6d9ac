//! An event as it comes through the ring: `struct event` of `bpf/event.h`.

/// What did not fit the ring is told in these words; `enum kind` numbers them.
pub(super) const KIND_NAMES: [&str; 9] = [
    "slow system calls",
    "off-CPU intervals",
    "reclaims",
    "reclaim throttlings",
    "slow requests",
    "sums of short sleeps",
    "sums of short waits for a CPU",
    "sums of short reclaims",
    "sums of short waits for requests",
];

pub(super) const SYSTEM_CALL: u32 = 0;
pub(super) const OFF_CPU: u32 = 1;
pub(super) const REQUEST: u32 = 4;

/// A block request, as the programs know it. 0: a moment that was not seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RequestNote {
    pub(super) key: u64,
    pub(super) sector: u64,
    pub(super) inserted_ns: u64,
    pub(super) issued_ns: u64,
    pub(super) completed_ns: u64,
    pub(super) device: u32,
    pub(super) bytes: u32,
    pub(super) flags: u32,
    pub(super) tid: u32,
    pub(super) throttled: bool,
}

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) kind: u32,
    pub(super) tid: u32,
    pub(super) pid: u32,
    pub(super) state: u32,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) busy_ns: u64,
    pub(super) woken_ns: u64,
    pub(super) count: u32,
    pub(super) call: i32,
    pub(super) result: i64,
    pub(super) argument: u64,
    pub(super) waker_tid: u32,
    pub(super) comm: String,
    pub(super) waker: String,
    pub(super) request: RequestNote,
    pub(super) stack: Vec<u64>,
    pub(super) path: String,
}

/// Takes fixed-size fields off the front.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    fn name(&mut self) -> Option<String> {
        self.take::<16>().map(|bytes| text(&bytes))
    }
}

/// The text up to the first 0.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl Event {
    /// The event in these bytes; `None` where they are too few.
    pub(super) fn parse(bytes: &[u8]) -> Option<Event> {
        let mut fields = Fields(bytes);
        let mut event = Event {
            kind: fields.u32()?,
            tid: fields.u32()?,
            pid: fields.u32()?,
            state: fields.u32()?,
            start_ns: fields.u64()?,
            end_ns: fields.u64()?,
            busy_ns: fields.u64()?,
            woken_ns: fields.u64()?,
            count: fields.u32()?,
            call: fields.u32()? as i32,
            result: fields.u64()? as i64,
            argument: fields.u64()?,
            waker_tid: fields.u32()?,
            ..Event::default()
        };
        let frames = fields.u32()? as usize;
        event.comm = fields.name()?;
        event.waker = fields.name()?;
        event.request = RequestNote {
            key: fields.u64()?,
            sector: fields.u64()?,
            inserted_ns: fields.u64()?,
            issued_ns: fields.u64()?,
            completed_ns: fields.u64()?,
            device: fields.u32()?,
            bytes: fields.u32()?,
            flags: fields.u32()?,
            tid: fields.u32()?,
            throttled: fields.u32()? != 0,
        };
        fields.u32()?;
        if event.kind == SYSTEM_CALL {
            event.path = text(fields.0);
        } else {
            event.stack = (0..frames).map_while(|_| fields.u64()).collect();
        }
        Some(event)
    }
}
