//! Exit codes, and errors that end the program.

use std::fmt;
use std::process::ExitCode;

/// Exit codes, as documented in the manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// The run found errors: failed operations, a failed command, an incomplete archive.
    FoundErrors = 1,
    /// The command line or a file given by the user is wrong.
    Usage = 2,
    /// The machine cannot do it: permission, space, a missing kernel feature.
    Machine = 3,
    /// Interrupted, and stopped cleanly.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// An error: what is wrong with which thing, and the remedy.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    message: String,
}

impl Failure {
    /// A usage error.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Usage, message: message.to_string() }
    }

    /// The machine cannot do it.
    pub fn machine(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Machine, message: message.to_string() }
    }

    /// The failure of a child process; its exit code decides ours.
    pub fn like(exit_code: Option<i32>, message: impl fmt::Display) -> Failure {
        let exit = if exit_code == Some(Exit::Usage as i32) { Exit::Usage } else { Exit::Machine };
        Failure { exit, message: message.to_string() }
    }

    /// The command completed and found errors.
    pub fn found(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::FoundErrors, message: message.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
