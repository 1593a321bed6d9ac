//! What the rows lack, and when it was lost.

use model::damage::Damage;
use model::event::RunEvent;
use model::loss_kind::{Lacks, lacks};
use model::preflight::Finding;

use crate::blame::facts::missing::Losses;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::times::joined;

/// Collects events.
#[derive(Debug, Default)]
pub(crate) struct LossLog {
    losses: Losses,
    times: Vec<(u64, u64)>,
}

impl LossLog {
    pub(crate) fn new(preflight: &[Finding]) -> LossLog {
        let mut log = LossLog::default();
        preflight.iter().for_each(|finding| log.source(finding));
        log
    }

    fn source(&mut self, finding: &Finding) {
        if finding.is_missing() && finding.is_of_tracer() {
            let Finding { capability, why, remedy, .. } = finding.clone();
            self.losses.missing.push((capability, why, remedy));
        }
    }

    /// Adds an event. A loss is noticed at most `interval_ns` after it happened, twice that on a busy machine.
    pub(crate) fn event(&mut self, event: &RunEvent, interval_ns: u64) {
        match event {
            RunEvent::Loss { what, count, at_ns } if lacks(what) != Lacks::Figures => {
                match self.losses.lost.iter_mut().find(|lost| lost.0 == *what) {
                    Some(lost) => lost.1 = lost.1.saturating_add(*count),
                    None => self.losses.lost.push((what.clone(), *count)),
                }
                if lacks(what) == Lacks::Waits {
                    self.times.push((at_ns.saturating_sub(interval_ns.saturating_mul(2)), *at_ns));
                }
            }
            RunEvent::Source { finding, .. } => self.source(finding),
            RunEvent::TableDropped { table, why, at_ns } => {
                self.losses.tables.push((table.clone(), why.clone()));
                if table == "stalls" {
                    self.times.push((*at_ns, u64::MAX));
                }
            }
            _ => {}
        }
    }

    /// Adds a part of the archive that cannot be read. At any moment of it, any task may have waited.
    pub(crate) fn damage(&mut self, damage: &Damage) {
        self.losses.parts += 1;
        if damage.may_lack("stalls") {
            self.times.push(damage.span_ns.unwrap_or((0, u64::MAX)));
        }
    }

    /// The losses, and the times at which rows may be missing.
    pub(crate) fn finish(self) -> (Losses, Vec<(u64, u64)>) {
        (self.losses, joined(self.times, 0).into_iter().filter(|(from, to)| from < to).collect())
    }
}

impl RunIndex {
    /// Whether the tracer lost rows at a moment.
    pub(crate) fn is_lossy(&self, at_ns: u64) -> bool {
        let after = self.lossy.partition_point(|&(_, end_ns)| end_ns <= at_ns);
        self.lossy.get(after).is_some_and(|&(start_ns, _)| start_ns <= at_ns)
    }
}
