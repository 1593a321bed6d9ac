//! A run at one moment, as tables that text and a terminal's screen share, as text, and as JSON.

mod json;
mod tables;
mod text;

#[cfg(test)]
mod tests;

pub use json::json;
pub use tables::{Align, Column, Panel, Row, Table, table};
pub use text::{details, memory_line, text};
