//! Block requests and their sums → rows.

use std::collections::HashMap;

use libbpf_rs::{MapCore, MapFlags, Object};
use model::block::{DeviceNumber, Kind, Operation};
use model::operation::Bucket;
use model::stall::{KindCounts, REQUEST_BUCKETS, RequestFailures, RequestIntervalRecord, RequestRecord};

use super::event::{CLASSES, RequestNote};
use super::programs;

const BUCKETS: usize = REQUEST_BUCKETS as usize;
/// The first words of `struct device`: its number, three that do not matter here, and the number of each class's
/// histogram + 1.
const DEVICE_WORDS: usize = 4 + CLASSES;

/// The classes that the programs count separately, by `class_of` of `bpf/request/table.h`; other flags are ignored.
pub(super) fn classes() -> [Kind; CLASSES] {
    let (read, write) = (Kind::of(Operation::Read), Kind::of(Operation::Write));
    [
        read,
        read.with(Kind::AHEAD),
        read.with(Kind::META),
        write,
        write.with(Kind::SYNC),
        write.with(Kind::META),
        Kind::of(Operation::Discard),
        Kind::of(Operation::None),
    ]
}

/// Counts by class as counts by kind.
pub(super) fn by_kind(counts: &[u32; CLASSES]) -> KindCounts {
    let mut by_kind: KindCounts = classes().into_iter().zip(*counts).filter(|(_, count)| *count > 0).collect();
    by_kind.sort_by_cached_key(|(kind, _)| kind.to_string());
    by_kind
}

/// A request's operation and flags (`enum req_op` and `enum req_flag_bits`, Linux 4.10 to 6.18) as block traces have
/// them.
pub(super) fn kind_of(flags: u32) -> Kind {
    let operation = match flags & 0xff {
        0 => Operation::Read,
        1 => Operation::Write,
        3 | 5 => Operation::Discard,
        _ => Operation::None,
    };
    let named = [(11, Kind::SYNC), (12, Kind::META), (17, Kind::FUA), (18, Kind::PREFLUSH), (19, Kind::AHEAD)];
    let mut kind = Kind::of(operation);
    if flags & 0xff == 2 {
        kind = kind.with(Kind::PREFLUSH);
    }
    for (_, flag) in named.into_iter().filter(|(bit, _)| flags & 1 << bit != 0) {
        kind = kind.with(flag);
    }
    kind
}

/// The errno of a `blk_status_t` (`blk_errors` of block/blk-core.c, Linux 4.13 to 6.18); EIO for those that later
/// kernels may add.
pub(super) fn errno_of(status: u8) -> Option<i32> {
    Some(match status {
        0 => return None,
        1 => libc::EOPNOTSUPP,
        2 => libc::ETIMEDOUT,
        3 => libc::ENOSPC,
        4 => libc::ENOLINK,
        5 => libc::EREMOTEIO,
        6 => libc::EBADE,
        7 => libc::ENODATA,
        8 => libc::EILSEQ,
        9 => libc::ENOMEM,
        12 => libc::EAGAIN,
        // BLK_STS_OFFLINE: since 5.18, and with another number since 6.11. Before and between, of zones and of limits
        // of a command's time.
        16 | 17 => libc::ENODEV,
        _ => libc::EIO,
    })
}

/// What failed of a request: `failures` of `bpf/event.h`.
pub(super) fn failures_of(note: &RequestNote) -> RequestFailures {
    if note.failures == 0 {
        return RequestFailures::default();
    }
    let some = |number: u32| (number != 0).then_some(number);
    let first = note.first_issued_ns;
    RequestFailures {
        first_issued_ns: (first != 0 && first <= note.completed_ns).then_some(first),
        retries: some(note.failures & 0xff),
        timeouts: some(note.failures >> 8 & 0xff),
        scsi_result: some(note.scsi_result),
        scsi_sense: some(note.scsi_sense),
    }
}

