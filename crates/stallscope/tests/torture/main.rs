//! Attacks on the program and its archive: `make torture`. Not part of `make test`, since it takes as long as one likes.
//!
//! `cargo test -p stallscope --test torture -- [kill|power|faults|memory|damage|crafted|disturb|ceilings] [VICTIM] [--seed N] [--points N]`. The seed chooses the
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
mod power;
mod random;
mod report;
#[allow(unsafe_code)]
mod sys;
mod victim;

use std::process::ExitCode;
use std::time::Instant;

const CAMPAIGNS: [&str; 8] = ["kill", "power", "faults", "memory", "damage", "crafted", "disturb", "ceilings"];
const POINTS: u64 = 200;

fn main() -> ExitCode {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: the attacks need root");
        return ExitCode::SUCCESS;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (seed, points) = (option(&words, "--seed").unwrap_or(1), option(&words, "--points").unwrap_or(POINTS));
    let victim = victim::VICTIMS.iter().map(|victim| victim.name).find(|name| words.iter().any(|word| word == name));
    let is_named = |name: &&str| words.iter().any(|word| word == name);
    let any_named = CAMPAIGNS.iter().any(is_named);
    let mut held = true;
    for campaign in CAMPAIGNS.iter().filter(|name| !any_named || is_named(name)) {
        let began = Instant::now();
        let report = match *campaign {
            "kill" => kill::campaign(seed, points, victim),
            "power" => power::campaign(seed, points),
            "faults" => faults::campaign(seed, points, victim),
            "memory" => faults::allocations(seed, points, victim),
            "damage" => damage::campaign(seed, points),
            "crafted" => crafted::campaign(seed, points),
            "disturb" => disturb::campaign(),
            _ => ceilings::campaign(),
        };
        let took_s = began.elapsed().as_secs();
        held &= report.print(&format!("{campaign}, seed {seed}, {took_s} s"));
    }
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn option(words: &[String], name: &str) -> Option<u64> {
    let position = words.iter().position(|word| word == name)?;
    words.get(position + 1)?.parse().ok()
}
