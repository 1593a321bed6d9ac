//! Findings → bytes: text for people, JSON for programs.
//!
//! Rendering is pure: the terminal's capabilities come in as a [`style::Style`].
#![forbid(unsafe_code)]

pub mod answer;
pub mod blk;
pub mod compare;
pub mod damage;
pub mod document;
pub mod explain;
pub mod funclat;
pub mod hung;
pub mod json;
pub mod native;
pub mod number;
pub mod phases;
pub mod set;
mod set_node;
pub mod simoop;
pub mod simulation;
pub mod snapshot;
pub mod sparkline;
pub mod style;
pub mod summary;
mod table;
pub mod trial;
pub mod whatif;
