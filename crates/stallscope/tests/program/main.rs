//! The program from outside: what it prints, leaves behind and removes, on real disks and cgroups.
//!
//! As root no test is skipped. Without root, tests that need it print `skipped: <why>`.
#![allow(unreachable_pub)]

#[path = "../../../page/src/tests/browser.rs"]
mod browser;
#[path = "../truth/drift.rs"]
mod drift;
#[path = "../corpus/pack.rs"]
#[allow(dead_code)]
mod pack;
#[path = "../torture/disk.rs"]
#[allow(dead_code)]
mod recorded_disk;
#[path = "../torture/remains.rs"]
#[allow(dead_code)]
mod remains;
mod stage;

mod advising;
mod anonymizing;
mod archive_disk;
mod bad_input;
mod bonnie;
mod campaigns;
mod clock_step;
mod comparing;
mod crafted_numbers;
mod crashed;
mod damaged;
mod data_set;
mod doctor;
mod documents;
mod drifting;
mod errors;
mod explaining;
mod exporting;
mod failing_disk;
mod flight;
mod foreign_files;
mod frozen;
mod fsmark;
mod full_disk;
mod funclat;
mod hostile;
mod installing;
mod interrupts;
mod ior;
mod judging;
mod killed;
mod lake;
#[cfg(not(feature = "mpi"))]
mod launchers;
mod live;
mod lossy;
mod many_requests;
mod mdtest;
mod memory_cgroups;
mod odd_names;
mod ordinary_user;
mod outputs;
mod packing;
mod pictures;
mod plan;
mod power_cut;
mod recording;
mod replaying;
mod sets;
mod sharing;
mod side_by_side;
mod simoop_lines;
mod simulating;
mod spoiled;
mod streams;
mod sweeping;
mod top;
mod trial;
mod trial_limits;
mod trusted_data;
mod untraceable;
mod user_stacks;
mod viewing;
