//! All damage that readers of a run found.

use std::sync::{Arc, Mutex, PoisonError};

use model::damage::Damage;

/// Shared by a run and the batches that are read from it.
#[derive(Debug, Clone, Default)]
pub(crate) struct DamageLog(Arc<Mutex<Vec<Damage>>>);

impl DamageLog {
    /// What was found when the run was opened.
    pub(super) fn new(found: Vec<Damage>) -> DamageLog {
        DamageLog(Arc::new(Mutex::new(found)))
    }

    /// Notes damage, once.
    pub(super) fn add(&self, damage: Damage) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |known: &Damage| {
            (&known.file, known.offset, &known.table) == (&damage.file, damage.offset, &damage.table)
                && damage.offset.is_some()
        };
        if !all.iter().any(is_known) {
            all.push(damage);
        }
    }

    /// All of it, in the order of finding.
    pub(super) fn all(&self) -> Vec<Damage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
