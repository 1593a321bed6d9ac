//! Drawn timelines and their answers.

mod asynchronous;
mod operations;
mod scope;
mod series;
mod server_threads;
mod short_waits;
mod unfinished;
