//! What the machine allowed when a run began.

use serde::{Deserialize, Serialize};

/// The result of one check before the run: of a permission, a mount, a kernel feature, a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name: `memory cgroup`, `XFS statistics`, `tracepoint counters`.
    pub capability: String,
    /// Whether it can be used.
    pub available: bool,
    /// What it shows or is used for.
    pub purpose: String,
    /// Why it is missing; `None` if it is available.
    pub why: Option<String>,
    /// The remedy; `None` if none is needed or known.
    pub remedy: Option<String>,
}

impl Finding {
    /// The capability is available.
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
