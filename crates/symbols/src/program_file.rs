//! Opening programs by a name that a stranger may have chosen: a process, or the run directory that names it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a program, library or file of debug information: a regular file. Nothing else is opened at all: a pipe would
/// wake its writer, a tape would rewind, and a watchdog would reset the machine.
pub fn open(path: &Path) -> io::Result<File> {
    let found = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path)?;
    if !found.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // What was found, whatever has the name by now. A lease on it must not block.
    let found = format!("/proc/self/fd/{}", found.as_raw_fd());
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(found)
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::process::Command;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use super::open;

    /// Opening a pipe to write waits until it is opened to read.
    #[test]
    fn a_pipe_is_refused_without_being_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (of_writer, opened) = channel();
        let name = pipe.clone();
        let writer = std::thread::spawn(move || {
            let file = OpenOptions::new().write(true).open(name);
            let _ = of_writer.send(());
            file
        });
        for _ in 0..20 {
            assert!(open(&pipe).is_err());
            assert_eq!(opened.recv_timeout(Duration::from_millis(10)), Err(RecvTimeoutError::Timeout));
        }
        let _reader = File::open(&pipe).unwrap();
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn a_file_is_opened_also_by_a_link_and_a_directory_or_device_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            assert_eq!(std::io::read_to_string(open(path).unwrap()).unwrap(), "text");
        }
        assert!(open(folder.path()).is_err() && open("/dev/null".as_ref()).is_err());
    }
}
