//! Where a bio's time goes.

use std::ops::{Index, IndexMut};

/// A phase of a bio's lifecycle, named after blkparse's letters for the events at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Phase {
    /// From one bio queued to the next. Not part of Q2C.
    Q2Q,
    /// Queued until a request was allocated for it.
    Q2G,
    /// Request allocated until first inserted into the scheduler or dispatch list.
    G2I,
    /// Queued until merged into an existing request.
    Q2M,
    /// First inserted until last issued to the driver, including requeues.
    I2D,
    /// Merged until the request was last issued.
    M2D,
    /// Last issued until completed.
    D2C,
    /// The whole: queued until completed.
    Q2C,
    /// Request allocated until last issued, for requests issued directly without insertion.
    G2D,
    /// Queued until remapped to another device, on a device without requests.
    Q2A,
    /// Remapped until completed there.
    A2C,
}

impl Phase {
    /// All phases, in btt's order, then those that btt lacks.
    pub const ALL: [Phase; 11] = [
        Phase::Q2Q,
        Phase::Q2G,
        Phase::G2I,
        Phase::Q2M,
        Phase::I2D,
        Phase::M2D,
        Phase::D2C,
        Phase::Q2C,
        Phase::G2D,
        Phase::Q2A,
        Phase::A2C,
    ];

    /// The phases that make up Q2C. A bio has some of them, and they sum to Q2C.
    pub const PARTS: [Phase; 9] =
        [Phase::Q2G, Phase::G2I, Phase::G2D, Phase::Q2M, Phase::I2D, Phase::M2D, Phase::D2C, Phase::Q2A, Phase::A2C];

    /// `Q2C`.
    pub const fn name(self) -> &'static str {
        ["Q2Q", "Q2G", "G2I", "Q2M", "I2D", "M2D", "D2C", "Q2C", "G2D", "Q2A", "A2C"][self as usize]
    }

    /// `q2c`, the key in JSON.
    pub const fn key(self) -> &'static str {
        ["q2q", "q2g", "g2i", "q2m", "i2d", "m2d", "d2c", "q2c", "g2d", "q2a", "a2c"][self as usize]
    }
}

const UNKNOWN: u64 = u64::MAX;

/// A bio's phases; missing and unknown phases are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseTimes([u64; Phase::ALL.len()]);

impl Default for PhaseTimes {
    fn default() -> Self {
        PhaseTimes([UNKNOWN; Phase::ALL.len()])
    }
}

impl PhaseTimes {
    /// Duration of the phase.
    pub fn get(&self, phase: Phase) -> Option<u64> {
        let time_ns = self.0[phase as usize];
        (time_ns != UNKNOWN).then_some(time_ns)
    }

    /// Sets the duration of the phase.
    pub fn set(&mut self, phase: Phase, time_ns: u64) {
        self.0[phase as usize] = time_ns;
    }

    /// Makes the phase unknown.
    pub fn clear(&mut self, phase: Phase) {
        self.0[phase as usize] = UNKNOWN;
    }

    /// Sets the phase if both ends are known and in order.
    #[inline]
    pub(super) fn span(&mut self, phase: Phase, from_ns: u64, to_ns: u64) {
        if from_ns != UNKNOWN && to_ns != UNKNOWN && from_ns <= to_ns {
            self.0[phase as usize] = to_ns - from_ns;
        }
    }

    /// Q2C, or what is known of it: the sum of the known parts.
    pub fn longest_known(&self) -> Option<u64> {
        self.get(Phase::Q2C)
            .or_else(|| Phase::PARTS.iter().filter_map(|&part| self.get(part)).reduce(u64::saturating_add))
    }

    /// Whether the known parts sum to Q2C.
    pub fn add_up(&self) -> bool {
        let parts = Phase::PARTS.iter().filter_map(|&part| self.get(part));
        self.get(Phase::Q2C) == Some(parts.fold(0, u64::saturating_add))
    }
}

/// One value for each phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerPhase<T>(pub [T; Phase::ALL.len()]);

impl<T> Index<Phase> for PerPhase<T> {
    type Output = T;
    fn index(&self, phase: Phase) -> &T {
        &self.0[phase as usize]
    }
}

impl<T> IndexMut<Phase> for PerPhase<T> {
    fn index_mut(&mut self, phase: Phase) -> &mut T {
        &mut self.0[phase as usize]
    }
}
