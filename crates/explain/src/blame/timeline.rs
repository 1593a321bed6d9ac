//! What one task did at each moment, in disjoint segments without gaps.

pub(crate) mod asynchronous;
pub(crate) mod children;
pub(crate) mod counted_again;
pub(crate) mod idleness;
pub(crate) mod piece;
pub(crate) mod server_requests;
pub(crate) mod short;
pub(crate) mod slot;
pub(crate) mod timelines;
mod way;

#[cfg(test)]
mod tests;
