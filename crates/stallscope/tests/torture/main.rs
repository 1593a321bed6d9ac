//! Attacks on the program and its archive: `make torture`. Not part of `make test`, since it takes as long as one likes.
//!
//! `cargo test -p stallscope --test torture -- [kill|power|faults|memory|damage|crafted|disturb|ceilings] [VICTIM] [--seed N] [--points N] [--jobs N]`. The seed chooses the
//! attacks; the same seed chooses the same ones again. docs/RELIABILITY.md has the figures.
#![allow(unreachable_pub)]
#![deny(unsafe_code)]

mod aftermath;
mod calls;
mod ceilings;
mod crafted;
mod damage;
mod disk;
mod disturb;
mod faults;
mod kill;
mod pool;
mod power;
mod random;
mod report;
mod sites;
#[allow(unsafe_code)]
mod sys;
mod victim;

use std::process::ExitCode;
use std::time::Instant;

const CAMPAIGNS: [&str; 8] = ["kill", "power", "faults", "memory", "damage", "crafted", "disturb", "ceilings"];
const POINTS: u64 = 200;
/// Points at a time: the victims mostly sleep.
const JOBS: u64 = 6;

/// What a campaign attacks.
struct Plan {
    seed: u64,
    /// Of each victim.
    points: u64,
    at_a_time: usize,
    /// The only one.
    victim: Option<&'static str>,
}

impl Plan {
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
        victim,
    };
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
