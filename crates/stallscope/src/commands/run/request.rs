//! A request to run a workload, and its options.

use std::path::PathBuf;

use clap::Args;
use load::recipe::Recipe;

use crate::reading::form::Format;
use crate::recording::args::RecordingArgs;
use crate::ui::failure::Failure;

/// Argument id of the flag that names directories.
pub const DIRECTORY_FLAG: &str = "directory flag";
/// A request to run a workload.
#[derive(Debug)]
pub struct RunRequest {
    /// The recipe.
    pub recipe: Recipe,
    /// Variables that the user set, as text.
    pub settings: Vec<(String, String)>,
    /// The options common to all workloads.
    pub args: RunArgs,
    /// Further fields of the original tool's output, stored with the recipe's words.
    pub notes: Vec<(String, String)>,
    /// File to append the figures to, in the original tool's format.
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
            return Err(Failure::usage(format_args!("{flag} {text}: at most {} parts, {known}", variables.len())));
        }
        for (variable, part) in variables.iter().zip(parts) {
            if !part.is_empty() {
                self.set(variable, part);
            } else if *variable == variables[0] {
                return Err(Failure::usage(format_args!("{flag} {text}: the part before the first colon is empty")));
            }
        }
        Ok(())
    }
}

/// Options common to all workloads of `run`.
#[derive(Debug, Args, Clone)]
pub struct RunArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub recording: RecordingArgs,
    /// Seed of the load's random choices [default: from the clock; recorded].
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub seed: Option<u64>,
    /// Print the plan (threads, bytes, memory, space) and exit.
    #[arg(long, conflicts_with_all = ["group", "mode"], help_heading = "Run")]
    pub plan: bool,
    /// Run in the current directory, however long the load takes and however large it is.
    #[arg(long, conflicts_with_all = ["directories", "plan"], help_heading = "Run")]
    pub yes: bool,
    /// Keep the data set; the next run of the same recipe reuses it.
    #[arg(long, help_heading = "Run")]
    pub keep: bool,
    /// Verify after a crash: read back what a killed run with --verify had made durable. Write nothing and keep the
    /// data. Pass the same directories in the same order.
    #[arg(long, help_heading = "Run")]
    pub verify_after_crash: bool,
    /// Ignore the space and memory checks. Never touches data that Stallscope did not create.
    #[arg(long, help_heading = "Run")]
    pub force: bool,
    /// Stop as on Ctrl-C when the parent process dies. Passed by `sweep`.
    #[arg(long, hide = true, value_name = "PID")]
    pub with_parent: Option<i32>,
    /// Output format: Stallscope's, or that of the tool that the workload reproduces.
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "json", help_heading = "Run")]
    pub format: Format,
    /// Directories under test, one per file system [default: the current directory; a large load needs --yes].
    #[arg(value_name = "DIR")]
    pub directories: Vec<PathBuf>,
}

impl RunArgs {
    /// The directories under test: those given, or the current directory.
    pub fn directories(&self) -> Vec<PathBuf> {
        if self.directories.is_empty() { vec![PathBuf::from(".")] } else { self.directories.clone() }
    }
}
