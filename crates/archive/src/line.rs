//! Checksummed lines: `crc32c-in-hex SPACE json NEWLINE`.
//!
//! The journal consists of them, and each record of a recent file begins with one. JSON holds no raw newline, so a
//! reader that meets a damaged line finds the next one.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Length of the checksum and the space after it.
const PREFIX: usize = 9;

/// Appends `value` as one line.
pub(crate) fn push(out: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    let start = out.len();
    out.extend_from_slice(b"00000000 ");
    serde_json::to_writer(&mut *out, value)?;
    let checksum = format!("{:08x}", crc32c::crc32c(&out[start + PREFIX..]));
    out[start..start + 8].copy_from_slice(checksum.as_bytes());
    out.push(b'\n');
    Ok(())
}

/// What the line (without its newline) says; `None` if it is not as it was written.
pub(crate) fn parse<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let (prefix, json) = line.split_at_checked(PREFIX)?;
    let written = prefix.strip_suffix(b" ")?;
    let expected = format!("{:08x}", crc32c::crc32c(json));
    (written == expected.as_bytes()).then(|| serde_json::from_slice(json).ok())?
}

#[cfg(test)]
mod tests {
    use super::{parse, push};

    #[test]
    fn a_line_reads_back_and_no_altered_line_does() {
        let mut line = Vec::new();
        push(&mut line, &vec![1_u32, 22, 333]).unwrap();
        assert_eq!(line.pop(), Some(b'\n'));
        assert_eq!(parse::<Vec<u32>>(&line), Some(vec![1, 22, 333]));
        for at in 0..line.len() {
            assert_eq!(parse::<Vec<u32>>(&line[..at]), None, "cut at {at}");
            let mut altered = line.clone();
            altered[at] ^= 0x01;
            assert_eq!(parse::<Vec<u32>>(&altered), None, "altered at {at}");
        }
    }
}
