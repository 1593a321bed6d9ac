//! Plays each model at its defaults, for each of its policies, and says how many events of it happened in a second of ours:
//! `cargo run --release -p simulate --example events_per_second [MODEL]`.

use std::time::Instant;

use simulate::models;
use simulate::observer::Unobserved;
use simulate::parameter::{SettingError, Settings};

fn main() -> Result<(), SettingError> {
    let only = std::env::args().nth(1);
    println!("{:10} {:20} {:>12} {:>10} {:>14}", "model", "policy", "events", "seconds", "events/s");
    for model in models::ALL.iter().filter(|model| only.as_deref().is_none_or(|only| only == model.name)) {
        for policy in model.policies {
            let settings = Settings::new(model.parameters);
            let start = Instant::now();
            let outcome = (model.play)(policy.name, &settings, 1, &mut Unobserved)?;
            let seconds = start.elapsed().as_secs_f64();
            let rate = outcome.events as f64 / seconds;
            println!("{:10} {:20} {:12} {seconds:10.3} {rate:14.0}", model.name, policy.name, outcome.events);
        }
    }
    Ok(())
}
