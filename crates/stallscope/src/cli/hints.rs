//! What clap's errors do not know: the remedy for a few frequent mistakes.

use std::ffi::OsString;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The two forms of `compare`.
const SIDES: &str =
    "compare two sides with '--a RUN... --b RUN...', or a directory of runs by configuration with 'DIR'";

/// The command line with `help --help` as `help`: clap takes the flag for the name of a command.
pub fn without_help_of_help(words: &[OsString]) -> Vec<OsString> {
    let is_help = |word: &&OsString| *word == "--help" || *word == "-h";
    let has_models = words.get(1).is_some_and(|word| word == "run" || word == "simulate");
    let at = if has_models { 2 } else { 1 };
    match words.get(at) {
        Some(word) if word == "help" => words.iter().filter(|word| !is_help(word)).cloned().collect(),
        _ => words.to_vec(),
    }
}

/// The error with the remedy, where it is known.
pub fn with_remedy(mut error: Error, words: &[OsString]) -> Error {
    let command = words.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    let unknown = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) => Some(word.clone()),
        _ => None,
    };
    if let Some(negative) = unknown.as_deref().and_then(|unknown| negative_value(unknown, words)) {
        return negative;
    }
    let is_word = unknown.as_deref().is_some_and(|unknown| !unknown.starts_with('-'));
    let tip = match (command, &unknown) {
        ("record", Some(program)) if is_word => {
            Some(format!("to record a command, write it after '--': stallscope record -- {program} ..."))
        }
        ("run", Some(option)) if words.get(2).is_some_and(|word| word == option.as_str()) => {
            Some(format!("options of a workload follow its name: stallscope run WORKLOAD {option} ..."))
        }
        ("compare", None) if error.kind() == ErrorKind::MissingRequiredArgument => Some(SIDES.to_owned()),
        _ => None,
    };
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// A negative number where an option has its value: clap takes it for a flag, and advises to write it after `--`, where
/// it would be a path.
fn negative_value(unknown: &str, words: &[OsString]) -> Option<Error> {
    unknown.strip_prefix('-')?.chars().next().filter(char::is_ascii_digit)?;
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let pair = words.windows(2).find(|pair| pair[1].starts_with(unknown) && pair[0].starts_with('-'))?;
    let text = format!("invalid value '{}' for '{}': must not be negative\n", pair[1], pair[0]);
    Some(Error::raw(ErrorKind::InvalidValue, text))
}
