//! Putting the earlier value of a kernel setting back.

use std::fs;
use std::path::Path;

use crate::outcome::Outcome;

/// The value of a setting. Of a list of words the one in brackets is meant: `none [mq-deadline] bfq`.
pub(crate) fn present(file: &Path) -> std::io::Result<String> {
    let text = fs::read_to_string(file)?;
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Ok(chosen.unwrap_or(text.trim()).split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Puts the earlier value back, where the setting still has ours.
pub(super) fn put_back(file: &Path, ours: &str, restore_file: &Path, restore: &str) -> Outcome {
    match present(file) {
        Ok(now) if now == ours => {
            fs::write(restore_file, restore).map(|()| Some("put back")).map_err(|error| error.to_string())
        }
        // The device is gone, or somebody has changed it since.
        _ => Ok(None),
    }
}
