//! What tasks wait for in the kernel: slow system calls, time off the CPU, spans between two tracepoints,
//! block requests.

mod awaits;
mod kind;
mod request_failures;
pub mod stall_flags;
mod traced;

use serde::{Deserialize, Serialize};

use crate::block::{DeviceNumber, Kind};
use crate::detail::Detail;
use crate::operation::Bucket;
pub use awaits::Awaits;
pub use kind::StallKind;
pub use request_failures::RequestFailures;
pub use traced::Traced;

/// A thread as it was when first seen. Thread ids are reused in a long run: the latest record before a moment
/// applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Kernel thread id.
    pub tid: u32,
    /// Its process; the same as `tid` for a kernel thread.
    pub pid: u32,
    /// The thread's name (`comm`).
    pub name: String,
    /// Its memory cgroup (v1), or its cgroup (v2), as a path below the hierarchy's root. `None` where the task was
    /// gone.
    pub cgroup: Option<String>,
    /// Its cgroup of the I/O controller, where that hierarchy (v1) has another path for it.
    pub io_cgroup: Option<String>,
    /// The program or script that started its process, and that one's id: `rotate.sh/812`. `None` where it is unknown,
    /// or of no interest.
    pub started_by: Option<String>,
    /// What its process says in its title that it is, where programs of one name have several: `checkpointer` of
    /// PostgreSQL.
    pub role: Option<String>,
    /// The name of the container that its cgroup is of.
    pub container: Option<String>,
    /// When it was seen, on the monotonic clock.
    pub seen_ns: u64,
}

/// Time that a task lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallRecord {
    /// Its kind.
    pub kind: StallKind,
    /// Whose time: [`TaskRecord::tid`].
    pub tid: u32,
    /// Start on the monotonic clock.
    pub start_ns: u64,
    /// From start to end.
    pub duration_ns: u64,
    /// Time lost between them: the duration, or less where the record sums up many short losses.
    pub busy_ns: u64,
    /// How many it sums up; 1 for a single one.
    pub count: u64,
    /// Scheduler state that the task left the CPU in, as in the kernel's `__state`; 0: it was runnable.
    pub state: Option<u32>,
    /// When it was woken, on the monotonic clock; from then on it waited on the run queue.
    pub woken_ns: Option<u64>,
    /// Who woke it: the thread that was on the CPU then. `Some(0)`: an interrupt of an idle CPU.
    pub waker_tid: Option<u32>,
    /// Of an asynchronous operation: the kernel's thread that executed it, where that slept or completed it. Of a wait
    /// that a newer task ended: who started that task ([`stall_flags::WAKER_IS_NEWER`]).
    pub worker_tid: Option<u32>,
    /// Of a long run-queue wait: the task that ran for at least half of it, else the last one before it.
    pub behind_tid: Option<u32>,
    /// Kernel stack while it was off the CPU: [`StackRecord::stack`].
    pub stack: Option<u32>,
    /// Kernel stack of the waker at the waking: [`StackRecord::stack`].
    pub waker_stack: Option<u32>,
    /// The block request whose completion woke it: [`RequestRecord::request`]. Of an asynchronous operation: its last
    /// slow one.
    pub request: Option<u32>,
    /// Of a span: its tracepoint's name, without `_begin`, `_end`, `_start` (`mm_vmscan_direct_reclaim`). Of time off
    /// the CPU: the tracepoint that announced the wait (`balance_dirty_pages`, `contention_begin`). See
    /// [`crate::signal`].
    pub tracepoint: Option<String>,
    /// What the tracepoint's fields say, which cgroup held the task, or what a lasting wait is for.
    pub detail: Option<Detail>,
    /// The system call that it happened in, by the kernel's name; of an asynchronous operation its name
    /// (`io_uring_write`).
    pub call: Option<String>,
    /// The workqueue whose work a kernel worker did, where it is known.
    pub work: Option<String>,
    /// File that a system call worked on, if known.
    pub path: Option<String>,
    /// Bytes that a system call moved, where it moves any.
    pub bytes: Option<u64>,
    /// `errno` of a system call that failed.
    pub errno: Option<i32>,
    /// Of time off the CPU: since when the task was in its call, on the monotonic clock.
    pub call_start_ns: Option<u64>,
    /// Of time off the CPU: the task's CPU time until then. What it used between two rows is their difference.
    pub cpu_ns: Option<u64>,
    /// The same of the time that it waited on run queues (`run_delay` of the kernel's `sched_info`), as of when it left
    /// the CPU.
    pub run_delay_ns: Option<u64>,
    /// What else is known: bits of [`stall_flags`].
    pub flags: Option<u32>,
    /// Whom a sleep outside of storage waited for. Only long sleeps that another task ended are recorded.
    pub awaits: Option<Awaits>,
    /// When the request was sent whose answer it awaits, on the monotonic clock.
    pub asked_ns: Option<u64>,
    /// Of time off the CPU: the CPU on which it waited to run, as far as it was not moved.
    pub cpu: Option<u32>,
    /// The lock that it waited for: a number within the run.
    pub lock: Option<u32>,
    /// The thread that held the lock when the wait began; of a file's locks, the process. Of a stopped task, who
    /// stopped it.
    pub holder_tid: Option<u32>,
}

