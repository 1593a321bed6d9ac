//! Turning a recording over: from one moment of its rows on, they can be read by themselves.
//!
//! A flight recorder's slices are small runs. When one begins, the samplers and the tracer tell everything anew, and no
//! row of theirs that leans on something told before may come after that moment. So the tracer goes first: it hands on
//! what it has, tells anew from then on, and holds its rows back; the sampler, which all wait for at each tick, puts the
//! border into the queue and tells anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ticks of the sampler after which it no longer waits for a tracer, which may be stuck in the kernel.
const PATIENCE_TICKS: u32 = 3;

/// What the sampler and the tracer know of one another's turns; each counts the turns that it has made.
#[derive(Debug, Default, Clone)]
pub struct Rotation(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    wanted: AtomicU64,
    tracer: AtomicU64,
    sampler: AtomicU64,
}

impl Rotation {
    /// Asks for a turn, unless one is under way.
    pub fn ask(&self) {
        let made = self.0.sampler.load(Ordering::Acquire);
        let _ = self.0.wanted.compare_exchange(made, made + 1, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// The turn that is asked for, or was made last.
    pub fn wanted(&self) -> u64 {
        self.0.wanted.load(Ordering::Acquire)
    }

    /// The tracer has handed on what it had, and tells anew.
    pub fn tracer_is_ready(&self, turn: u64) {
        self.0.tracer.store(turn, Ordering::Release);
    }

    /// Whether the tracer holds its rows back: the border is not in the queue yet.
    pub fn holds_tracer(&self) -> bool {
        self.0.tracer.load(Ordering::Acquire) > self.0.sampler.load(Ordering::Acquire)
    }

    /// Whether the sampler should turn now, having waited for `waited` ticks.
    pub fn is_due(&self, has_tracer: bool, waited: u32) -> bool {
        let wanted = self.wanted();
        let is_ready = !has_tracer || self.0.tracer.load(Ordering::Acquire) == wanted || waited >= PATIENCE_TICKS;
        wanted > self.0.sampler.load(Ordering::Acquire) && is_ready
    }

    /// Whether a turn is asked for and not made.
    pub fn is_asked(&self) -> bool {
        self.wanted() > self.0.sampler.load(Ordering::Acquire)
    }

    /// Turns that were made.
    pub fn count(&self) -> u64 {
        self.0.sampler.load(Ordering::Acquire)
    }

    /// The border is in the queue.
    pub fn made(&self) {
        self.0.sampler.store(self.wanted(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::Rotation;

    #[test]
    fn the_tracer_goes_first_and_the_sampler_ends_the_turn() {
        let turn = Rotation::default();
        assert!(!turn.is_due(true, 0) && !turn.holds_tracer());
        turn.ask();
        turn.ask();
        assert_eq!(turn.wanted(), 1, "one at a time");
        assert!(!turn.is_due(true, 0) && turn.is_due(false, 0));
        turn.tracer_is_ready(1);
        assert!(turn.holds_tracer() && turn.is_due(true, 0));
        turn.made();
        assert!(!turn.holds_tracer() && !turn.is_due(true, 0) && !turn.is_asked());
    }

    #[test]
    fn a_tracer_that_is_stuck_is_not_waited_for() {
        let turn = Rotation::default();
        turn.ask();
        assert!(!turn.is_due(true, 2) && turn.is_due(true, 3));
        turn.made();
        turn.tracer_is_ready(1);
        assert!(!turn.holds_tracer(), "too late, and harmless");
    }
}
