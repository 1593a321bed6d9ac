//! A small discrete-event block layer that writes a trace and, beside it, the truth.
//!
//! Tasks queue bios in batches, under a plug; bios are split, merged at the back and front, get requests; requests are
//! inserted into a scheduler or issued directly, are given back and issued again, complete in parts; flushes and
//! durable writes go through a flush machine like the kernel's; partitions and a stacked device remap. Every step takes
//! its own time, so that the steps of many CPUs interleave as they do in life. The same seed gives the same trace.
//!
//! [`damage`] then takes events away or moves the clock.

pub mod damage;
mod device;
mod engine;
mod flush;

mod task;

use model::block::{BlockEvent, DeviceNumber, Kind};

use crate::random::Random;

/// What to simulate. The chances are in 1/1000.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Seed of all choices.
    pub seed: u64,
    /// Bios to queue, before splitting; those that the stacked device sends on are not counted.
    pub bios: u64,
    /// Tasks that do I/O, each on its own CPU modulo `cpus`.
    pub tasks: u32,
    /// CPUs.
    pub cpus: u32,
    /// Disks.
    pub disks: u32,
    /// Requests that a disk works on at once.
    pub depth: u32,
    /// Mean time that a disk works on a request.
    pub service_ns: u64,
    /// Mean time between two batches of a task.
    pub think_ns: u64,
    /// Longest request, in sectors; longer bios are split.
    pub max_sectors: u32,
    /// Chance that a bio is long enough to be split.
    pub split: u64,
    /// Chance that a batch is contiguous, so that its bios merge.
    pub contiguous: u64,
    /// Chance that the driver gives a request back.
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

/// A bio as it really was: a split one once per piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrueBio {
    /// Device.
    pub device: DeviceNumber,
    /// Kind.
    pub kind: Kind,
    /// First sector.
    pub sector: u64,
    /// Length in sectors.
    pub sectors: u32,
    /// Thread.
    pub pid: u32,
    /// Cgroup; 0 is none.
    pub cgroup: u64,
    /// When it was queued.
    pub queued_ns: u64,
    /// When it completed.
    pub completed_ns: u64,
    /// Queued to request, of bios that got one.
    pub q2g_ns: Option<u64>,
    /// Request to first insertion.
    pub g2i_ns: Option<u64>,
    /// Request to last issue, of requests that were never inserted.
    pub g2d_ns: Option<u64>,
    /// Queued to merged.
    pub q2m_ns: Option<u64>,
    /// First insertion to last issue.
    pub i2d_ns: Option<u64>,
    /// Merged to last issue.
    pub m2d_ns: Option<u64>,
    /// Last issue to completion.
    pub d2c_ns: Option<u64>,
    /// Queued to sent on.
    pub q2a_ns: Option<u64>,
    /// Sent on to completion.
    pub a2c_ns: Option<u64>,
}

/// Simulates, telling `event` of each event in order of time, and `bio` of each bio when it completes. Times of events
/// are all different.
pub fn simulate(workload: &Workload, event: impl FnMut(&BlockEvent), bio: impl FnMut(&TrueBio)) {
    engine::Engine::new(workload.clone(), event, bio).run();
}

/// Simulates into memory.
pub fn trace_and_truth(workload: &Workload) -> (Vec<BlockEvent>, Vec<TrueBio>) {
    let (mut events, mut bios) = (Vec::new(), Vec::new());
    simulate(workload, |event| events.push(*event), |bio| bios.push(*bio));
    (events, bios)
}

/// Names of the simulated threads.
pub fn process_name(pid: u32) -> String {
    format!("task-{pid}")
}

#[cfg(test)]
mod tests {
    use model::block::Action;

    use super::{Workload, trace_and_truth};

    #[test]
    fn everything_occurs_and_times_ascend() {
        let (events, bios) = trace_and_truth(&Workload::default());
        assert!(events.windows(2).all(|two| two[0].time_ns < two[1].time_ns));
        for action in [
            Action::Queue,
            Action::BackMerge,
            Action::FrontMerge,
            Action::GetRequest,
            Action::Requeue,
            Action::Issue,
            Action::Complete,
            Action::Plug,
            Action::Unplug,
            Action::Insert,
            Action::Split,
            Action::Remap,
        ] {
            assert!(events.iter().any(|event| event.action == action), "{action:?}");
        }
        let queued = events.iter().filter(|event| event.action == Action::Queue).count();
        let split = events.iter().filter(|event| event.action == Action::Split).count();
        assert_eq!(bios.len(), queued + split, "every bio and piece completes");
    }

    #[test]
    fn the_truth_adds_up() {
        for bio in trace_and_truth(&Workload::default()).1 {
            let parts = [
                bio.q2g_ns, bio.g2i_ns, bio.g2d_ns, bio.q2m_ns, bio.i2d_ns, bio.m2d_ns, bio.d2c_ns, bio.q2a_ns,
                bio.a2c_ns,
            ];
            let sum: u64 = parts.iter().flatten().sum();
            assert_eq!(sum, bio.completed_ns - bio.queued_ns, "{bio:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_trace() {
        let workload = Workload { bios: 500, ..Workload::default() };
        assert_eq!(trace_and_truth(&workload), trace_and_truth(&workload));
        assert_ne!(trace_and_truth(&workload), trace_and_truth(&Workload { seed: 2, ..workload }));
    }
}
