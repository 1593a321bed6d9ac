//! The report of a run in a browser: one document of compact columns, and the HTML that carries it.
//!
//! Everything here is pure. The page's program (TypeScript in `web/`, built into `web/dist`) draws the document. It is
//! part of the file (`stallscope report`) or comes from a local server (`stallscope view`).
#![forbid(unsafe_code)]

mod blamed;
mod builder;
mod caches;
mod chart;
mod columns;
mod counters;
mod html;
mod lanes;
mod latencies;
mod limits;
mod longest;
mod marks;
mod model_metrics;
mod number;
mod request_list;
mod requests;
mod sleeps;
mod stall_list;
mod stalls;
mod steps;

#[cfg(test)]
mod tests;

pub use builder::RunPage;
pub use counters::{counter, wanted_counter};
pub use html::{SCRIPT, STYLE, document, report, report_below, shell};
pub use limits::Limits;
pub use longest::Longest;
pub use request_list::requests;
pub use stall_list::stall;
