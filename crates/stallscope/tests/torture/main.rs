//! Attacks on the program and its archive: `make torture`. Not part of `make test`, since it takes as long as one
//! likes.
//!
//! `cargo test -p stallscope --test torture -- [kill|power|faults|memory|damage|crafted|disturb|ceilings] [VICTIM]
//! [--seed N] [--points N] [--jobs N]`. The seed chooses the attacks; the same seed chooses the same ones again.
//! `faults --at TEXT` tries those that contain a text, such as `ENOMEM at statx /dev/shm`. `damage --every-byte
//! [--flips N]` truncates each file at each byte instead. docs/RELIABILITY.md has the figures.
#![allow(unreachable_pub)]
#![deny(unsafe_code)]

mod aftermath;
mod calls;
mod ceilings;
mod crafted;
mod damage;
// One method is for the tests of the program, which share it.
#[allow(dead_code)]
mod disk;
mod disturb;
mod every_byte;
mod faults;
mod kill;
mod pool;
mod power;
mod random;
#[allow(dead_code)]
mod reading;
mod remains;
mod report;
mod sites;
#[allow(unsafe_code)]
mod sys;
#[allow(dead_code)]
mod ui;
mod victim;

use std::process::ExitCode;
use std::time::Instant;

const CAMPAIGNS: [&str; 8] = ["kill", "power", "faults", "memory", "damage", "crafted", "disturb", "ceilings"];
const POINTS: u64 = 200;
/// Of both runs together.
const FLIPS: u64 = 100_000;
/// Points at a time: the victims mostly sleep.
const JOBS: u64 = 6;

/// What a campaign attacks.
struct Plan {
    seed: u64,
    /// Of each victim.
    points: u64,
    at_a_time: usize,
    /// Of the campaign that damages files: each byte instead of points, and that many bits.
    flips: Option<u64>,
    /// Of failing calls only those whose name, such as `ENOMEM at statx /dev/shm`, contains it.
    at: Option<String>,
    /// The only one.
    victim: Option<&'static str>,
}

impl Plan {
    fn is_at(&self, name: &str) -> bool {
        self.at.as_ref().is_none_or(|at| name.contains(at))
    }

    fn victims(&self) -> impl Iterator<Item = victim::Victim> {
        victim::VICTIMS.iter().copied().filter(|victim| self.victim.is_none_or(|name| victim.name == name))
    }
}

fn main() -> ExitCode {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: the attacks need root");
        return ExitCode::SUCCESS;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let given = |name: &str, otherwise: u64| option(&words, name).unwrap_or(otherwise);
    let victim = victim::VICTIMS.iter().map(|victim| victim.name).find(|name| words.iter().any(|word| word == name));
    let plan = Plan {
        seed: given("--seed", 1),
        points: given("--points", POINTS),
        at_a_time: given("--jobs", JOBS) as usize,
        flips: words.iter().any(|word| word == "--every-byte").then(|| given("--flips", FLIPS)),
        at: words.iter().position(|word| word == "--at").and_then(|position| words.get(position + 1).cloned()),
        victim,
    };
    remains::remove().iter().for_each(|removed| println!("{removed}"));
    let is_named = |name: &&str| words.iter().any(|word| word == name);
    let any_named = CAMPAIGNS.iter().any(is_named);
    let mut held = true;
    for campaign in CAMPAIGNS.iter().filter(|name| !any_named || is_named(name)) {
        let began = Instant::now();
        let report = match *campaign {
            "kill" => kill::campaign(&plan),
            "power" => power::campaign(&plan),
            "faults" => faults::campaign(&plan),
            "memory" => faults::allocations(&plan),
            "damage" => damage::campaign(&plan),
            "crafted" => crafted::campaign(&plan),
            "disturb" => disturb::campaign(),
            _ => ceilings::campaign(),
        };
        held &= report.print(&format!("{campaign}, seed {}", plan.seed), began.elapsed());
    }
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn option(words: &[String], name: &str) -> Option<u64> {
    let position = words.iter().position(|word| word == name)?;
    words.get(position + 1)?.parse().ok()
}
