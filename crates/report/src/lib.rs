//! Findings → bytes: text for people, JSON for programs.
//!
//! Rendering is pure; whether there is a terminal, and how wide it is, comes in as a [`style::Style`].
#![forbid(unsafe_code)]

pub mod blk;
pub mod compare;
pub mod explain;
pub mod funclat;
pub mod glance;
pub mod json;
pub mod native;
pub mod number;
pub mod phases;
pub mod simoop;
pub mod simulation;
pub mod sparkline;
pub mod style;
pub mod summary;
pub mod whatif;
