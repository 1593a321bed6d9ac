//! What fills an elementary piece of a task's time.

use std::collections::HashMap;

use super::cause::{Cause, Evidence, Sums};

/// The content of an elementary piece of time.
pub(super) enum Slot {
    Is(Cause, Evidence, u32, u32),
    /// What another thread did during this row's sleep: sums, the sleep, an example row for each cause.
    Others(Box<Sums>, u32, HashMap<Cause, u32>),
    /// Running within a span.
    OnCpuIn(Cause, u32),
    /// Running or unknown.
    Free,
}
