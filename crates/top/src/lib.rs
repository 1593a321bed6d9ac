//! A run's moment → a terminal's screen, and keys → what to look at next.
//!
//! Nothing here knows a terminal: keys come as [`Key`]s, the screen is a buffer of cells. The program joins both to a
//! terminal, and to a run that is read or recorded.
#![forbid(unsafe_code)]

mod columns;
mod draw;
mod key;
mod view;

#[cfg(test)]
mod tests;

pub use draw::{Scene, draw};
pub use key::Key;
pub use view::{Asked, Extent, Mode, View};
