//! Full reads and writes of a block, with the offset of a failure.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use model::operation::Fault;

use crate::io_failure::IoFailure;

/// Reads all of `buffer` from `offset`. A file that ends early is a short read at the offset of its end.
pub(crate) fn read(file: &File, buffer: &mut [u8], offset: u64) -> Result<(), IoFailure> {
    all(buffer.len(), offset, Fault::ShortRead, |done, at| file.read_at(&mut buffer[done..], at))
}

/// Writes all of `bytes` at `offset`.
pub(crate) fn write(file: &File, bytes: &[u8], offset: u64) -> Result<(), IoFailure> {
    all(bytes.len(), offset, Fault::ShortWrite, |done, at| file.write_at(&bytes[done..], at))
}

fn all(
    length: usize,
    offset: u64,
    nothing_moved: Fault,
    mut act: impl FnMut(usize, u64) -> io::Result<usize>,
) -> Result<(), IoFailure> {
    let mut done = 0;
    while done < length {
        let at = offset + done as u64;
        match act(done, at) {
            Ok(0) => {
                return Err(IoFailure { fault: Some(nothing_moved), offset_bytes: Some(at), ..IoFailure::default() });
            }
            Ok(moved) => done += moved,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(IoFailure { offset_bytes: Some(at), ..IoFailure::from(error) }),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use model::operation::Fault;

    use super::{read, write};

    #[test]
    fn a_short_file_fails_at_its_end() {
        let file = tempfile::tempfile().unwrap();
        write(&file, &[7; 100], 50).unwrap();
        let mut buffer = [0; 80];
        read(&file, &mut buffer, 70).unwrap();
        assert_eq!(buffer, [7; 80]);
        let failure = read(&file, &mut buffer, 120).unwrap_err();
        assert_eq!((failure.fault, failure.offset_bytes, failure.errno), (Some(Fault::ShortRead), Some(150), 0));
    }

    #[test]
    fn a_full_device_fails_with_the_offset() {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let failure = write(&full, &[1; 10], 4096).unwrap_err();
        assert_eq!((failure.errno, failure.offset_bytes, failure.fault), (libc::ENOSPC, Some(4096), None));
    }
}
