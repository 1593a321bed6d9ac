//! The tables.

pub(crate) mod counters;
pub(crate) mod intervals;
pub(crate) mod runs;
pub(crate) mod stalls;
