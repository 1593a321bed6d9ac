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
    /// The kernel module that has it and is not loaded: nothing on the machine uses it, and once it is loaded it is available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unloaded_module: Option<String>,
}

impl Finding {
    /// The capability is available.
    pub fn available(capability: impl Into<String>, purpose: impl Into<String>) -> Finding {
        Finding {
            capability: capability.into(),
            available: true,
            purpose: purpose.into(),
            why: None,
            remedy: None,
            unloaded_module: None,
        }
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
            unloaded_module: None,
        }
    }

    /// It belongs to a kernel module that is not loaded.
    pub fn not_loaded(
        capability: impl Into<String>,
        purpose: impl Into<String>,
        module: impl Into<String>,
    ) -> Finding {
        let module = module.into();
        let mut finding = Finding::available(capability, purpose);
        finding.available = false;
        finding.why = Some(format!("module {module} is not loaded; once it is, this is available"));
        finding.unloaded_module = Some(module);
        finding
    }

    /// Whether something that the machine should have is missing.
    pub fn is_missing(&self) -> bool {
        !self.available && self.unloaded_module.is_none()
    }
}
