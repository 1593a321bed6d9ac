//! Drawn timelines and their answers.

mod asked_by_pipe;
mod clients;
mod equal_waits;
mod greetings;
mod hangs;
mod idle_turns;
mod interrupted;
mod locks;
mod never_idle;
mod old_requests;
mod worker_waits;
