//! The measured phases of a run.

use model::event::RunEvent;
use model::operation::{IntervalRecord, ROUND};

/// The phases of a load. A run without phases counts as a whole.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    all: Vec<Phase>,
    operations: Option<u64>,
}

#[derive(Debug)]
struct Phase {
    name: String,
    measured: bool,
    start_ns: u64,
    end_ns: u64,
}

impl Phases {
    pub(crate) fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::PhaseStarted { phase, measured, at_ns } => {
                self.all.push(Phase { name: phase.clone(), measured: *measured, start_ns: *at_ns, end_ns: u64::MAX });
            }
            RunEvent::PhaseEnded { phase, at_ns, .. } => {
                let open = |open: &&mut Phase| open.name == *phase && open.end_ns == u64::MAX;
                if let Some(phase) = self.all.iter_mut().find(open) {
                    phase.end_ns = *at_ns;
                }
            }
            _ => {}
        }
    }

    /// Counts an interval's operations if it lies in a measured phase that has started; returns whether it does.
    pub(crate) fn interval(&mut self, record: &IntervalRecord) -> bool {
        let measured = self.all.iter().any(|phase| phase.measured && phase.name == record.phase);
        let counts = measured && record.class != ROUND;
        if counts {
            *self.operations.get_or_insert(0) += record.count;
        }
        counts
    }

    pub(crate) fn operations(&self) -> Option<u64> {
        self.operations
    }

    /// Whether an operation that ended at that moment counts.
    pub(crate) fn is_measured(&self, at_ns: u64) -> bool {
        let measured = |phase: &&Phase| phase.measured;
        let holds = |phase: &Phase| (phase.start_ns..=phase.end_ns).contains(&at_ns);
        self.all.is_empty() || self.all.iter().filter(measured).any(holds)
    }
}
