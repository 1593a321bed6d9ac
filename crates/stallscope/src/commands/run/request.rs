//! What `run` is asked to do.

use std::path::PathBuf;

use clap::Args;
use load::recipe::Recipe;

use crate::reading::form::Format;
use crate::recording::args::RecordingArgs;
use crate::ui::failure::Failure;

/// Identity of the flag that names directories.
pub const DIRECTORY_FLAG: &str = "directory flag";
/// What `run` is asked to do.
#[derive(Debug)]
pub struct RunRequest {
    /// The recipe.
    pub recipe: Recipe,
    /// Variables that the user set, with their text.
    pub settings: Vec<(String, String)>,
    /// The options that every workload has.
    pub args: RunArgs,
    /// What else the figures of the original would carry: stored with the recipe's words.
    pub notes: Vec<(String, String)>,
    /// The file to which the figures are appended in the original's form.
    pub log: Option<PathBuf>,
}

impl RunRequest {
    /// The text that the user set a variable to.
    pub fn given(&self, variable: &str) -> Option<&str> {
        self.settings.iter().find(|(name, _)| name == variable).map(|(_, text)| text.as_str())
    }

    /// Sets a variable, replacing an earlier value.
    pub fn set(&mut self, variable: &str, text: &str) {
        self.settings.retain(|(name, _)| name != variable);
        self.settings.push((variable.to_owned(), text.to_owned()));
    }

    /// Splits `A:B:C`, given to the first variable, among all of them. An empty or missing part stays unset.
    pub fn split(&mut self, flag: &str, variables: &[&str]) -> Result<(), Failure> {
        let Some(text) = self.given(variables[0]).map(str::to_owned) else { return Ok(()) };
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
                self.set(variable, part);
            } else if *variable == variables[0] {
                return Err(Failure::usage(format_args!("{flag} {text}: there is nothing before the first colon")));
            }
        }
        Ok(())
    }
}

/// Options of every `run`, whatever the recipe.
#[derive(Debug, Args, Clone)]
pub struct RunArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub recording: RecordingArgs,
    /// Seed of the load's random choices [default: from the clock, and recorded].
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub seed: Option<u64>,
    /// Say what would be done (threads, bytes, memory, space), and stop.
    #[arg(long, help_heading = "Run")]
    pub plan: bool,
    /// Keep the data set; the next run of the same recipe uses it again.
    #[arg(long, help_heading = "Run")]
    pub keep: bool,
    /// Write nothing: read back what a run with --verify, which was killed, had made durable, and judge it. Give the
    /// directories as they were given then. The data stays where it is.
    #[arg(long, help_heading = "Run")]
    pub verify_after_crash: bool,
    /// Go on though space or memory would not do. Never touches data of others.
    #[arg(long, help_heading = "Run")]
    pub force: bool,
    /// Stop as at Ctrl-C when the process that started this one dies: given by `sweep`.
    #[arg(long, hide = true, value_name = "PID")]
    pub with_parent: Option<i32>,
    /// Show the figures as text of our own, or in the form of the program that the workload comes from.
    #[arg(long, value_name = "FORM", default_value = "text", conflicts_with = "json", help_heading = "Run")]
    pub format: Format,
    /// Directories to load, one per file system [default: the current directory].
    #[arg(value_name = "DIR")]
    pub directories: Vec<PathBuf>,
}
