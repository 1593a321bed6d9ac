//! Drawn timelines and their answers.

mod accounting;
mod failures;
mod lanes;
mod scope;
mod served;
mod short_waits;
mod untraced;
