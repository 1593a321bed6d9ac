//! Removing a v1 throttle rule.

use std::fs;
use std::path::Path;

use super::existing::text;
use crate::effect;
use crate::outcome::Outcome;

/// A rule with another value is no longer ours and is left alone.
pub(super) fn lift(file: &Path, device: &str, value: u64) -> Outcome {
    match text(file)?.and_then(|text| rule(&text, device)) {
        Some(found) if found == value.to_string() => {
            effect::write(file, format!("{device} 0")).map(|()| Some("lifted")).map_err(|error| error.to_string())
        }
        _ => Ok(None),
    }
}

/// The value of a device's rule in a v1 file: lines of `major:minor value`.
pub(crate) fn rule_in(file: &Path, device: &str) -> Option<String> {
    rule(&fs::read_to_string(file).ok()?, device)
}

fn rule(text: &str, device: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(number, _)| *number == device)
        .map(|(_, value)| value.into())
}
