//! What the machine allowed when a run began.

use serde::{Deserialize, Serialize};

/// One thing that was looked for before the run: a permission, a mount, a kernel feature, a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is called: `memory cgroup`, `XFS statistics`, `tracepoint counters`.
    pub capability: String,
    /// Whether it can be used.
    pub available: bool,
    /// What it is used for, or what is lost without it.
    pub purpose: String,
    /// Why it is missing; `None` where it is not.
    pub why: Option<String>,
    /// What to do about it; `None` where nothing needs to be, or can be, done.
    pub remedy: Option<String>,
}

impl Finding {
    /// The capability is there.
    pub fn available(capability: impl Into<String>, purpose: impl Into<String>) -> Finding {
        Finding { capability: capability.into(), available: true, purpose: purpose.into(), why: None, remedy: None }
    }

    /// The capability is missing.
    pub fn missing(
        capability: impl Into<String>,
        purpose: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding {
            capability: capability.into(),
            available: false,
            purpose: purpose.into(),
            why: Some(why.into()),
            remedy: Some(remedy.into()),
        }
    }
}
