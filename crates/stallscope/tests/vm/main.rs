//! The program on the second kernel, that of `make test-vm`: what the first one does not allow or have.
//!
//! scripts/test-vm alone builds and runs this; each test may use the whole machine.
#![allow(unreachable_pub)]

#[path = "../program/stage/mod.rs"]
#[allow(dead_code, unused_imports)]
mod stage;

mod blktrace;
mod cgroup_v2;
mod devices;
mod funclat;
mod tracer;
