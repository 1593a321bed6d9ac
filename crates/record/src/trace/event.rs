//! An event of the ring: `struct event` of `bpf/event.h`.

use model::stall::stall_flags;

use crate::bytes::{before_zero, shown};

/// `enum flags`.
const PASSED_KNOWN: u32 = 1;
const PATH_UPWARDS: u32 = 2;
const PATH_WHOLE: u32 = 4;
pub(super) const WATCHED: u32 = 8;
pub(super) const CUT: u32 = 16;
pub(super) const CALL_CUT: u32 = 32;
pub(super) const HELD: u32 = 64;
pub(super) const HOLDER_IS_HINT: u32 = 128;
pub(super) const WAKER_IS_NEWER: u32 = 256;

pub(super) const SYSTEM_CALL: u32 = 0;
pub(super) const OFF_CPU: u32 = 1;
pub(super) const SPAN: u32 = 2;
pub(super) const REQUEST: u32 = 3;
/// The first of the sums, whose last is `SHORT_SPANS`.
pub(super) const SHORT_SLEEPS: u32 = 4;
pub(super) const SHORT_SPANS: u32 = 7;
pub(super) const STILL_OFF_CPU: u32 = 12;
pub(super) const ASYNCHRONOUS: u32 = 13;
/// The file of a page fault, whose wait is the next event of its task.
pub(super) const FAULT_FILE: u32 = 17;
/// A moment at which the task ran.
pub(super) const ON_CPU: u32 = 18;

/// Classes of requests that are counted separately: `CLASSES` of the programs.
pub(super) const CLASSES: usize = 8;

/// A block request, as the programs note it. 0: a moment that was not seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RequestNote {
    pub(super) key: u64,
    pub(super) sector: u64,
    pub(super) queued_ns: u64,
    pub(super) got_ns: u64,
    pub(super) inserted_ns: u64,
    pub(super) issued_ns: u64,
    pub(super) completed_ns: u64,
    pub(super) device: u32,
    pub(super) bytes: u32,
    pub(super) flags: u32,
    pub(super) tid: u32,
    pub(super) number: u32,
    pub(super) merges: u16,
    pub(super) throttled: bool,
    pub(super) status: u8,
    pub(super) preflush_ns: u64,
    pub(super) data_ns: u64,
    pub(super) postflush_ns: u64,
    /// The request of the disk below that completed it. 0: unknown.
    pub(super) lower_key: u64,
    pub(super) lower_completed_ns: u64,
    pub(super) lower_number: u32,
    /// What failed at the device: `enum failures`. 0: nothing, and the fields below mean nothing.
    pub(super) failures: u32,
    /// Its first issue, if it failed and was issued again.
    pub(super) first_issued_ns: u64,
    pub(super) scsi_result: u32,
    pub(super) scsi_sense: u32,
}

/// The fields of a tracepoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EventDetail {
    pub(super) words: [u64; 5],
    pub(super) name: String,
}

/// An open file, by its names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OpenFile {
    /// Its file system: the kernel's `dev_t`.
    pub(super) device: u32,
    /// Its own name, its folder's, and so on.
    pub(super) names: Vec<String>,
    /// The last of these is in the root of the file system, or is that root.
    pub(super) whole: bool,
}

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TraceEvent {
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
    pub(super) call_start_ns: u64,
    pub(super) cpu_ns: u64,
    pub(super) run_delay_ns: u64,
    pub(super) waker_tid: u32,
    pub(super) waker_pid: u32,
    pub(super) behind_tid: u32,
    pub(super) behind_pid: u32,
    pub(super) source: u32,
    pub(super) flags: u32,
    /// Requests of each class in flight when this one arrived, and those that overtook it.
    pub(super) passed: Option<([u32; CLASSES], [u32; CLASSES])>,
    pub(super) comm: String,
    pub(super) waker: String,
    pub(super) behind: String,
    /// Whom a sleep waits for: `enum awaits`.
    pub(super) awaits: u32,
    pub(super) asked_ns: u64,
    pub(super) cpu: u32,
    /// The lock that a task waited for, by its address, and who held it; 0: unknown.
    pub(super) lock: u64,
    pub(super) holder_tid: u32,
    pub(super) holder_pid: u32,
    pub(super) holder: String,
    pub(super) detail: EventDetail,
    /// The workqueue whose work a kernel worker did.
    pub(super) work: String,
    pub(super) request: RequestNote,
    pub(super) stack: Vec<u64>,
    pub(super) waker_stack: Vec<u64>,
    /// A path as passed to the call, or a file system's type and name.
    pub(super) texts: [String; 2],
    /// The file of a descriptor.
    pub(super) file: Option<OpenFile>,
}

