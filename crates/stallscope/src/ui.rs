//! What every command shows, how it is interrupted and how it fails.

pub mod args;
pub mod companion;
pub mod failure;
pub mod interrupt;
pub mod privilege;
pub mod screen;
mod spinner;
