//! The subdirectories of a set, and which of them a thread's files lie in.

use serde::{Deserialize, Serialize};

use crate::data::FileNames;
use crate::error::LoadError;
use crate::job::values::JobValues;

const USUAL_LINGER_NS: u64 = 180_000_000_000;

/// In which subdirectory a thread's files lie, where their numbers leave that open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Subdirectories {
    /// There are none, or the number says it.
    KeyValue,
    /// So many files in one, then in the next.
    RoundRobin { count: u64, files: u64 },
    /// For so long in one, then in the next.
    Lingering { count: u64, linger_ns: u64 },
}

impl Subdirectories {
    pub(super) fn resolve(values: &JobValues<'_, '_>, set: usize) -> Result<Subdirectories, LoadError> {
        let FileNames::FsMark { subdirectories: count, .. } = values.sets()[set].names else {
            return Ok(Subdirectories::KeyValue);
        };
        let files = values.whole_or("per_subdirectory", 0, 0)?;
        let linger_ns = values.whole_or("linger", USUAL_LINGER_NS, 1)?;
        match (count, files) {
            (0, 0) => Ok(Subdirectories::KeyValue),
            (0, _) => Err(values.refuse(
                "per_subdirectory",
                "files in each subdirectory are given, and no subdirectories: say how many there are",
            )),
            (_, 0) => Ok(Subdirectories::Lingering { count, linger_ns }),
            _ => Ok(Subdirectories::RoundRobin { count, files }),
        }
    }

    /// Where the thread's file number `index` goes now.
    pub(super) fn now(self, index: u64, now_ns: u64) -> u64 {
        match self {
            Subdirectories::KeyValue => 0,
            Subdirectories::RoundRobin { count, files } => index / files % count,
            Subdirectories::Lingering { count, linger_ns } => now_ns / linger_ns % count,
        }
    }
}
