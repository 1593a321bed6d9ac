//! Drawn timelines and their answers.

mod accounting;
mod counted_again;
mod failures;
mod lanes;
mod scope;
mod served;
mod short_waits;
mod untraced;
