//! Answers of verdicts, and what holds of all of them.

mod built;
mod hangs;
mod slow;
mod text;
