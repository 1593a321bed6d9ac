//! Restoring the earlier value of a kernel setting.

use std::fs;
use std::path::Path;

use crate::outcome::Outcome;

/// The current value of a setting: the word in brackets if it is a list, `none [mq-deadline] bfq`.
pub(crate) fn present(file: &Path) -> std::io::Result<String> {
    let text = fs::read_to_string(file)?;
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Ok(chosen.unwrap_or(text.trim()).split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Restores the earlier value if the setting still has ours.
pub(super) fn restore_setting(file: &Path, ours: &str, restore_file: &Path, restore: &str) -> Outcome {
    match present(file) {
        Ok(now) if now == ours => {
            fs::write(restore_file, restore).map(|()| Some("restored")).map_err(|error| error.to_string())
        }
        // The device is gone, or another program has changed it since.
        _ => Ok(None),
    }
}
