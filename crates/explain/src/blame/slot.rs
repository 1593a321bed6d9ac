//! What fills an elementary piece of a task's time.

use std::collections::HashMap;

use super::cause::{Cause, Evidence, Sums};

/// What an elementary piece of time is.
pub(super) enum Slot {
    Is(Cause, Evidence, u32, u32),
    /// What another thread did meanwhile, after the sleep of this row.
    Others(Box<Sums>, u32, HashMap<Cause, u32>),
    /// On the CPU within a span.
    OnCpuIn(Cause, u32),
    /// On the CPU, or not known.
    Free,
}
