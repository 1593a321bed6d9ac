//! Drawn timelines and their answers.

mod operations;
mod series;
mod server_threads;
mod unfinished;
