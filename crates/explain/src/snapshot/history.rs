//! The last minute in a few steps, for a sparkline.

use super::window::Window;

/// Minimum length of a history; a longer window extends it.
const LEAST_NS: u64 = 60_000_000_000;
/// Steps of a history.
const STEPS: usize = 30;

/// Steps of time that end with the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct History {
    pub(super) from_ns: u64,
    step_ns: u64,
}

impl History {
    pub(super) fn of(window: Window) -> History {
        let step_ns = (LEAST_NS.max(window.ns()) / STEPS as u64).max(1);
        History { from_ns: window.to_ns.saturating_sub(step_ns * STEPS as u64), step_ns }
    }
}

/// Counts in each step of a history.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    history: History,
    /// Count, and the known time of the step.
    sums: Vec<(f64, f64)>,
}

impl Steps {
    pub(super) fn new(history: History) -> Steps {
        Steps { history, sums: vec![(0.0, 0.0); STEPS] }
    }

    /// Distributes a count evenly over its time.
    pub(super) fn add(&mut self, start_ns: u64, end_ns: u64, count: f64) {
        let span_ns = end_ns.saturating_sub(start_ns);
        let History { from_ns, step_ns } = self.history;
        if span_ns == 0 || end_ns <= from_ns {
            return;
        }
        let first = (start_ns.saturating_sub(from_ns) / step_ns) as usize;
        for at in first..STEPS {
            let step_from = from_ns + at as u64 * step_ns;
            let shared = end_ns.min(step_from + step_ns).saturating_sub(start_ns.max(step_from));
            if shared == 0 {
                break;
            }
            self.sums[at].0 += count * shared as f64 / span_ns as f64;
            self.sums[at].1 += shared as f64;
        }
    }

    /// Rates per second; `None` for unknown steps.
    pub(super) fn rates(&self) -> Vec<Option<f64>> {
        self.sums.iter().map(|&(count, known_ns)| (known_ns > 0.0).then(|| count * 1e9 / known_ns)).collect()
    }
}
