//! The program on the kernel of `make test-vm`: tests of features that other kernels lack or forbid.
//!
//! Only scripts/test-vm builds and runs this; each test may use the whole machine.
#![allow(unreachable_pub)]

#[path = "../program/stage/mod.rs"]
#[allow(dead_code, unused_imports)]
mod stage;

mod blktrace;
mod cgroup_v2;
mod devices;
mod failures;
mod funclat;
mod hotplug;
mod layers;
mod nfs;
mod scenes;
mod scsi;
mod stacks;
mod stalls;
mod systems;
mod tracer;
mod untraced;
