//! The truth about a lake: its events, and which seed each stall's fingerprint comes from.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::day::Seeds;
use crate::event::Event;
use crate::host::Host;

/// Writes `DIR.truth.json`.
pub(crate) fn write(lake: &Path, hosts: &[Host], events: &[Event], seeds: &Seeds) -> std::io::Result<()> {
    let event = |event: &Event| {
        let names: Vec<&str> = event.hosts.iter().map(|&number| hosts[number].name.as_str()).collect();
        json!({ "seed": event.seed, "since_day": event.since, "hosts": names, "often": event.factors.0,
            "long": event.factors.1 })
    };
    let seed = |((fingerprint, seed), stalls): (&(String, String), &u64)| json!({ "fingerprint": fingerprint,
        "seed": seed, "stalls": stalls });
    let truth = json!({
        "events": events.iter().map(event).collect::<Vec<_>>(),
        "seeds": seeds.iter().map(seed).collect::<Vec<_>>(),
    });
    let name = lake.file_name().unwrap_or_default().to_string_lossy();
    fs::write(lake.with_file_name(format!("{name}.truth.json")), format!("{truth:#}\n"))
}
