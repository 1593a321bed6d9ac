//! Runs each model at its defaults, with each of its policies, and prints how many simulated events a second of real
//! time covers: `cargo bench -p simulate --bench events_per_second [MODEL]`.

use std::time::Instant;

use simulate::models;
use simulate::observer::Unobserved;
use simulate::parameter::{SettingError, Settings};

fn main() -> Result<(), SettingError> {
    // cargo adds `--bench`.
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    println!("{:10} {:20} {:>12} {:>10} {:>14}", "model", "policy", "events", "seconds", "events/s");
    for model in models::ALL.iter().filter(|model| only.as_deref().is_none_or(|only| only == model.name)) {
        for policy in model.policies {
            let settings = Settings::new(model.parameters);
            let start = Instant::now();
            let outcome = (model.run)(policy.name, &settings, 1, &mut Unobserved)?;
            let seconds = start.elapsed().as_secs_f64();
            let rate = outcome.events as f64 / seconds;
            println!("{:10} {:20} {:12} {seconds:10.3} {rate:14.0}", model.name, policy.name, outcome.events);
        }
    }
    Ok(())
}
