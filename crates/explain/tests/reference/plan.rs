//! What the tasks of a small world do, as a shrinkable strategy. A plan has no times of waits: the simulation gives
//! them.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::clock::Clock;

/// Something that tasks wait for each other with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// A lock of the kernel, whose contention is traced: the waiter notes the owner.
    KernelLock,
    /// The same, but it is free until the waiter runs that is woken, and who runs by then may take it.
    UnfairLock,
    /// A mutex of user space: only who woke the waiter is known.
    UserLock,
    /// A server with one thread, which takes up one request after the other.
    Server,
    /// The journal of a file system: its thread commits for one task after the other. Whatever the thread does, they
    /// wait for the journal.
    Journal,
}

impl Resource {
    pub(crate) fn is_kernel_lock(self) -> bool {
        matches!(self, Resource::KernelLock | Resource::UnfairLock)
    }
}

/// Ticks of a disk request before it is put into the I/O scheduler, there, and at the device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stages {
    pub(crate) before: u64,
    pub(crate) queue: u64,
    pub(crate) device: u64,
    /// The first part is spent in the throttle of a cgroup.
    pub(crate) throttled: bool,
}

/// What a task does next. `late` is for how many ticks it waits for a CPU once it is woken.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Run(u64),
    Preempted(u64),
    Disk {
        stages: Stages,
        late: u64,
    },
    Log {
        journal: bool,
        ticks: u64,
        late: u64,
    },
    /// With a lock, or by a server on behalf of the task.
    With {
        resource: usize,
        late: u64,
        inner: Vec<Act>,
    },
}

/// Whose waits are explained, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The operations of a load: each act is one.
    Load,
    /// Any program: its system calls, and its waits for other tasks.
    Anyone,
    /// The same of the recorded command.
    Command,
}

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) clock: Clock,
    pub(crate) subject: Subject,
    pub(crate) resources: Vec<Resource>,
    /// For each task, when it begins and its acts.
    pub(crate) tasks: Vec<(u64, Vec<Act>)>,
}

fn late() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0), 1 => 1..4_u64]
}

fn stages() -> impl Strategy<Value = Stages> {
    let times = (prop_oneof![Just(0), 1..8_u64], prop_oneof![Just(0), 1..8_u64], 1..12_u64, any::<bool>());
    times.prop_map(|(before, queue, device, throttled)| Stages { before, queue, device, throttled })
}

fn simple() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => (1..10_u64).prop_map(Act::Run),
        1 => (1..6_u64).prop_map(Act::Preempted),
        3 => (stages(), late()).prop_map(|(stages, late)| Act::Disk { stages, late }),
        2 => (any::<bool>(), 1..15_u64, late()).prop_map(|(journal, ticks, late)| Act::Log { journal, ticks, late }),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let with = |inner: BoxedStrategy<Act>| {
        (0..4_usize, late(), vec(inner, 1..4)).prop_map(|(resource, late, inner)| Act::With { resource, late, inner })
    };
    simple().prop_recursive(3, 24, 3, move |inner| prop_oneof![1 => simple(), 3 => with(inner)])
}

fn resource() -> impl Strategy<Value = Resource> {
    use Resource::{Journal, KernelLock, Server, UnfairLock, UserLock};
    proptest::sample::select(vec![KernelLock, UnfairLock, UserLock, Server, Journal])
}

fn subject() -> impl Strategy<Value = Subject> {
    proptest::sample::select(vec![Subject::Load, Subject::Anyone, Subject::Command])
}

pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let tasks = vec((0..12_u64, vec(act(), 1..5)), 1..6);
    (any::<bool>(), subject(), vec(resource(), 1..4), tasks).prop_map(|(is_fast, subject, resources, tasks)| {
        let clock = if is_fast { Clock::FAST } else { Clock::SLOW };
        Plan { clock, subject, resources, tasks }
    })
}