impl StallRecord {
    /// A record of that kind from `start_ns` to `end_ns`, with all else unknown.
    pub fn new(kind: StallKind, tid: u32, start_ns: u64, end_ns: u64) -> StallRecord {
        let duration_ns = end_ns.saturating_sub(start_ns);
        StallRecord {
            kind,
            tid,
            start_ns,
            duration_ns,
            busy_ns: duration_ns,
            count: 1,
            state: None,
            woken_ns: None,
            waker_tid: None,
            worker_tid: None,
            behind_tid: None,
            stack: None,
            waker_stack: None,
            request: None,
            tracepoint: None,
            detail: None,
            call: None,
            work: None,
            path: None,
            bytes: None,
            errno: None,
            call_start_ns: None,
            cpu_ns: None,
            run_delay_ns: None,
            flags: None,
            awaits: None,
            asked_ns: None,
            cpu: None,
            lock: None,
            holder_tid: None,
        }
    }

    /// End on the monotonic clock.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

/// A kernel stack, recorded once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackRecord {
    /// Number within the run.
    pub stack: u32,
    /// Function names, innermost first; an address where the name is unknown.
    pub frames: Vec<String>,
}

/// Number of requests of each kind, in the order of the letters, without zeros.
pub type KindCounts = Vec<(Kind, u32)>;

/// The parts of a request: flushes of the device's cache before and after its data, or a request of the disk beneath a
/// loop device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestParts {
    /// Since when a flush was at the device that its data waited for. Later stages of a request without data: see
    /// [`RequestRecord::issued_ns`].
    pub preflush_ns: Option<u64>,
    /// When its data had been transferred; after that it waited for a flush.
    pub data_ns: Option<u64>,
    /// Since when the flush after its data was at the device.
    pub postflush_ns: Option<u64>,
    /// The request of the disk beneath whose completion completed it: [`RequestRecord::request`].
    pub lower: Option<u32>,
    /// What failed at the device.
    pub failures: RequestFailures,
}

/// A completed block request that was slow or that a task waited for; with all requests recorded, any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// Number within the run.
    pub request: u32,
    /// The disk.
    pub device: DeviceNumber,
    /// First sector.
    pub sector: u64,
    /// Bytes that completed.
    pub bytes: u32,
    /// What it did; written in blktrace's letters.
    pub kind: Kind,
    /// The submitting thread; 0: unknown.
    pub tid: u32,
    /// Bios that were merged into it.
    pub merges: u32,
    /// When its first bio was submitted to the block layer: when its task left the CPU without a request for it,
    /// else when it got one. `None`, here and below, where that moment was not seen.
    pub queued_ns: Option<u64>,
    /// When it was allocated for the bio.
    pub got_ns: Option<u64>,
    /// When it was put into the I/O scheduler; `None` also where it went to the device at once.
    pub inserted_ns: Option<u64>,
    /// When it was last issued to the device.
    pub issued_ns: Option<u64>,
    /// When it completed; all on the monotonic clock.
    pub completed_ns: u64,
    /// Status of the completion as an errno; `None` for success.
    pub errno: Option<i32>,
    /// It was throttled by its cgroup before it reached the queue.
    pub throttled: bool,
    /// What it consists of, where that is known and more than one transfer.
    pub parts: Option<Box<RequestParts>>,
    /// Requests of the same device in the queue or at the device on its arrival. Known of slow requests only.
    pub in_flight: KindCounts,
    /// Lower bound of the requests of the same device that arrived after it and completed before it. Known of slow
    /// requests only.
    pub overtaken_by: KindCounts,
}

