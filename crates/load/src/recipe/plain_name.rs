//! FileNames that can be part of a path and of a flag.

use super::section::{LocatedText, Section};
use crate::error::LoadError;

/// A name that can be part of a path and of a flag.
fn is_plain_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 48
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

pub(super) fn plain_name(section: &Section<'_>, name: LocatedText<String>) -> Result<String, LoadError> {
    if is_plain_name(&name.value) {
        return Ok(name.value);
    }
    let message =
        format!("'{}' cannot be a name: write a letter, then letters, digits, - or _ (at most 48)", name.value);
    Err(section.error(name.span, message))
}

/// The one letter of a `short` key.
pub(super) fn short_flag(section: &Section<'_>) -> Result<Option<char>, LoadError> {
    let Some(text) = section.text("short")? else { return Ok(None) };
    match text.value.chars().collect::<Vec<_>>()[..] {
        [letter] if letter.is_ascii_alphabetic() => Ok(Some(letter)),
        _ => Err(section.error(text.span, "'short' must be one letter")),
    }
}
