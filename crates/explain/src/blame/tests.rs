//! Small drawn timelines and their expected explanations.

mod accounting;
mod asynchronous;
mod beneath;
mod cgroup_limits;
mod chains;
mod clients;
mod damage;
mod dirtying;
mod handed_out;
mod idle_turns;
mod interrupted;
mod lanes;
mod locks;
mod memory_limits;
mod never_idle;
mod old_requests;
mod operations;
mod rules;
mod scope;
mod series;
mod served;
mod short_waits;
mod stage;
mod steal;
mod unfinished;
mod waits;
