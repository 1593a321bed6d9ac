//! A time with one cause, as others see it.

use crate::blame::facts::cause::Cause;

/// A part of an operation's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The cause.
    pub cause: Cause,
    /// Begin on the monotonic clock.
    pub start_ns: u64,
    /// End on the monotonic clock.
    pub end_ns: u64,
}
