//! What happened to a run as a whole: phases, losses, clock steps. Stored in the journal.

use serde::{Deserialize, Serialize};

use crate::damage::Damage;
use crate::preflight::Finding;
use crate::simulation::Course;
use crate::trial::{TrialPeriod, TrialPlan};

/// Name of the phase that warms up the machine before the measured ones.
pub const WARMUP_PHASE: &str = "warmup";

/// An event that a reader must know to interpret the rest of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// A phase of the load began (`fill`, `warmup`, `run`, ...).
    PhaseStarted {
        /// The recipe's name for it.
        phase: String,
        /// Whether its operations count in the run's figures (a warm-up's do not).
        measured: bool,
        /// Start on the monotonic clock.
        at_ns: u64,
    },
    /// A phase of the load ended.
    PhaseEnded {
        /// The recipe's name for it.
        phase: String,
        /// End on the monotonic clock.
        at_ns: u64,
        /// Bytes that the phase's operations moved.
        bytes: u64,
    },
    /// When each thread of a phase's job began and ended, recorded at the phase's end.
    #[serde(alias = "crew")]
    JobThreads {
        /// The recipe's name for the phase.
        phase: String,
        /// The phase's end on the monotonic clock.
        at_ns: u64,
        /// The threads that had ended, in the order of the plan.
        members: Vec<Member>,
    },
    /// Planned samples that were not taken, because the sampler could not run.
    Gap {
        /// Planned moment of the first missing sample.
        from_ns: u64,
        /// Moment of the next sample that was taken.
        to_ns: u64,
        /// How many are missing.
        samples: u32,
    },
    /// A sample began late by more than a tenth of its interval.
    LateSample {
        /// Which sample.
        sample: u32,
        /// By how much.
        late_ns: u64,
    },
    /// The wall clock moved against the monotonic clock.
    ClockStep {
        /// When it was noticed, on the monotonic clock.
        at_ns: u64,
        /// Positive: the wall clock jumped ahead.
        by_ns: i64,
    },
    /// A source produced more than could be stored.
    Loss {
        /// What was lost: `slow operations`, `failed operations`, ...
        what: String,
        /// How many.
        count: u64,
        /// When it was noticed, on the monotonic clock.
        at_ns: u64,
    },
    /// The cost of tracing since the previous event, or the run's begin.
    TraceCost {
        /// When, on the monotonic clock.
        at_ns: u64,
        /// Events taken from the kernel.
        events: u64,
        /// CPU time of the thread that took them.
        consumer_cpu_ns: u64,
        /// CPU time of the programs in the kernel, on all CPUs: measured for `measured_ns` and scaled up. `None` where
        /// the kernel does not report it.
        programs_cpu_ns: Option<u64>,
        /// For how long the programs' time was measured.
        measured_ns: u64,
    },
    /// A source of the tracer whose kernel module was loaded after the run's begin: attached then, or why it could not
    /// be.
    Source {
        /// When, on the monotonic clock.
        at_ns: u64,
        /// The source.
        finding: Finding,
    },
    /// A table of the archive is no longer written, which leaves space for the more important ones.
    TableDropped {
        /// The table.
        table: String,
        /// Why: `disk full: ...`, `size limit: ...`.
        why: String,
        /// When, on the monotonic clock.
        at_ns: u64,
    },
    /// A part of what the run was joined from could not be read.
    Damaged {
        /// The part.
        damage: Damage,
    },
    /// A remark for the user, without a specific kind (the load was killed, a sampler failed).
    Note {
        /// When, on the monotonic clock.
        at_ns: u64,
        /// In one sentence.
        text: String,
    },
    /// A figure that a recorded command printed.
    Figure {
        /// When its value was known, on the monotonic clock.
        at_ns: u64,
        /// The user's name for it.
        name: String,
        /// The value as printed.
        value: f64,
    },
    /// A trial of a change began.
    TrialBegan {
        /// When, on the monotonic clock.
        at_ns: u64,
        /// What is planned.
        plan: TrialPlan,
    },
    /// A period of a trial ended; one that was cut short has no event.
    TrialPeriod {
        /// The period.
        period: TrialPeriod,
    },
    /// How a simulation went; recorded at its end. Absent from runs on a machine.
    Simulated {
        /// The last moment, on the model's clock.
        at_ns: u64,
        /// All of it.
        course: Course,
    },
    /// The run ended in an orderly way. A run without this event was cut off.
    Ended {
        /// When, on the monotonic clock.
        at_ns: u64,
        /// How: `done`, `interrupted`, `load died`, `archive full`, ...
        how: Ending,
    },
}

/// A thread that did its share of a phase, from a start common to all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Member {
    /// The recipe's name for the actor.
    pub actor: String,
    /// Which of the actor's threads.
    pub ordinal: u64,
    /// Kernel thread id.
    pub tid: u32,
    /// Start on the monotonic clock.
    pub start_ns: u64,
    /// End on the monotonic clock.
    pub end_ns: u64,
    /// Things done: what they are depends on the workload (files, blocks, mails).
    pub items: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time spent in operations; the rest is the load's overhead.
    pub busy_ns: u64,
    /// CPU time of the thread, if known.
    #[serde(default)]
    pub cpu_ns: Option<u64>,
    /// How much of the file system of its directory was not available to users when it ended, in millionths; `None`
    /// where unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_ppm: Option<u32>,
    /// When it had opened its file, and when it began to close it; `None` where the job opens more than one, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_ns: Option<u64>,
    /// See `opened_ns`. What it syncs before is within.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing_ns: Option<u64>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// As planned.
    Done,
    /// By Ctrl-C or SIGTERM.
    Interrupted,
    /// The load process died (killed, out of memory in its cgroup).
    LoadDied,
    /// The archive's disk was full.
    ArchiveFull,
    /// The load could not continue (its disk failed or was full at the start).
    LoadFailed,
}

#[cfg(test)]
mod tests {
    use super::RunEvent;

    #[test]
    fn older_archives_call_the_threads_of_a_job_a_crew() {
        let older = r#"{"event":"crew","phase":"write","at_ns":5,"members":[]}"#;
        let event: RunEvent = serde_json::from_str(older).unwrap();
        assert_eq!(event, RunEvent::JobThreads { phase: "write".into(), at_ns: 5, members: Vec::new() });
        assert!(serde_json::to_string(&event).unwrap().contains("job_threads"));
    }
}
