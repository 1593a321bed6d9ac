//! The subdirectory of each of a thread's files.

use serde::{Deserialize, Serialize};

use crate::data::FileNames;
use crate::error::LoadError;
use crate::job::values::JobValues;

const USUAL_LINGER_NS: u64 = 180_000_000_000;

/// How a thread chooses subdirectories, if file numbers do not imply them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Subdirectories {
    /// None, or implied by the number.
    Given,
    /// A number of files in each, round-robin.
    RoundRobin { count: u64, files: u64 },
    /// A period of time in each, round-robin.
    Lingering { count: u64, linger_ns: u64 },
}

impl Subdirectories {
    pub(super) fn resolve(values: &JobValues<'_, '_>, set: usize) -> Result<Subdirectories, LoadError> {
        let FileNames::FsMark { subdirectories: count, .. } = values.sets()[set].names else {
            return Ok(Subdirectories::Given);
        };
        let files = values.whole_or("per_subdirectory", 0, 0)?;
        let linger_ns = values.whole_or("linger", USUAL_LINGER_NS, 1)?;
        match (count, files) {
            (0, 0) => Ok(Subdirectories::Given),
            (0, _) => Err(values.refuse("per_subdirectory", "files per subdirectory need a number of subdirectories")),
            (_, 0) => Ok(Subdirectories::Lingering { count, linger_ns }),
            _ => Ok(Subdirectories::RoundRobin { count, files }),
        }
    }

    /// The subdirectory of the thread's file number `index`, at that time.
    pub(super) fn now(self, index: u64, now_ns: u64) -> u64 {
        match self {
            Subdirectories::Given => 0,
            Subdirectories::RoundRobin { count, files } => index / files % count,
            Subdirectories::Lingering { count, linger_ns } => now_ns / linger_ns % count,
        }
    }
}
