//! All damage that readers of a run found.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::damage::Damage;
use model::quantity::counted;

/// Parts that are listed. What a stranger made may have millions.
const MOST: usize = 10_000;

/// Shared by a run and the batches that are read from it.
#[derive(Debug, Clone, Default)]
pub(crate) struct DamageLog(Arc<Mutex<Found>>);

#[derive(Debug, Default)]
struct Found {
    all: Vec<Damage>,
    /// Hashes of the places of those that have an offset: of a million of them, too.
    known: HashSet<u64>,
    /// Parts that the last one stands for.
    more: u64,
}

impl DamageLog {
    /// What was found when the run was opened.
    pub(super) fn new(found: Vec<Damage>) -> DamageLog {
        let log = DamageLog::default();
        found.into_iter().for_each(|damage| log.found().push(damage));
        log
    }

    /// Notes damage, once.
    pub(super) fn add(&self, damage: Damage) {
        let mut found = self.found();
        if place_of(&damage).is_none_or(|place| !found.known.contains(&place)) {
            found.push(damage);
        }
    }

    /// All of it, in the order of finding.
    pub(super) fn all(&self) -> Vec<Damage> {
        self.found().all.clone()
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A hash of its file, offset and table.
fn place_of(damage: &Damage) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    (&damage.file, damage.offset?, &damage.table).hash(&mut hasher);
    Some(hasher.finish())
}

impl Found {
    fn push(&mut self, damage: Damage) {
        self.known.extend(place_of(&damage));
        if self.all.len() < MOST {
            self.all.push(damage);
            return;
        }
        // The rest of the run may lie in it.
        self.more += 1;
        let rest = Damage::of_file(&damage.file, format!("and {} damaged", counted(self.more, "more part")));
        self.all.truncate(MOST);
        self.all.push(Damage { span_ns: Some((0, u64::MAX)), ..rest });
    }
}

#[cfg(test)]
mod tests {
    use model::damage::Damage;
    use model::quantity::grouped;

    use super::{DamageLog, MOST};

    #[test]
    fn damage_is_noted_once_and_a_million_parts_are_summed_up() {
        let log = DamageLog::default();
        for offset in (0..1_000_000).chain(0..10) {
            log.add(Damage { offset: Some(offset), rows: Some(1), ..Damage::of_file("a", "torn") });
        }
        let all = log.all();
        assert_eq!((all.len(), all[MOST].rows), (MOST + 1, None));
        assert_eq!(all[MOST].why, format!("and {} more parts damaged", grouped(1_000_000 - MOST as u64)));
    }
}
