//! Drawn timelines and their answers.

mod precedence;
