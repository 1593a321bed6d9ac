//! Small drawn timelines and their expected explanations.

mod accounting;
mod chains;
mod operations;
mod rules;
mod stage;
