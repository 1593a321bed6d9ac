//! Flags of original programs that have a form of their own (`-s 2g:8k`), or that are about the program and not about its
//! work (`-u root`): what they say becomes settings of the recipe and options of the run.

mod bonnie;
mod ior;

use clap::{ArgMatches, Command};

use crate::failure::Failure;
use crate::workload::Asked;

/// A shipped workload's command with the flags of its original that its recipe does not have.
pub fn extend(workload: &str, command: Command) -> Command {
    match workload {
        "bonnie" => bonnie::extend(command),
        "ior" => ior::extend(command),
        _ => command,
    }
}

/// Turns what was given in an original's own form into settings.
pub fn take(workload: &str, matches: &ArgMatches, asked: &mut Asked) -> Result<(), Failure> {
    match workload {
        "bonnie" => bonnie::take(matches, asked),
        "ior" => ior::take(matches, asked),
        _ => Ok(()),
    }
}

/// The text that the user gave a variable.
fn given<'a>(asked: &'a Asked, variable: &str) -> Option<&'a str> {
    asked.settings.iter().find(|(name, _)| name == variable).map(|(_, text)| text.as_str())
}

/// Gives a variable a text, in the place of an earlier one.
fn set(asked: &mut Asked, variable: &str, text: &str) {
    asked.settings.retain(|(name, _)| name != variable);
    asked.settings.push((variable.to_owned(), text.to_owned()));
}

/// Takes `A:B:C`, given to the first of the variables, apart. A part that is empty or missing stays unset.
fn split(asked: &mut Asked, flag: &str, variables: &[&str]) -> Result<(), Failure> {
    let Some(text) = given(asked, variables[0]).map(str::to_owned) else { return Ok(()) };
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > variables.len() {
        let known = variables.join(":");
        return Err(Failure::usage(format_args!(
            "{flag} {text}: there are {} parts at most, {known}",
            variables.len()
        )));
    }
    for (variable, part) in variables.iter().zip(parts) {
        if !part.is_empty() {
            set(asked, variable, part);
        } else if *variable == variables[0] {
            return Err(Failure::usage(format_args!("{flag} {text}: there is nothing before the first colon")));
        }
    }
    Ok(())
}
