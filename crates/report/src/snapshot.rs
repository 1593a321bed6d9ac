//! A run at one moment: tables shared by text and the terminal's screen, plain text, and JSON.

mod json;
mod slowest;
mod tables;
mod text;

#[cfg(test)]
mod tests;

pub use json::json;
pub use slowest::{SlowestNow, slowest};
pub use tables::{Align, Column, Panel, Row, Table, table};
pub use text::{details, memory_line, text};
