//! How often something may be done that costs CPU time.

/// Pauses that leave a part of a CPU for what is done between them.
///
/// The cheaper of the last two costs counts: the first time, caches are cold, and a pause of seconds after it would
/// hide what begins then. What is always expensive is paced from the second time on.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Times its cost that the pause after it lasts.
    pauses: u64,
    last_cost_ns: u64,
    next_ns: u64,
}

impl Pace {
    /// What costs the same each time uses at most one `pauses`-th of a CPU.
    pub(crate) const fn new(pauses: u64) -> Pace {
        Pace { pauses, last_cost_ns: 0, next_ns: 0 }
    }

    /// From the next pause on.
    pub(crate) fn set_pauses(&mut self, pauses: u64) {
        self.pauses = pauses;
    }

    /// Whether the pause is over.
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// A pause from now on, of `least_ns` or more.
    pub(crate) fn done(&mut self, now_ns: u64, cost_ns: u64, least_ns: u64) {
        let usual_ns = cost_ns.min(self.last_cost_ns);
        self.last_cost_ns = cost_ns;
        self.next_ns = now_ns.saturating_add(usual_ns.saturating_mul(self.pauses).max(least_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn one_expensive_time_causes_no_long_pause_but_two_do() {
        let mut pace = Pace::new(200);
        assert!(pace.is_due(0));
        pace.done(0, 10_000, 500);
        assert!(!pace.is_due(499) && pace.is_due(500));
        pace.done(1000, 10, 500);
        assert!(pace.is_due(1000 + 200 * 10));
        pace.done(10_000, 9_000, 500);
        assert!(pace.is_due(10_000 + 200 * 10));
        pace.done(20_000, 8_000, 500);
        assert!(!pace.is_due(20_000 + 200 * 8_000 - 1) && pace.is_due(20_000 + 200 * 8_000));
    }
}