impl RequestRecord {
    /// The submitting thread, if known.
    pub fn submitter(&self) -> Option<u32> {
        Some(self.tid).filter(|tid| *tid != 0)
    }

    /// The moments of its lifecycle that were seen, without its completion.
    pub fn moments(&self) -> impl Iterator<Item = u64> + use<> {
        let parts = self.parts.as_deref();
        let moments = |parts: &RequestParts| {
            [parts.preflush_ns, parts.data_ns, parts.postflush_ns, parts.failures.first_issued_ns]
        };
        let flushes = parts.map(moments).unwrap_or_default();
        [self.queued_ns, self.got_ns, self.inserted_ns, self.issued_ns].into_iter().chain(flushes).flatten()
    }

    /// The first moment that was seen, its completion at the latest.
    pub fn began_ns(&self) -> u64 {
        self.moments().fold(self.completed_ns, u64::min)
    }

    /// From the first moment that was seen to its completion.
    pub fn lived_ns(&self) -> u64 {
        self.completed_ns - self.began_ns()
    }
}

/// All requests of one device and kind that completed within one interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestIntervalRecord {
    /// Interval's start on the monotonic clock.
    pub start_ns: u64,
    /// Interval's end on the monotonic clock.
    pub end_ns: u64,
    /// The disk.
    pub device: DeviceNumber,
    /// Their kind.
    pub kind: Kind,
    /// How many completed.
    pub count: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Time from the queue to the device (inserted to issued; none where they went to the device at once): buckets of
    /// [`request_bucket_floor_ns`], ascending, empty ones left out.
    pub queue: Vec<Bucket>,
    /// Time at the device (issued to completed), in the same buckets.
    pub device_time: Vec<Bucket>,
}

/// Parts that each power of two is divided into by the histograms that the kernel side keeps, as bits.
pub const REQUEST_BUCKET_BITS: u32 = 3;

/// Buckets of a request histogram: up to 2^40 ns (18 minutes), and one more for what is longer.
pub const REQUEST_BUCKETS: u32 = (41 - REQUEST_BUCKET_BITS) << REQUEST_BUCKET_BITS;

/// The bucket that a duration falls into: 8 buckets for each power of two, thus 12.5 % wide at most.
pub const fn request_bucket(ns: u64) -> u32 {
    if ns < 1 << REQUEST_BUCKET_BITS {
        return ns as u32;
    }
    let shift = ns.ilog2() - REQUEST_BUCKET_BITS;
    let index = (shift << REQUEST_BUCKET_BITS) + (ns >> shift) as u32;
    if index < REQUEST_BUCKETS { index } else { REQUEST_BUCKETS - 1 }
}

/// The shortest duration of a bucket.
pub const fn request_bucket_floor_ns(index: u32) -> u64 {
    let parts = 1 << REQUEST_BUCKET_BITS;
    if index < 2 * parts {
        return index as u64;
    }
    let shift = (index >> REQUEST_BUCKET_BITS) - 1;
    ((parts + (index & (parts - 1))) as u64) << shift
}

/// How a run was traced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSettings {
    /// System calls and requests of at least this duration are recorded.
    pub slow_ns: u64,
    /// Waits of at least this duration are recorded individually; shorter ones as sums.
    pub interval_ns: u64,
    /// Every block request is recorded.
    pub all_requests: bool,
}

#[cfg(test)]
mod tests {
    use super::{REQUEST_BUCKETS, request_bucket, request_bucket_floor_ns};

    #[test]
    fn each_bucket_begins_where_the_one_before_ends() {
        for index in 0..REQUEST_BUCKETS {
            let floor_ns = request_bucket_floor_ns(index);
            assert_eq!(request_bucket(floor_ns), index);
            assert!(index == 0 || request_bucket(floor_ns - 1) == index - 1);
        }
        assert_eq!(request_bucket(u64::MAX), REQUEST_BUCKETS - 1);
        assert_eq!(request_bucket_floor_ns(REQUEST_BUCKETS - 1) >> 36, 15);
    }
}
