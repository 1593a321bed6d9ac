//! What a simulated block trace contains.

/// What to simulate. The chances are in 1/1000.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Seed of all choices.
    pub seed: u64,
    /// Bios to queue, before splitting; those remapped by the stacked device are not counted.
    pub bios: u64,
    /// Tasks that do I/O, each on its own CPU modulo `cpus`.
    pub tasks: u32,
    /// CPUs.
    pub cpus: u32,
    /// Disks.
    pub disks: u32,
    /// Requests that a disk serves at once.
    pub depth: u32,
    /// Mean service time of a request.
    pub service_ns: u64,
    /// Mean time between two batches of a task.
    pub think_ns: u64,
    /// Longest request, in sectors; longer bios are split.
    pub max_sectors: u32,
    /// Chance that a bio is long enough to be split.
    pub split: u64,
    /// Chance that a batch is contiguous, so that its bios merge.
    pub contiguous: u64,
    /// Chance that the driver requeues a request.
    pub requeue: u64,
    /// Chance that a request completes in two parts.
    pub partial: u64,
    /// Chance that a batch is a flush without data.
    pub flush: u64,
    /// Chance that a batch is a durable write.
    pub durable: u64,
    /// Chance that a bio comes through a partition.
    pub partition: u64,
    /// Chance that a batch goes to a device stacked on the first disk.
    pub stacked: u64,
    /// Chance that a bio is a read.
    pub reads: u64,
    /// Chance that a disk has a scheduler; without one, requests are issued directly where the disk has room.
    pub scheduler: u64,
    /// Chance that a scheduler lets reads pass.
    pub reads_first: u64,
    /// Cgroups; 0: the trace names none.
    pub cgroups: u64,
    /// Time of the first event.
    pub start_ns: u64,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            seed: 1,
            bios: 10_000,
            tasks: 8,
            cpus: 4,
            disks: 2,
            depth: 16,
            service_ns: 80_000,
            think_ns: 300_000,
            max_sectors: 1024,
            split: 20,
            contiguous: 300,
            requeue: 10,
            partial: 10,
            flush: 20,
            durable: 20,
            partition: 200,
            stacked: 50,
            reads: 600,
            scheduler: 700,
            reads_first: 500,
            cgroups: 3,
            start_ns: 1_000_000_000,
        }
    }
}
