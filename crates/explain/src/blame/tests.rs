//! Small timelines, and what must be said of them.

mod books;
mod chains;
mod operations;
mod rules;
mod stage;
