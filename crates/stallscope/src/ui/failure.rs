//! Exit codes, and errors that end the program.

use std::fmt;
use std::io;
use std::process::{ExitCode, ExitStatus};

/// Exit codes, as documented in the manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done,
    /// The run found errors (failed operations, a failed command), or its archive is damaged.
    FoundErrors,
    /// The command line, or a path or file that it names, is wrong.
    Usage,
    /// The machine cannot do it: permission, space, a missing kernel feature.
    Machine,
    /// Interrupted, and stopped cleanly.
    Interrupted,
    /// That of the recorded command.
    Command(u8),
}

impl Exit {
    /// A command's exit code as a shell reports it: 128 and the signal that killed it.
    pub fn of_command(status: ExitStatus) -> Exit {
        use std::os::unix::process::ExitStatusExt;
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Exit::Command(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
    }

    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::FoundErrors => 1,
            Exit::Usage => 2,
            Exit::Machine => 3,
            Exit::Interrupted => 130,
            Exit::Command(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
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
        Failure { exit: Exit::Usage, message: in_words(&message.to_string()) }
    }

    /// The machine cannot do it.
    pub fn machine(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Machine, message: in_words(&message.to_string()) }
    }

    /// A path that the command line names. It is wrong (missing, of another type, in the way) or unreadable as what it
    /// should be: a usage error. Anything else the system refused: permission, space, an I/O error.
    pub fn path(error: &io::Error, message: impl fmt::Display) -> Failure {
        use io::ErrorKind as Kind;
        let exit = match error.kind() {
            Kind::NotFound | Kind::NotADirectory | Kind::IsADirectory | Kind::AlreadyExists => Exit::Usage,
            Kind::InvalidData | Kind::InvalidFilename => Exit::Usage,
            _ => Exit::Machine,
        };
        Failure { exit, message: in_words(&message.to_string()) }
    }

    /// The failure of a child process; its exit code decides ours.
    pub fn like(exit_code: Option<i32>, message: impl fmt::Display) -> Failure {
        let exit = if exit_code == Some(Exit::Usage.code().into()) { Exit::Usage } else { Exit::Machine };
        Failure { exit, message: in_words(&message.to_string()) }
    }

    /// The same without its message, if that has been printed: then only the exit code is left.
    #[cfg(feature = "mpi")]
    pub fn unless_said(self, said: Option<&str>) -> Failure {
        let is_said = said.is_some_and(|said| in_words(said) == self.message);
        Failure { message: if is_said { String::new() } else { self.message }, ..self }
    }

    /// The recorded command failed; its exit code is ours.
    pub fn of_command(status: ExitStatus, message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::of_command(status), message: in_words(&message.to_string()) }
    }

    /// The command completed and found errors.
    pub fn found(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::FoundErrors, message: in_words(&message.to_string()) }
    }
}

/// Without the numbers that the standard library adds to the system's errors: the words say the same.
pub(super) fn in_words(message: &str) -> String {
    let (mut words, mut rest) = (String::with_capacity(message.len()), message);
    while let Some((before, after)) = rest.split_once(" (os error ") {
        words.push_str(before);
        rest = match after.split_once(')').filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit())) {
            Some((_, rest)) => rest,
            None => {
                words.push_str(" (os error ");
                after
            }
        };
    }
    words + rest
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn errors_have_no_numbers() {
        for (message, expected) in [
            ("/x: cannot open: No such file or directory (os error 2)", "/x: cannot open: No such file or directory"),
            ("a (os error 2), b (os error 28)", "a, b"),
            ("/dir (os error x)/y", "/dir (os error x)/y"),
            ("/dir (os error 2", "/dir (os error 2"),
        ] {
            assert_eq!(super::in_words(message), expected);
        }
    }
}
