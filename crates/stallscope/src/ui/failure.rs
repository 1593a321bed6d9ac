//! How the program ends when it cannot do what was asked.

use std::fmt;
use std::process::ExitCode;

/// Exit codes, as documented in the manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done.
    Done = 0,
    /// The run found errors: failed operations, a command that failed, an archive that is not whole.
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

/// One clear error: what is wrong with which thing, and what to do about it.
#[derive(Debug)]
pub struct Failure {
    /// The exit code it leads to.
    pub exit: Exit,
    message: String,
}

impl Failure {
    /// The user's words are wrong.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Usage, message: message.to_string() }
    }

    /// The machine cannot do it.
    pub fn machine(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Machine, message: message.to_string() }
    }

    /// Somebody else's failure, told as our own: what the other ended with decides.
    pub fn like(exit_code: Option<i32>, message: impl fmt::Display) -> Failure {
        let exit = if exit_code == Some(Exit::Usage as i32) { Exit::Usage } else { Exit::Machine };
        Failure { exit, message: message.to_string() }
    }

    /// The thing was done and came out bad.
    pub fn found(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::FoundErrors, message: message.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
