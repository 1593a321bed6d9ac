//! Waits for other tasks: which of them are stalls, and which are idle.

use std::collections::HashMap;

use model::stall::Awaits;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::graph::segment::{NO_ROW, Segment};
use crate::blame::intents::locks::idle_turns::IdleTurns;
use crate::blame::intents::requests::asking_children;
use crate::blame::intents::requests::equal_waits::{self, EqualWaits, Known};
use crate::blame::operations::Operation;
use crate::blame::rule::{Example, Rule};
use crate::blame::timeline::timelines::{Built, TaskTimelines};

pub(crate) const RULE: Rule = Rule {
    id: "idle-unless-something-was-slow",
    concludes: "A wait for another task is a stall only if something was slow meanwhile: for a quarter of the time \
                where a client waited for its answer, for half \
                elsewhere.",
    from: "What the task that ended the wait did and waited for in that time.",
    because: "Nearly all sleeps of a server are for its next request. An idle server waits for nothing that is slow; \
              what a thread does before it wakes another \
              one may be for itself.",
    unless: "Waits for locks always count. The recorded command waited for a sleeping server all the same.",
    example: Example {
        timeline: "
            off 7 | sssssssss      | call=futex stack=futex_do_wait awaits=for_client waker=9 asked=1
            off 9 |sss             | stack=xfs_log_force",
        causes: "",
        chain: "",
    },
};

/// Drops those in which nothing was slow. A client waits for its server, unless that was idle: it ran or was stalled
/// for at least a quarter of the time. One that slept on a timer is nobody's stall, but the recorded command waited for
/// it all the same, as for a reader that is busy or sleeps. What a thread does before it wakes another one may be for
/// itself: only where it was stalled for at least half of the time did the other one wait for it. A worker that waits
/// for its turn to wait for a request is idle. `built`: timelines that [`drop_idle_but_equal`] returned.
pub(crate) fn drop_idle(index: &RunIndex, operations: &mut Vec<Operation>, built: Built) {
    let mut known = known_of(index, operations, built).0.into_iter();
    operations.retain(|_| matches!(known.next(), Some(Known::Stall | Known::Asked)));
}

/// The same, but waits of the recorded command for one server are alike: those that are as long as others which are
/// stalls stay. Returns the timelines that it built, by rows alone.
pub(crate) fn drop_idle_but_equal(index: &RunIndex, operations: &mut Vec<Operation>) -> Built {
    let (known, built) = known_of(index, operations, Built::default());
    let equal = EqualWaits::new(index, operations.iter().zip(known.iter().copied()));
    let mut known = known.into_iter();
    operations.retain_mut(|one| match known.next() {
        Some(Known::Stall) => true,
        Some(Known::Asked) => {
            one.known_by = Some(&asking_children::RULE);
            true
        }
        // Who asks about a client wants to know of its long requests, whatever its server did. The recorded command's
        // are listed among its sleeps.
        Some(Known::Unknown) => {
            one.known_by = equal.are_known(index, one).then_some(&equal_waits::RULE);
            one.known_by.is_some() || !index.of_command.contains(&one.tid)
        }
        _ => false,
    });
    built
}

fn known_of(index: &RunIndex, operations: &[Operation], built: Built) -> (Vec<Known>, Built) {
    let (covered, silent) = (HashMap::new(), HashMap::new());
    let mut timelines = TaskTimelines::new(index, &covered, &silent).with(built);
    let idle_turns = IdleTurns::new(index);
    let known = |one: &Operation| if idle_turns.has(one) { Known::Idle } else { known(index, one, &mut timelines) };
    let known = operations.iter().map(known).collect();
    (known, timelines.into_built())
}

fn known(index: &RunIndex, operation: &Operation, timelines: &mut TaskTimelines) -> Known {
    let awaits = operation.awaits.filter(|awaits| *awaits != Awaits::Lock && index.applies(&RULE));
    let Some(awaits) = awaits else { return Known::Stall };
    let is_of_subject = operation.is_of_subject(index);
    let timeline = timelines.of(operation);
    let counts = |segment: &Segment| match segment.cause {
        Cause::Unexplained => false,
        // Its own stop makes no operation slow, that of the task that it waits for does.
        Cause::Stopped => segment.by != NO_ROW && index.row(segment.by).tid != operation.tid,
        Cause::Running | Cause::CpuWait => awaits == Awaits::Answer || (awaits == Awaits::Room && is_of_subject),
        Cause::Sleep => is_of_subject && matches!(awaits, Awaits::Answer | Awaits::Room | Awaits::Child),
        _ => segment.by != NO_ROW || !index.awaits_task(index.row(segment.off)) || is_lock(index, segment),
    };
    let segments = timeline.between(operation.start_ns, operation.end_ns).filter(counts);
    let least_ns = operation.ns() / if awaits == Awaits::Answer { 4 } else { 2 };
    let (slow_ns, asleep_ns) = segments.fold((0u64, 0u64), |(slow_ns, asleep_ns), segment| match segment.cause {
        Cause::Sleep if awaits == Awaits::Child => (slow_ns, asleep_ns + segment.ns()),
        _ => (slow_ns + segment.ns(), asleep_ns),
    });
    // The children of the recorded command are asked about themselves.
    let is_known = || slow_ns + asleep_ns >= least_ns || !index.of_command.contains(&operation.tid);
    let of_child = is_of_subject && awaits == Awaits::Child;
    match slow_ns >= least_ns {
        true => Known::Stall,
        false if of_child && is_known() && asking_children::asks(index, operation) => Known::Asked,
        false if is_of_subject && awaits == Awaits::Answer => Known::Unknown,
        false => Known::Idle,
    }
}

fn is_lock(index: &RunIndex, segment: &Segment) -> bool {
    index.awaits(index.row(segment.off)) == Some(Awaits::Lock)
}
