//! Tools run as children with a deadline, because the kernel may never answer them.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::RigError;

const POLL: Duration = Duration::from_millis(5);

/// Where a system tool is: PATH first, then the directories that a plain user's PATH leaves out.
pub(crate) fn find_tool(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let extra = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(extra).map(|folder| folder.join(tool)).find(|file| file.is_file())
}

/// Runs a tool to its end and returns what it printed. It is killed at the deadline, and left behind if it does not die
/// then either (a process in an uninterruptible sleep dies when it wakes).
pub(crate) fn run(command: &mut Command, deadline: Duration) -> Result<String, RigError> {
    let shown = format!("{command:?}").replace('"', "");
    let failed = |why: String| RigError::Tool { command: shown.clone(), why };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).env("LC_ALL", "C");
    // A second Ctrl-C must not cut off what takes things away.
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| failed(error.to_string()))? {
            Some(status) => break status,
            None if started.elapsed() < deadline => sleep(POLL),
            None => {
                let _ = child.kill();
                return Err(failed(format!("no answer within {} s", deadline.as_secs())));
            }
        }
    };
    let (mut output, mut errors) = (String::new(), String::new());
    let _ = child.stdout.take().map(|mut pipe| pipe.read_to_string(&mut output));
    let _ = child.stderr.take().map(|mut pipe| pipe.read_to_string(&mut errors));
    if status.success() { Ok(output) } else { Err(failed(format!("{} ({status})", errors.trim().replace('\n', "; ")))) }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{find_tool, run};

    #[test]
    fn output_failure_and_deadline_are_told_apart() {
        let limit = Duration::from_secs(10);
        assert_eq!(run(Command::new("echo").arg("a b"), limit).unwrap(), "a b\n");
        let error = run(Command::new("sh").args(["-c", "echo no such thing >&2; exit 3"]), limit).unwrap_err();
        assert!(error.to_string().contains("no such thing (exit status: 3)"), "{error}");
        let error = run(Command::new("sleep").arg("60"), Duration::from_millis(20)).unwrap_err();
        assert!(error.to_string().contains("no answer"), "{error}");
    }

    #[test]
    fn a_missing_tool_is_not_found() {
        assert!(find_tool("sh").is_some());
        assert!(find_tool("stallscope-no-such-tool").is_none());
    }
}
