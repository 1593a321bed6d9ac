//! `--on-stall-exec`: a program that is started for each kept run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::thread;

use crate::ui::failure::Failure;

/// A program that exists and can be started.
#[derive(Debug)]
pub struct Hook {
    program: PathBuf,
    /// Programs being started: their disk may stall as well.
    starting: Arc<AtomicUsize>,
}

impl Hook {
    /// Finds the program: a path, or a name in `PATH`. It is a program, not a command line: no shell parses it.
    pub fn find(program: &OsStr) -> Result<Hook, Failure> {
        let shown = program.to_string_lossy();
        let is_path = program.as_encoded_bytes().contains(&b'/');
        let path = std::env::var_os("PATH").unwrap_or_default();
        let candidates: Vec<PathBuf> = match is_path {
            true => std::path::absolute(program).into_iter().collect(),
            false => std::env::split_paths(&path).map(|folder| folder.join(program)).collect(),
        };
        let executable = |path: &&PathBuf| path.is_file() && is_executable(path);
        if let Some(found) = candidates.iter().find(executable) {
            return Ok(Hook { program: found.clone(), starting: Arc::default() });
        }
        let why = match candidates.iter().any(|path| path.is_file()) {
            true => "it is not executable",
            false if shown.contains(char::is_whitespace) => {
                "the program takes no arguments; put a command line into a script"
            }
            false if is_path => "no such file",
            false => "not found in PATH",
        };
        Err(Failure::usage(format_args!("--on-stall-exec: cannot start '{shown}': {why}")))
    }

    /// Starts the program in the background, in a clean environment. The kept run's directory is its only argument,
    /// also in `STALLSCOPE_RUN`; `STALLSCOPE_REASON` holds the reason. A failure is sent to `complaints`.
    pub fn start(&self, run: &Path, reason: &str, complaints: &Sender<String>) {
        let mut command = Command::new(&self.program);
        // Standard output may be reserved for a JSON document.
        rig::clean_environment(command.arg(run)).env("STALLSCOPE_RUN", run).env("STALLSCOPE_REASON", reason);
        command.stdin(Stdio::null()).stdout(std::io::stderr());
        let (program, complain, starting) = (self.program.clone(), complaints.clone(), Arc::clone(&self.starting));
        starting.fetch_add(1, Ordering::Relaxed);
        let body = move || {
            let child = command.spawn();
            starting.fetch_sub(1, Ordering::Relaxed);
            let problem = match child.and_then(|mut child| child.wait()) {
                Ok(status) if status.success() => return,
                Ok(status) => format!("ended with {status}"),
                Err(error) => format!("cannot be started: {error}"),
            };
            let _ = complain.send(format!("--on-stall-exec: {} {problem}", program.display()));
        };
        if let Err(error) = thread::Builder::new().name("on-stall-exec".into()).spawn(body) {
            self.starting.fetch_sub(1, Ordering::Relaxed);
            let _ = complaints.send(format!("--on-stall-exec: cannot start a thread: {error}"));
        }
    }

    /// Whether a program is still being started. Once started, it runs independently.
    pub fn is_starting(&self) -> bool {
        self.starting.load(Ordering::Relaxed) > 0
    }
}

fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::Hook;

    #[test]
    fn a_program_is_found_or_refused_with_a_remedy() {
        assert!(Hook::find(OsStr::new("true")).is_ok());
        for (program, why) in [
            ("/nonexistent/program", "no such file"),
            ("no-such-program-here", "not found in PATH"),
            ("logger -t stall", "the program takes no arguments"),
            ("/etc/passwd", "it is not executable"),
            ("", "not found in PATH"),
        ] {
            let refused = Hook::find(OsStr::new(program)).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn its_failure_is_reported() {
        let (complain, complaints) = channel();
        Hook::find(OsStr::new("false")).unwrap().start("/tmp".as_ref(), "a stall", &complain);
        let text = complaints.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(text.contains("/false ended with exit status: 1"), "{text}");
    }
}