/// Takes fixed-size fields off the front.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    fn u32s<const N: usize>(&mut self) -> Option<[u32; N]> {
        let mut words = [0; N];
        for word in &mut words {
            *word = self.u32()?;
        }
        Some(words)
    }

    fn name(&mut self) -> Option<String> {
        self.take::<16>().map(|bytes| text(&bytes))
    }

    fn request(&mut self) -> Option<RequestNote> {
        Some(RequestNote {
            key: self.u64()?,
            sector: self.u64()?,
            queued_ns: self.u64()?,
            got_ns: self.u64()?,
            inserted_ns: self.u64()?,
            issued_ns: self.u64()?,
            completed_ns: self.u64()?,
            device: self.u32()?,
            bytes: self.u32()?,
            flags: self.u32()?,
            tid: self.u32()?,
            number: self.u32()?,
            merges: self.u16()?,
            throttled: self.take::<1>()? != [0],
            status: self.take::<1>()?[0],
            preflush_ns: self.u64()?,
            data_ns: self.u64()?,
            postflush_ns: self.u64()?,
            lower_key: self.u64()?,
            lower_completed_ns: self.u64()?,
            lower_number: self.u32()?,
            failures: self.u32()?,
            first_issued_ns: self.u64()?,
            scsi_result: self.u32()?,
            scsi_sense: self.u32()?,
        })
    }

    fn detail(&mut self) -> Option<EventDetail> {
        let mut detail = EventDetail::default();
        for word in &mut detail.words {
            *word = self.u64()?;
        }
        detail.name = self.name()?;
        Some(detail)
    }
}

/// The text up to the first 0.
fn text(bytes: &[u8]) -> String {
    shown(before_zero(bytes))
}

/// The names up to an empty one, each with its 0.
fn names(bytes: &[u8]) -> Vec<String> {
    bytes.split(|byte| *byte == 0).take_while(|name| !name.is_empty()).map(text).collect()
}

impl RequestNote {
    /// The request in the bytes of a `struct compact_request`; `None` if they are too few.
    pub(super) fn parse(bytes: &[u8]) -> Option<RequestNote> {
        const UNSEEN: u32 = u32::MAX;
        let mut fields = Fields(bytes);
        let (sector, completed_ns) = (fields.u64()?, fields.u64()?);
        let times: [u32; 4] = fields.u32s()?;
        let [queued_ns, got_ns, inserted_ns, issued_ns] =
            times.map(|before| if before == UNSEEN { 0 } else { completed_ns.saturating_sub(u64::from(before)) });
        let [device, bytes, flags, tid, number] = fields.u32s()?;
        Some(RequestNote {
            key: 0,
            sector,
            queued_ns,
            got_ns,
            inserted_ns,
            issued_ns,
            completed_ns,
            device,
            bytes,
            flags,
            tid,
            number,
            merges: fields.u16()?,
            throttled: fields.take::<1>()? != [0],
            status: fields.take::<1>()?[0],
            ..RequestNote::default()
        })
    }
}

/// As the archive has them.
pub(super) fn row_flags(flags: u32) -> u32 {
    let known = [
        (WATCHED, stall_flags::WATCHED),
        (CUT, stall_flags::CUT),
        (CALL_CUT, stall_flags::CALL_CUT),
        (HELD, stall_flags::CPU_QUOTA),
        (HOLDER_IS_HINT, stall_flags::HOLDER_IS_HINT),
        (WAKER_IS_NEWER, stall_flags::WAKER_IS_NEWER),
    ];
    known.into_iter().filter(|(of_event, _)| flags & of_event != 0).map(|(_, of_row)| of_row).sum()
}

impl TraceEvent {
    /// The event in these bytes; `None` if they are too few.
    pub(super) fn parse(bytes: &[u8]) -> Option<TraceEvent> {
        let mut fields = Fields(bytes);
        let mut event = TraceEvent {
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
            call_start_ns: fields.u64()?,
            cpu_ns: fields.u64()?,
            run_delay_ns: fields.u64()?,
            waker_tid: fields.u32()?,
            waker_pid: fields.u32()?,
            behind_tid: fields.u32()?,
            behind_pid: fields.u32()?,
            ..TraceEvent::default()
        };
        let [frames, waker_frames, source, flags] = fields.u32s()?;
        (event.source, event.flags) = (source, flags);
        let passed = (fields.u32s()?, fields.u32s()?);
        event.passed = (flags & PASSED_KNOWN != 0).then_some(passed);
        (event.comm, event.waker, event.behind) = (fields.name()?, fields.name()?, fields.name()?);
        [event.awaits, event.cpu] = fields.u32s()?;
        (event.asked_ns, event.lock) = (fields.u64()?, fields.u64()?);
        [event.holder_tid, event.holder_pid] = fields.u32s()?;
        event.holder = fields.name()?;
        (event.detail, event.work, event.request) = (fields.detail()?, fields.name()?, fields.request()?);
        event.take_rest(fields, frames, waker_frames, flags);
        Some(event)
    }

    /// The stacks, or the texts instead of them.
    fn take_rest(&mut self, mut fields: Fields<'_>, frames: u32, waker_frames: u32, flags: u32) {
        match self.kind {
            SYSTEM_CALL | ASYNCHRONOUS | FAULT_FILE if flags & PATH_UPWARDS != 0 => {
                let (device, whole) = (self.state, flags & PATH_WHOLE != 0);
                self.file = Some(OpenFile { device, names: names(fields.0), whole });
            }
            SYSTEM_CALL | ASYNCHRONOUS | FAULT_FILE => self.texts[0] = text(fields.0),
            SPAN => {
                for place in &mut self.texts {
                    *place = fields.take::<32>().map(|bytes| text(&bytes)).unwrap_or_default();
                }
            }
            _ => {
                const STACK_FRAMES: usize = 40;
                let mut stack = Fields(fields.0.get(..STACK_FRAMES * 8).unwrap_or(fields.0));
                self.stack = (0..frames).map_while(|_| stack.u64()).collect();
                let mut waker = Fields(fields.0.get(STACK_FRAMES * 8..).unwrap_or_default());
                self.waker_stack = (0..waker_frames).map_while(|_| waker.u64()).collect();
            }
        }
    }
}
