//! What a command printed. `Command::output` panics where a pipe cannot be read.

use std::io::{self, Read};
use std::process::{Child, Command, Output, Stdio};
use std::thread::{Builder, scope};

/// Runs a command to its end. One whose output cannot be read is killed.
pub(super) fn captured(command: &mut Command) -> io::Result<Output> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let read = both(&mut child);
    if read.is_err() {
        let _ = child.kill();
    }
    let status = child.wait()?;
    let (stdout, stderr) = read?;
    Ok(Output { status, stdout, stderr })
}

/// Both pipes at once: a child that fills one of them ends only when that is read.
fn both(child: &mut Child) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let (out, errors) = (child.stdout.take(), child.stderr.take());
    scope(|scope| {
        let errors = Builder::new().spawn_scoped(scope, || all(errors))?;
        let out = all(out);
        if out.is_err() {
            // Else the thread waits for a child that nobody reads from.
            let _ = child.kill();
        }
        let errors = errors.join().unwrap_or_else(|_| Err(io::Error::other("a thread that reads it has ended")))?;
        Ok((out?, errors))
    })
}

fn all(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut bytes))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_pipes_are_read_at_once() {
        let filling = "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; exit 3";
        let output = captured(Command::new("sh").args(["-c", filling])).unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len(), output.status.code()), (300_000, 300_000, Some(3)));
    }

    #[test]
    fn what_cannot_be_started_is_an_error() {
        assert_eq!(captured(&mut Command::new("/nowhere/to/be/found")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
