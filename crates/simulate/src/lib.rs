//! Deterministic models and generators.
//!
//! No code here reads a clock or a file: the same seed gives the same result, bit for bit.
//!
//! A [`policy::Model`] is a kernel mechanism: parameters with the kernel's defaults, policies to choose from, and a
//! function that runs it and reports each event to an [`observer::Observer`]. [`block`] generates block traces for
//! tests of trace readers.
#![forbid(unsafe_code)]

pub mod agenda;
pub mod block;
pub mod bufcache;
pub mod liveness;
pub mod models;
pub mod observer;
pub mod osc;
pub mod parameter;
pub mod policy;
pub mod random;
pub mod reclaim;
pub mod sched;
pub mod service;
