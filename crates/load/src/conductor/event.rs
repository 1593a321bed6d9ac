//! What goes into a load and what comes out of it.

use std::ffi::OsString;
use std::path::PathBuf;

use model::event::Member;
use model::operation::{IntervalRecord, OperationRecord};

use crate::recipe::PhaseKind;

/// How the load process is started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The executable: usually the program's own (`/proc/self/exe`).
    pub executable: PathBuf,
    /// Arguments that make it call [`crate::process::main`] with those that follow.
    pub arguments: Vec<OsString>,
    /// `cgroup.procs` files into which the process writes itself before it does anything else.
    pub cgroup_procs: Vec<PathBuf>,
}

/// Something that the program should know, and mostly also record.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadEvent {
    /// A phase began.
    PhaseStarted {
        /// Recipe's name for it.
        phase: String,
        /// What it is for.
        kind: PhaseKind,
        /// Whether its operations count.
        measured: bool,
        /// When.
        at_ns: u64,
    },
    /// A phase ended.
    PhaseEnded {
        /// Recipe's name for it.
        phase: String,
        /// When.
        at_ns: u64,
        /// Bytes that its operations moved, or that the fill wrote.
        bytes: u64,
    },
    /// When each thread with a job began and ended, at the end of a phase that has such threads.
    Crew {
        /// Recipe's name for the phase.
        phase: String,
        /// The phase's end.
        at_ns: u64,
        /// Those that had ended.
        members: Vec<Member>,
    },
    /// How far the fill is, at each poll during one.
    Progress {
        /// Bytes written.
        done_bytes: u64,
        /// Bytes to write; 0 until that is known.
        total_bytes: u64,
    },
    /// The fill found this many directories complete from an earlier run, and used them as they are.
    Reused {
        /// How many.
        directories: u64,
    },
    /// What ended in one interval, one record for each class.
    Interval(Vec<IntervalRecord>),
    /// Slow and failed operations, as they are found; stuck ones at each interval's end.
    Operations(Vec<OperationRecord>),
    /// Slow or failed operations for which there was no room.
    Lost {
        /// How many.
        count: u64,
    },
    /// The load process ended as it was told to. Nothing follows.
    Finished,
    /// The load process ended by itself. Nothing follows.
    Died {
        /// Signal that killed it.
        signal: Option<i32>,
        /// Its exit code, if it exited.
        code: Option<i32>,
        /// Why, in one sentence: its own message where it left one.
        message: String,
    },
}
