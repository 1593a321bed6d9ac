//! Drawn timelines and their answers.

mod accounting;
mod failures;
mod lanes;
mod served;
mod untraced;
