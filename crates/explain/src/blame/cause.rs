//! The causes of lost time, and the evidence for each.

/// What a task waited for, or did. The names are part of the JSON contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cause {
    /// The task reclaimed memory itself before an allocation succeeded.
    DirectReclaim,
    /// Reclaim throttled it, because too much reclaim or writeback was in flight.
    ReclaimThrottle,
    /// It ran slab shrinkers (inodes, dentries, file-system caches) to get memory.
    Shrinker,
    /// It compacted memory for a high-order allocation.
    Compaction,
    /// It was throttled because too much of the page cache is dirty.
    DirtyThrottle,
    /// It waited for dirty pages that were not yet submitted to the disk.
    WritebackWait,
    /// It waited for the jbd2 journal: a commit, a handle, space.
    Journal,
    /// It waited for the XFS log: a log force, space.
    FsLog,
    /// It waited for a transaction, a reservation or background work of a file system without such a log.
    FsTransaction,
    /// Its I/O waited for a request (tag), or in a plug.
    RequestWait,
    /// Its request waited in the I/O scheduler.
    SchedulerQueue,
    /// Its I/O was throttled by its cgroup.
    IoThrottle,
    /// The device processed its request.
    Device,
    /// The file system was frozen.
    Frozen,
    /// It waited for a lock held by another task.
    Lock,
    /// It was runnable and waited on the run queue.
    CpuWait,
    /// A page of a mapped file had to be read.
    PageFault,
    /// A page had to be read from swap.
    Swap,
    /// It waited for io_uring or aio completions, which other tasks produce.
    IoWorker,
    /// It waited for a file server.
    NetworkFs,
    /// It was on a CPU.
    Running,
    /// There is no evidence.
    Unexplained,
}

impl Cause {
    /// All causes.
    pub const ALL: [Cause; 22] = [
        Cause::DirectReclaim,
        Cause::ReclaimThrottle,
        Cause::Shrinker,
        Cause::Compaction,
        Cause::DirtyThrottle,
        Cause::WritebackWait,
        Cause::Journal,
        Cause::FsLog,
        Cause::FsTransaction,
        Cause::RequestWait,
        Cause::SchedulerQueue,
        Cause::IoThrottle,
        Cause::Device,
        Cause::Frozen,
        Cause::Lock,
        Cause::CpuWait,
        Cause::PageFault,
        Cause::Swap,
        Cause::IoWorker,
        Cause::NetworkFs,
        Cause::Running,
        Cause::Unexplained,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::DirectReclaim => "direct_reclaim",
            Cause::ReclaimThrottle => "reclaim_throttle",
            Cause::Shrinker => "shrinker",
            Cause::Compaction => "compaction",
            Cause::DirtyThrottle => "dirty_throttle",
            Cause::WritebackWait => "writeback_wait",
            Cause::Journal => "journal",
            Cause::FsLog => "fs_log",
            Cause::FsTransaction => "fs_transaction",
            Cause::RequestWait => "request_wait",
            Cause::SchedulerQueue => "scheduler_queue",
            Cause::IoThrottle => "io_throttle",
            Cause::Device => "device",
            Cause::Frozen => "frozen",
            Cause::Lock => "lock",
            Cause::CpuWait => "cpu_wait",
            Cause::PageFault => "page_fault",
            Cause::Swap => "swap",
            Cause::IoWorker => "io_worker",
            Cause::NetworkFs => "network_fs",
            Cause::Running => "running",
            Cause::Unexplained => "unexplained",
        }
    }

    /// Whether it is a wait: neither running nor unexplained.
    pub const fn is_wait(self) -> bool {
        !matches!(self, Cause::Running | Cause::Unexplained)
    }
}

/// How a time got its cause, the best evidence first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Evidence {
    /// The kernel recorded it at the time: tracepoints, the scheduler, the lifecycle of the request that ended the wait.
    Event,
    /// The kernel stack of the sleep.
    Stack,
    /// Sums of short waits in the same time.
    Correlation,
    /// No evidence.
    None,
}

impl Evidence {
    /// All kinds of evidence.
    pub const ALL: [Evidence; 4] = [Evidence::Event, Evidence::Stack, Evidence::Correlation, Evidence::None];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Evidence::Event => "event",
            Evidence::Stack => "stack",
            Evidence::Correlation => "correlation",
            Evidence::None => "none",
        }
    }
}

/// Time by evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EvidenceTimes([u64; Evidence::ALL.len()]);

impl EvidenceTimes {
    /// Time with that evidence, ns.
    pub fn of(&self, evidence: Evidence) -> u64 {
        self.0[evidence as usize]
    }

    /// Total time, ns.
    pub fn total_ns(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The evidence for most of the time.
    pub fn main(&self) -> Evidence {
        let most = Evidence::ALL.into_iter().rev().max_by_key(|&evidence| self.of(evidence));
        most.unwrap_or(Evidence::None)
    }

    pub(super) fn add(&mut self, evidence: Evidence, ns: u64) {
        self.0[evidence as usize] += ns;
    }
}

/// Time by cause and evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sums([EvidenceTimes; Cause::ALL.len()]);

impl Sums {
    pub(super) const ZERO: Sums = Sums([EvidenceTimes([0; Evidence::ALL.len()]); Cause::ALL.len()]);

    pub(super) fn add(&mut self, cause: Cause, evidence: Evidence, ns: u64) {
        self.0[cause as usize].add(evidence, ns);
    }

    pub(super) fn of(&self, cause: Cause) -> &EvidenceTimes {
        &self.0[cause as usize]
    }

    /// The difference to an earlier state of the same sums.
    pub(super) fn minus(&self, earlier: &Sums) -> Sums {
        let mut since = *self;
        for (later, earlier) in since.0.iter_mut().zip(&earlier.0) {
            later.0.iter_mut().zip(earlier.0).for_each(|(later, earlier)| *later -= earlier);
        }
        since
    }

    pub(super) fn total_ns(&self) -> u64 {
        self.0.iter().map(EvidenceTimes::total_ns).sum()
    }

    /// The cause with the most time, the first of equal ones; `None` without any time.
    pub(super) fn largest(&self) -> Option<Cause> {
        let most = Cause::ALL.into_iter().rev().max_by_key(|&cause| self.of(cause).total_ns())?;
        (self.of(most).total_ns() > 0).then_some(most)
    }

    /// All parts that are not zero.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Cause, Evidence, u64)> + '_ {
        Cause::ALL
            .into_iter()
            .flat_map(move |cause| {
                Evidence::ALL.into_iter().map(move |evidence| (cause, evidence, self.of(cause).of(evidence)))
            })
            .filter(|(.., ns)| *ns > 0)
    }
}
