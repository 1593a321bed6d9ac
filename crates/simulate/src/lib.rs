//! Deterministic models and generators.
//!
//! Nothing here reads a clock or a file: the same seed gives the same result, bit for bit.
//!
//! [`policy::Model`] is what a policy inside a kernel becomes: parameters with the kernel's defaults, policies to choose from,
//! and a function that plays it and tells an [`observer::Observer`] what happened. [`block`] makes block traces to test
//! readers with.
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
