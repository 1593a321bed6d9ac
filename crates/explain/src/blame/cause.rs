//! What time is lost to, and how that is known.

/// What a task waited for, or did. The names are part of the JSON contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cause {
    /// It freed memory itself before it got any.
    DirectReclaim,
    /// Reclaim made it pause, because too much was under way already.
    ReclaimThrottle,
    /// It shrank caches (inodes, dentries, a file system's own) to get memory.
    Shrinker,
    /// It moved pages about to get a large piece of memory.
    Compaction,
    /// It was made to pause because too much of the page cache is dirty.
    DirtyThrottle,
    /// It waited for pages to be written that nobody had given to the disk yet.
    WritebackWait,
    /// It waited for the journal (jbd2): a commit, a handle, space.
    Journal,
    /// It waited for the log of XFS: a log force, space.
    FsLog,
    /// It waited for a transaction, a reservation or the background work of a file system without such a log.
    FsTransaction,
    /// Its I/O waited for a request to become free, or to be let go by who collected it.
    RequestWait,
    /// Its request waited in the I/O scheduler.
    SchedulerQueue,
    /// A limit of its cgroup held its I/O back.
    IoThrottle,
    /// The device worked on its request.
    Device,
    /// The file system was frozen.
    Frozen,
    /// It waited for a lock that another task held.
    Lock,
    /// It could have run, and had no CPU.
    CpuWait,
    /// A page of a mapped file had to be read.
    PageFault,
    /// A page had to be read back from swap.
    Swap,
    /// It waited for completions of io_uring or aio, which others work on.
    IoWorker,
    /// It waited for a server.
    NetworkFs,
    /// It was on a CPU.
    Running,
    /// Nothing tells.
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

    /// Whether it is a cause proper: neither running nor unexplained.
    pub const fn is_wait(self) -> bool {
        !matches!(self, Cause::Running | Cause::Unexplained)
    }
}

/// How a share of time got its cause, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Evidence {
    /// The kernel said so at the time: tracepoints, the scheduler, the life of the request that ended the wait.
    Event,
    /// The functions that the task slept in say so.
    Stack,
    /// Sums of short waits that fell into the same time say so.
    Correlation,
    /// Nothing does.
    None,
}

impl Evidence {
    /// All of them.
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

    /// Time in all, ns.
    pub fn total_ns(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The evidence that most of the time has.
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

    /// What came since an earlier state of the same sums.
    pub(super) fn minus(&self, earlier: &Sums) -> Sums {
        let mut since = *self;
        for (mine, theirs) in since.0.iter_mut().zip(&earlier.0) {
            mine.0.iter_mut().zip(theirs.0).for_each(|(mine, theirs)| *mine -= theirs);
        }
        since
    }

    pub(super) fn total_ns(&self) -> u64 {
        self.0.iter().map(EvidenceTimes::total_ns).sum()
    }

    /// The cause with the most time, of several the first in their order; `None` where there is no time.
    pub(super) fn largest(&self) -> Option<Cause> {
        let most = Cause::ALL.into_iter().rev().max_by_key(|&cause| self.of(cause).total_ns())?;
        (self.of(most).total_ns() > 0).then_some(most)
    }

    /// All that is not zero.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Cause, Evidence, u64)> + '_ {
        Cause::ALL
            .into_iter()
            .flat_map(move |cause| {
                Evidence::ALL.into_iter().map(move |evidence| (cause, evidence, self.of(cause).of(evidence)))
            })
            .filter(|(.., ns)| *ns > 0)
    }
}
