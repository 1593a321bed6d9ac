//! Drawn timelines and their answers.

mod asynchronous;
mod precedence;
