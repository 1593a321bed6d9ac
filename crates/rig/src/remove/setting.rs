//! Restoring the earlier value of a kernel setting.

use std::fs;
use std::path::Path;

use crate::effect;
use crate::outcome::Outcome;

/// The current value of a setting: the word in brackets if it is a list, `none [mq-deadline] bfq`; the rest of a
/// device's line in a file with a line for each device, and nothing if it has none.
pub(crate) fn present(file: &Path, device: Option<&str>) -> std::io::Result<String> {
    let text = fs::read_to_string(file)?;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(device) = device {
        let mut lines = text.lines().filter_map(|line| line.trim().split_once(' '));
        return Ok(lines.find(|(number, _)| *number == device).map_or_else(String::new, |(_, rest)| words(rest)));
    }
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Ok(words(chosen.unwrap_or(&text)))
}

/// Whether a setting has a value. Of `NAME=VALUE` pairs the kernel shows also those that were not written. A device
/// whose line says nothing has none. `max` of a CPU quota keeps the period (`max 100000`).
pub(crate) fn has(present: &str, value: &str) -> bool {
    let removes = |word: &str| word == "0" || word == "default" || word.ends_with("=max");
    let is_pairs = !value.is_empty() && value.split(' ').all(|word| word.contains('='));
    match () {
        () if present.is_empty() => value.is_empty() || value.split(' ').all(removes),
        () if value == "max" => present.split(' ').next() == Some("max"),
        () if is_pairs => value.split(' ').all(|pair| present.split(' ').any(|shown| shown == pair)),
        () => present == value,
    }
}

/// The text that is written for a value.
pub(crate) fn line(device: Option<&str>, value: &str) -> String {
    device.map_or_else(|| value.to_owned(), |device| format!("{device} {value}"))
}

/// Restores the earlier value if the setting still has ours.
pub(super) fn restore_setting(
    file: &Path,
    device: Option<&str>,
    ours: &str,
    restore_file: &Path,
    restore: &str,
) -> Outcome {
    match present(file, device) {
        Ok(now) if has(&now, ours) => effect::write(restore_file, line(device, restore))
            .map(|()| Some("restored"))
            .map_err(|error| error.to_string()),
        // The device is gone, or another program has changed it since.
        _ => Ok(None),
    }
}

/// Restores what the kernel changed along with another setting.
pub(super) fn restore_companion(file: &Path, restore: &str) -> Outcome {
    match present(file, None) {
        Ok(now) if now != restore => {
            effect::write(file, restore).map(|()| Some("restored")).map_err(|error| error.to_string())
        }
        _ => Ok(None),
    }
}
