//! Deterministic models and generators.
//!
//! Nothing here reads a clock: the same seed gives the same result.
#![forbid(unsafe_code)]

pub mod block;
