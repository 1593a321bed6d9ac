//! The growth of counters during the last seconds.

use std::collections::{HashMap, VecDeque};

use model::metric::{MetricChange, MetricDescriptor, MetricId, Semantics};

/// The time over which a rate is taken: the shortest average of /proc/pressure. A longer sampling interval replaces it.
pub(super) const WINDOW_NS: u64 = 10_000_000_000;

/// The sum of counters over time. Memory is bounded by the window.
#[derive(Debug)]
pub(super) struct Rate {
    window_ns: u64,
    /// Last value of each; `None` while it is absent.
    counters: HashMap<MetricId, Option<i64>>,
    grown: u64,
    history: VecDeque<(u64, u64)>,
}

impl Rate {
    /// Without counters yet.
    pub(super) fn over(window_ns: u64) -> Rate {
        Rate { window_ns, counters: HashMap::new(), grown: 0, history: VecDeque::new() }
    }

    /// Adds a counter. Gauges have no rate.
    pub(super) fn add(&mut self, descriptor: &MetricDescriptor) {
        if descriptor.semantics == Semantics::Counter {
            self.counters.entry(descriptor.id).or_default();
        }
    }

    /// Whether it has no counter.
    pub(super) fn is_empty(&self) -> bool {
        self.counters.is_empty()
    }

    /// Adds a change, if it is of one of its counters. A repeated value changes nothing; a smaller value is a reset to
    /// 0.
    pub(super) fn change(&mut self, change: &MetricChange) {
        let Some(last) = self.counters.get_mut(&change.metric) else { return };
        if let (Some(last), Some(value)) = (*last, change.value) {
            let growth = if value >= last { value.saturating_sub(last) } else { value.max(0) };
            self.grown = self.grown.saturating_add(growth as u64);
        }
        *last = change.value;
    }

    /// Ends a sample: growth per second over the window; `None` before the window is full, and while all counters are
    /// absent.
    pub(super) fn at(&mut self, at_ns: u64) -> Option<f64> {
        if self.counters.values().all(Option::is_none) {
            self.history.clear();
            return None;
        }
        self.history.push_back((at_ns, self.grown));
        let begin_ns = at_ns.checked_sub(self.window_ns)?;
        while self.history.get(1).is_some_and(|(at_ns, _)| *at_ns <= begin_ns) {
            self.history.pop_front();
        }
        let &(from_ns, from) = self.history.front().filter(|(from_ns, _)| *from_ns <= begin_ns)?;
        Some((self.grown - from) as f64 * 1e9 / (at_ns - from_ns) as f64)
    }
}