/// A request's row. Times that contradict the order of a request's lifecycle belong to another request and are dropped.
pub(super) fn record(request: u32, note: &RequestNote) -> RequestRecord {
    let seen = |ns: u64| (ns != 0 && ns <= note.completed_ns).then_some(ns);
    let issued_ns = seen(note.issued_ns);
    let inserted_ns = seen(note.inserted_ns).filter(|ns| issued_ns.is_none_or(|issued_ns| *ns <= issued_ns));
    let entered_ns = inserted_ns.or(issued_ns).unwrap_or(note.completed_ns);
    let queued_ns = seen(note.queued_ns).filter(|ns| *ns <= entered_ns);
    let got_ns = seen(note.got_ns).filter(|ns| *ns <= entered_ns && queued_ns.is_none_or(|queued_ns| queued_ns <= *ns));
    RequestRecord {
        request,
        device: DeviceNumber(note.device),
        sector: note.sector,
        bytes: note.bytes,
        kind: kind_of(note.flags),
        tid: note.tid,
        merges: u32::from(note.merges),
        queued_ns,
        got_ns,
        inserted_ns,
        issued_ns,
        completed_ns: note.completed_ns,
        errno: errno_of(note.status),
        throttled: note.throttled,
        parts: None,
        in_flight: Vec::new(),
        overtaken_by: Vec::new(),
    }
}

/// The programs' sums of requests; each interval emits the difference.
pub(super) struct RequestHistograms {
    since_ns: u64,
    emitted: HashMap<u32, RequestSum>,
}

impl RequestHistograms {
    pub(super) fn new(since_ns: u64) -> RequestHistograms {
        RequestHistograms { since_ns, emitted: HashMap::new() }
    }

    /// Adds the requests completed since the last call.
    pub(super) fn take(&mut self, object: &Object, now_ns: u64, rows: &mut Vec<RequestIntervalRecord>) {
        let start_ns = std::mem::replace(&mut self.since_ns, now_ns);
        let (Ok(devices), Ok(histograms)) = (programs::map(object, "devices"), programs::map(object, "histograms"))
        else {
            return;
        };
        for queue in 0..programs::QUEUES {
            let Ok(Some(value)) = devices.lookup(&queue.to_ne_bytes(), MapFlags::ANY) else { continue };
            let words: [u32; DEVICE_WORDS] = words(&value);
            if words[0] == 0 {
                continue;
            }
            for (class, kind) in classes().into_iter().enumerate() {
                let Some(at) = words[4 + class].checked_sub(1) else { continue };
                let Ok(Some(values)) = histograms.lookup_percpu(&at.to_ne_bytes(), MapFlags::ANY) else { continue };
                let mut sum = RequestSum::empty();
                values.iter().for_each(|value| sum.add(value));
                let before = self.emitted.insert(at, sum.clone()).unwrap_or_else(RequestSum::empty);
                rows.extend(sum.since(&before, (start_ns, now_ns), (DeviceNumber(words[0]), kind)));
            }
        }
    }
}

fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut words = [0; N];
    for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_ne_bytes(*chunk);
    }
    words
}

/// `struct histogram`, summed over all CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestSum {
    count: u64,
    bytes: u64,
    /// Queue times, then device times.
    buckets: Box<[u32; 2 * BUCKETS]>,
}

impl RequestSum {
    pub(super) fn empty() -> RequestSum {
        RequestSum { count: 0, bytes: 0, buckets: Box::new([0; 2 * BUCKETS]) }
    }

    /// Adds the histogram of one CPU.
    pub(super) fn add(&mut self, value: &[u8]) {
        let (wide, rest) = value.split_at(value.len().min(16));
        let mut wide = wide.as_chunks::<8>().0.iter().map(|chunk| u64::from_ne_bytes(*chunk));
        self.count += wide.next().unwrap_or(0);
        self.bytes += wide.next().unwrap_or(0);
        let buckets: [u32; 2 * BUCKETS] = words(rest);
        self.buckets.iter_mut().zip(buckets).for_each(|(sum, one)| *sum = sum.wrapping_add(one));
    }

    /// The difference since `before`; `None` if there is none.
    pub(super) fn since(
        &self,
        before: &RequestSum,
        span: (u64, u64),
        class: (DeviceNumber, Kind),
    ) -> Option<RequestIntervalRecord> {
        let buckets = |from: usize| {
            let counts = (from..from + BUCKETS).map(|at| self.buckets[at].wrapping_sub(before.buckets[at]));
            let some = counts.enumerate().filter(|(_, count)| *count > 0);
            some.map(|(index, count)| Bucket { index: index as u32, count: u64::from(count) }).collect()
        };
        (self.count > before.count).then(|| RequestIntervalRecord {
            start_ns: span.0,
            end_ns: span.1,
            device: class.0,
            kind: class.1,
            count: self.count - before.count,
            bytes: self.bytes.saturating_sub(before.bytes),
            queue: buckets(0),
            device_time: buckets(BUCKETS),
        })
    }
}
