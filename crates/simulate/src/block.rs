//! A small discrete-event block layer that generates a trace and the ground truth for it.
//!
//! Tasks queue bios in batches, under a plug. Bios are split, merged at the back and front, and allocated requests.
//! Requests are inserted into a scheduler or issued directly, are requeued and reissued, and complete in parts. Flushes
//! and durable writes go through a flush machine like the kernel's. Partitions and a stacked device remap. Each step
//! takes its own time, so the steps of many CPUs interleave as on a real machine. The same seed gives the same trace.
//!
//! [`damage`] drops events or steps the clock afterwards.

pub mod damage;
mod device;
mod engine;
mod flush;
mod task;
mod task_plan;
mod task_steps;
mod true_bio;
mod workload;

use model::block::BlockEvent;

pub use true_bio::TrueBio;
pub use workload::Workload;

/// Runs the simulation. Calls `event` for each event in time order, and `bio` for each bio when it completes. No two
/// events have the same time.
pub fn simulate(workload: &Workload, event: impl FnMut(&BlockEvent), bio: impl FnMut(&TrueBio)) {
    engine::Engine::new(workload.clone(), event, bio).run();
}

/// Simulates, and collects events and bios in memory.
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
