//! A run → the page that shows it: one document of compact columns, and the HTML that carries it.
//!
//! Everything here is pure. The page's program (TypeScript in `web/`, built into `web/dist`) draws the document; it comes
//! with the file (`stallscope report`) or from a server on this machine (`stallscope view`).
#![forbid(unsafe_code)]

mod builder;
mod caches;
mod chart;
mod counters;
mod html;
mod latencies;
mod limits;
mod longest;
mod marks;
mod number;
mod own;
mod requests;
mod stalls;
mod steps;

#[cfg(test)]
mod tests;

pub use builder::RunPage;
pub use counters::{counter, wanted_counter};
pub use html::{SCRIPT, STYLE, document, report, shell};
pub use limits::Limits;
pub use longest::Longest;
pub use requests::requests;
pub use stalls::stall;
