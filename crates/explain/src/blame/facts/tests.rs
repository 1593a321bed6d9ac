//! Drawn timelines and their answers.

mod cgroup_limits;
mod damage;
mod dirtying;
mod memory_limits;
mod steal;
