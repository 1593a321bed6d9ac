//! What a remedy changes: that of a limit on memory depends on how far the limit is exceeded.

use model::effect::{Edge, Effect};
use remedy::{Remedy, RemedyAction, Value};

use super::change::{Absence, Change, Refaults};
use crate::waits::{Dirtying, MemoryLimit, Waits, is_at_or_below};

/// Least part of what a cgroup reads that must have been evicted before: less is the cache's ordinary turnover.
const LEAST_REFAULTED: f64 = 0.25;

impl MemoryLimit {
    /// Part of what the cgroup read that it had read before, 0 to 1.
    fn refaulted(&self) -> f64 {
        (self.refaulted_bytes as f64 / self.read_bytes.max(1) as f64).min(1.0)
    }

    /// Whether it evicts what is read again.
    pub(super) fn evicts_what_is_read_again(&self) -> bool {
        self.refaulted_bytes >= self.bytes / 4 && self.refaulted() >= LEAST_REFAULTED
    }

    /// The absence of the process that filled most of it, without which what the others read would stay in memory.
    ///
    /// *Assumes* that others read again as much of what they fill as the cgroup does: the rest is what they need.
    pub(super) fn evictor(&self) -> Option<Absence> {
        let (name, bytes) = self.filled_by.iter().max_by_key(|(_, bytes)| **bytes)?;
        let others_need = self.filled_bytes.saturating_sub(*bytes) as f64 * (1.0 - self.refaulted());
        let is_it = *bytes >= self.filled_bytes / 2 && others_need <= self.bytes as f64;
        (is_it && self.evicts_what_is_read_again()).then(|| Absence {
            task: Some(name.clone()),
            cgroup: Some(self.cgroup.clone()),
            evicts: Some(self.refaulted()),
            ..Absence::default()
        })
    }

    /// Part of the waits for memory that remains at `factor` times the limit, at least.
    ///
    /// *Assumes* that a cgroup which goes on to fill memory waits for each byte beyond its limit. A higher limit is
    /// reached as much later as it is higher, and then holds as before.
    fn remains(&self, factor: f64) -> f64 {
        let again = self.refaulted_bytes.saturating_add(self.swapped_in_bytes);
        let new = self.filled_bytes.saturating_sub(again) as f64;
        let limit = self.bytes as f64;
        if new <= limit { 0.0 } else { ((new - factor * limit) / (new - limit)).max(0.0) }
    }
}

/// The nearest limit that a cgroup reached, its own or one above.
pub(super) fn limit_of<'a>(waits: &'a Waits, cgroup: Option<&str>) -> Option<&'a MemoryLimit> {
    let cgroup = cgroup?;
    let above = waits.memory.iter().filter(|limit| is_at_or_below(cgroup, &limit.cgroup));
    above.max_by_key(|limit| limit.cgroup.len())
}

/// Whether a cgroup was at its memory limit, or at one above; `None` where one of them was not sampled. The root has
/// none that could be sampled, and tasks that are in it may be in another cgroup of the controller's own hierarchy.
pub(super) fn is_at_limit(waits: &Waits, cgroup: Option<&str>) -> Option<bool> {
    if limit_of(waits, cgroup).is_some() {
        return Some(true);
    }
    let folders = cgroup?.trim_matches('/').split('/').filter(|folder| !folder.is_empty());
    let paths = folders.scan(String::new(), |path, folder| {
        path.push('/');
        path.push_str(folder);
        Some(path.clone())
    });
    let mut paths = paths.peekable();
    let is_known = paths.peek().is_some() && paths.all(|path| waits.memory_sampled.contains(&path));
    is_known.then_some(false)
}

/// What a remedy changes, of a cgroup with that limit. `None`: nothing is known to be read again, or dirty pages reach
/// any limit.
pub(super) fn change(remedy: &Remedy, limit: Option<&MemoryLimit>, dirtying: Option<&Dirtying>) -> Option<Change> {
    let effect = Effect { at_most: false, ..remedy.effect };
    let raised = match &remedy.change {
        RemedyAction::Setting(setting) => match setting.value {
            Value::Multiply(factor) => Some(factor),
            Value::Set(_) => None,
        },
        RemedyAction::Command { .. } | RemedyAction::Manual { .. } => None,
    };
    let effect = match (effect.edge, limit, raised) {
        (Edge::Refault, limit, _) => {
            let limit = limit.filter(|limit| limit.evicts_what_is_read_again())?;
            return Some(Change::Refaults(Refaults { cgroup: limit.cgroup.clone(), share: limit.refaulted() }));
        }
        (Edge::Memory, Some(limit), Some(factor)) if remedy.requires.memory_limit == Some(true) => {
            let remains = limit.remains(factor);
            Effect { factor: (remains > 0.0).then(|| 1.0 / remains), ..effect }
        }
        // A factor is one of the speed of writeback, not of the limit.
        (Edge::DirtyThrottle, ..) if effect.factor.is_none() => {
            let remains = dirtying.map_or(0.0, Dirtying::remains);
            Effect { factor: (remains > 0.0).then(|| 1.0 / remains), ..effect }
        }
        _ => effect,
    };
    Some(Change::Edge { effect, of: remedy.of.clone() })
}
