//! Rotation of a recording: from one moment on, its rows can be read without the earlier ones.
//!
//! A flight recorder's slices are small runs. When one begins, the samplers and the tracer emit everything in full
//! again, and no row after that moment may refer to one before it. So the tracer goes first: it hands on its rows,
//! emits in full from then on, and holds its rows back. The sampler waits for it at each tick, then puts the border
//! into the queue and emits in full as well.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ticks after which the sampler stops waiting for the tracer, which may be stuck in the kernel.
const PATIENCE_TICKS: u32 = 3;

/// The rotations of the sampler and the tracer; each counts its own.
#[derive(Debug, Default, Clone)]
pub struct Rotation(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    requested: AtomicU64,
    tracer: AtomicU64,
    sampler: AtomicU64,
}

impl Rotation {
    /// Requests a rotation, unless one is in progress.
    pub fn request(&self) {
        let done = self.0.sampler.load(Ordering::Acquire);
        let _ = self.0.requested.compare_exchange(done, done + 1, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// The rotation that is requested, or was done last.
    pub fn requested(&self) -> u64 {
        self.0.requested.load(Ordering::Acquire)
    }

    /// The tracer has handed on its rows and emits in full.
    pub fn tracer_is_ready(&self, rotation: u64) {
        self.0.tracer.store(rotation, Ordering::Release);
    }

    /// Whether the tracer holds its rows back: the border is not in the queue yet.
    pub fn holds_tracer(&self) -> bool {
        self.0.tracer.load(Ordering::Acquire) > self.0.sampler.load(Ordering::Acquire)
    }

    /// Whether the sampler should rotate now, after waiting for `waited` ticks.
    pub fn is_due(&self, has_tracer: bool, waited: u32) -> bool {
        let requested = self.requested();
        let is_ready = !has_tracer || self.0.tracer.load(Ordering::Acquire) == requested || waited >= PATIENCE_TICKS;
        requested > self.0.sampler.load(Ordering::Acquire) && is_ready
    }

    /// Whether a rotation is requested and not done.
    pub fn is_pending(&self) -> bool {
        self.requested() > self.0.sampler.load(Ordering::Acquire)
    }

    /// Completed rotations.
    pub fn count(&self) -> u64 {
        self.0.sampler.load(Ordering::Acquire)
    }

    /// The border is in the queue.
    pub fn done(&self) {
        self.0.sampler.store(self.requested(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::Rotation;

    #[test]
    fn the_tracer_goes_first_and_the_sampler_completes_the_rotation() {
        let rotation = Rotation::default();
        assert!(!rotation.is_due(true, 0) && !rotation.holds_tracer());
        rotation.request();
        rotation.request();
        assert_eq!(rotation.requested(), 1, "one at a time");
        assert!(!rotation.is_due(true, 0) && rotation.is_due(false, 0));
        rotation.tracer_is_ready(1);
        assert!(rotation.holds_tracer() && rotation.is_due(true, 0));
        rotation.done();
        assert!(!rotation.holds_tracer() && !rotation.is_due(true, 0) && !rotation.is_pending());
    }

    #[test]
    fn a_stuck_tracer_is_not_waited_for() {
        let rotation = Rotation::default();
        rotation.request();
        assert!(!rotation.is_due(true, 2) && rotation.is_due(true, 3));
        rotation.done();
        rotation.tracer_is_ready(1);
        assert!(!rotation.holds_tracer(), "too late, and harmless");
    }
}
