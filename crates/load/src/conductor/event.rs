//! The start parameters of a load, and the events that it emits.

use std::ffi::OsString;
use std::path::PathBuf;

use model::event::Member;
use model::operation::{IntervalRecord, OperationRecord};

use crate::recipe::PhaseKind;

/// How to start the load process.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The executable: usually the program's own (`/proc/self/exe`).
    pub executable: PathBuf,
    /// Arguments that make it call [`crate::process::main`] with the remaining ones.
    pub arguments: Vec<OsString>,
    /// `cgroup.procs` files into which the process writes itself before it does anything else.
    pub cgroup_procs: Vec<PathBuf>,
}

/// An event of the load.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadEvent {
    /// A phase began.
    PhaseStarted {
        /// Its name in the recipe.
        phase: String,
        /// What it is for.
        kind: PhaseKind,
        /// Whether it is measured.
        measured: bool,
        /// When.
        at_ns: u64,
    },
    /// A phase ended.
    PhaseEnded {
        /// Its name in the recipe.
        phase: String,
        /// When.
        at_ns: u64,
        /// Bytes that its operations moved, or that the fill wrote.
        bytes: u64,
    },
    /// Start and end of each thread with a job, at the end of a phase with such threads.
    JobThreads {
        /// The phase's name in the recipe.
        phase: String,
        /// The phase's end.
        at_ns: u64,
        /// The threads that had ended.
        members: Vec<Member>,
    },
    /// Progress of the fill, at each poll during it.
    Progress {
        /// Bytes written.
        done_bytes: u64,
        /// Bytes to write; 0 until that is known.
        total_bytes: u64,
    },
    /// The fill reused directories that were complete from an earlier run.
    Reused {
        /// How many.
        directories: u64,
    },
    /// Operations that ended in one interval, one record per class.
    Interval(Vec<IntervalRecord>),
    /// Slow and failed operations as they end; stuck ones at each interval's end.
    Operations(Vec<OperationRecord>),
    /// Slow or failed operations that did not fit into the ring.
    Lost {
        /// How many.
        count: u64,
    },
    /// The load process ended as requested. The last event.
    Finished,
    /// The load process ended unexpectedly. The last event.
    Died {
        /// The signal that killed it.
        signal: Option<i32>,
        /// Its exit code, if it exited.
        code: Option<i32>,
        /// Why, in one sentence: its message if it left one.
        message: String,
    },
}
