//! Tools run as child processes with a deadline, because the kernel may never answer them.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::RigError;

const POLL: Duration = Duration::from_millis(5);
/// Most lines of a tool's errors to report.
const ERROR_LINES: usize = 3;

/// The path of a system tool: PATH first, then the directories that an ordinary user's PATH lacks.
pub(crate) fn find_tool(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let extra = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(extra).map(|folder| folder.join(tool)).find(|file| file.is_file())
}

/// Runs a tool to its end and returns its output. Kills it at the deadline, and leaves it behind if it does not die
/// then (a process in uninterruptible sleep dies when it wakes).
pub(crate) fn run(command: &mut Command, deadline: Duration) -> Result<String, RigError> {
    run_with(command, Stdio::null(), deadline)
}

/// Like [`run`], with a standard input from which the tool reads nothing.
pub(crate) fn run_with(command: &mut Command, input: Stdio, deadline: Duration) -> Result<String, RigError> {
    let shown = format!("{command:?}").replace('"', "");
    let failed = |why: String| RigError::Tool { command: shown.clone(), why };
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).env("LC_ALL", "C");
    // A second Ctrl-C must not interrupt the removal.
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let (mut output, mut errors) = (Pipe::new(child.stdout.take()), Pipe::new(child.stderr.take()));
    let (started, mut unread) = (Instant::now(), None);
    let status = loop {
        // A tool with much output would otherwise block on a full pipe. One that cannot be read goes on, and must end
        // before what it makes is removed.
        let both = [output.read(), errors.read()].into_iter().collect::<io::Result<()>>();
        unread = unread.or(both.err());
        match child.try_wait().map_err(|error| failed(error.to_string()))? {
            Some(status) => break status,
            None if started.elapsed() < deadline => sleep(POLL),
            None => {
                let _ = child.kill();
                return Err(failed(format!("no answer within {} s", deadline.as_secs())));
            }
        }
    };
    if let Some(error) = unread {
        return Err(failed(error.to_string()));
    }
    let _ = (output.read(), errors.read());
    if status.success() { Ok(output.text()) } else { Err(failed(format!("{} ({status})", shortened(&errors.text())))) }
}

/// A tool's output, read while it runs by the thread that waits for it: a machine without a thread left must still be
/// able to remove resources.
struct Pipe {
    file: Option<File>,
    bytes: Vec<u8>,
}

impl Pipe {
    fn new(pipe: Option<impl Into<OwnedFd>>) -> Pipe {
        Pipe { file: pipe.map(|pipe| File::from(pipe.into())), bytes: Vec::new() }
    }

    /// Reads what is there.
    fn read(&mut self) -> io::Result<()> {
        let Some(mut file) = self.file.as_ref() else { return Ok(()) };
        rustix::fs::fcntl_setfl(file, OFlags::NONBLOCK)?;
        match file.read_to_end(&mut self.bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            end => end.map(drop),
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// The first error lines; a tool that removes files has one for each.
fn shortened(errors: &str) -> String {
    let lines: Vec<&str> = errors.trim().lines().collect();
    let shown = lines[..lines.len().min(ERROR_LINES)].join("; ");
    if lines.len() > ERROR_LINES { format!("{shown}; and {} more", lines.len() - ERROR_LINES) } else { shown }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{find_tool, run};

    #[test]
    fn output_failure_and_deadline_are_distinguished() {
        let limit = Duration::from_secs(60);
        assert_eq!(run(Command::new("echo").arg("a b"), limit).unwrap(), "a b\n");
        let error = run(Command::new("sh").args(["-c", "echo no such thing >&2; exit 3"]), limit).unwrap_err();
        assert!(error.to_string().contains("no such thing (exit status: 3)"), "{error}");
        let error = run(Command::new("sleep").arg("60"), Duration::from_millis(20)).unwrap_err();
        assert!(error.to_string().contains("no answer"), "{error}");
    }

    #[test]
    fn a_tool_with_much_output_does_not_block_and_its_errors_are_shortened() {
        let limit = Duration::from_secs(60);
        let error = run(Command::new("sh").args(["-c", "seq 100000 >&2; exit 1"]), limit).unwrap_err().to_string();
        assert!(error.ends_with("1; 2; 3; and 99997 more (exit status: 1)"), "{error}");
        assert_eq!(run(Command::new("seq").arg("100000"), limit).unwrap().lines().count(), 100_000);
    }

    /// What a daemon of the tool inherits, it keeps open.
    #[test]
    fn a_tool_whose_child_keeps_its_output_is_not_waited_for() {
        let started = std::time::Instant::now();
        let text = run(Command::new("sh").args(["-c", "echo done; sleep 30 &"]), Duration::from_secs(20)).unwrap();
        assert_eq!(text, "done\n");
        assert!(started.elapsed() < Duration::from_secs(15));
    }

    #[test]
    fn a_missing_tool_is_not_found() {
        assert!(find_tool("sh").is_some());
        assert!(find_tool("stallscope-no-such-tool").is_none());
    }
}
