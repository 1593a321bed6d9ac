//! Small timelines, and what must be said of them.

mod accounting;
mod chains;
mod operations;
mod rules;
mod stage;
