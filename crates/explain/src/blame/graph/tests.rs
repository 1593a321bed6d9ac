//! Drawn timelines and their answers.

mod chains;
mod lower_device;
mod waits;
mod workers;
