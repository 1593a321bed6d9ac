//! A moment of a run → a terminal's screen; keys → the next view.
//!
//! Independent of any terminal: keys come as [`Key`]s, the screen is a buffer of cells. The program connects both to a
//! terminal, and to a stored or live run.
#![forbid(unsafe_code)]

mod columns;
mod draw;
mod key;
mod view;

#[cfg(test)]
mod tests;

pub use draw::{Scene, draw};
pub use key::Key;
pub use view::{Extent, Mode, Request, View};
