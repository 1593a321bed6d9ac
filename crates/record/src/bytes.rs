//! Numbers, words and names in the kernel's text files, read as bytes. No input panics; what is not a number is absent.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// `PATH_MAX`, with the zero.
const PATH_BYTES: usize = 4096;

/// Words of a line, separated by blanks.
#[derive(Clone)]
pub(crate) struct Words<'t>(&'t [u8]);

/// The words of `line`.
pub(crate) fn words(line: &[u8]) -> Words<'_> {
    Words(line)
}

impl<'t> Iterator for Words<'t> {
    type Item = &'t [u8];

    fn next(&mut self) -> Option<&'t [u8]> {
        let start = self.0.iter().position(|byte| !is_blank(*byte))?;
        let rest = &self.0[start..];
        let end = rest.iter().position(|byte| is_blank(*byte)).unwrap_or(rest.len());
        self.0 = &rest[end..];
        Some(&rest[..end])
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Length of the first word and the blanks before it.
pub(crate) fn first_word_len(line: &[u8]) -> usize {
    words_len(line, 1)
}

/// Length of the first `count` words and the blanks before them.
pub(crate) fn words_len(line: &[u8], count: usize) -> usize {
    let mut words = words(line);
    for _ in 0..count {
        words.next();
    }
    line.len() - words.0.len()
}

/// The first line and what follows it; `None` at the end. Empty lines are passed over.
pub(crate) fn next_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = text.iter().position(|byte| *byte != b'\n')?;
    let text = &text[start..];
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    Some((&text[..end], text.get(end + 1..).unwrap_or(&[])))
}

/// A decimal number. A number that does not fit, such as the kernel's "unlimited" of 2^64-1, is absent.
pub(crate) fn number(word: &[u8]) -> Option<i64> {
    let (negative, digits) = match word.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, word),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value: i64 = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(i64::from(digit))?;
    }
    Some(if negative { -value } else { value })
}

/// The number in `total=123` or in a bare `123`.
pub(crate) fn value_of(word: &[u8]) -> Option<i64> {
    number(word.rsplit(|byte| *byte == b'=').next().unwrap_or(word))
}

/// Text without blanks and newlines around it.
pub(crate) fn trimmed(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

/// A name as text ([`model::name`]).
pub(crate) fn shown(bytes: impl AsRef<[u8]>) -> String {
    model::name::text(bytes.as_ref())
}

/// A text of C: the bytes before the first 0, or all.
pub(crate) fn before_zero(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

/// The path that lies at an address of a process' memory; `None` where no path does. It may lie at the end of what is
/// mapped.
pub(crate) fn path_in_memory(memory: &File, at: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; PATH_BYTES];
    let read = memory.read_at(&mut bytes, at).ok()?;
    let length = bytes[..read].iter().position(|byte| *byte == 0)?;
    bytes.truncate(length);
    (length > 0).then_some(bytes)
}

/// A path as text.
pub(crate) fn shown_path(path: impl AsRef<Path>) -> String {
    shown(path.as_ref().as_os_str().as_bytes())
}

/// The text of a file of the kernel, in which names may hold any byte.
pub(crate) fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let bytes = fs::read(path)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| shown(error.as_bytes())))
}

/// The folder of a cgroup, or another path that is known as text, below a mount.
pub(crate) fn below(mount: &Path, path: &str) -> PathBuf {
    let literal = mount.join(path.trim_start_matches('/'));
    match model::name::bytes(path.trim_start_matches('/')) {
        Some(bytes) if !literal.exists() => mount.join(OsStr::from_bytes(&bytes)),
        _ => literal,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{next_line, number, value_of, words, words_len};

    #[test]
    fn numbers() {
        for (word, value) in [
            ("0", Some(0)),
            ("-12", Some(-12)),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("18446744073709551615", None),
            ("", None),
            ("-", None),
            ("12kB", None),
            ("max", None),
        ] {
            assert_eq!(number(word.as_bytes()), value, "{word}");
        }
        assert_eq!(value_of(b"total=23165130"), Some(23165130));
    }

    #[test]
    fn words_and_their_lengths() {
        let line = b"  7       0 loop0 12";
        assert_eq!(words(line).collect::<Vec<_>>(), [&b"7"[..], b"0", b"loop0", b"12"]);
        assert_eq!(&line[..words_len(line, 3)], b"  7       0 loop0");
        assert_eq!(words_len(b"one", 3), 3);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..200),
            count in 0..9usize) {
            let mut rest = &text[..];
            let mut seen = 0;
            while let Some((line, after)) = next_line(rest) {
                seen += line.len();
                prop_assert!(words_len(line, count) <= line.len());
                for word in words(line) {
                    let _ = value_of(word);
                }
                rest = after;
            }
            prop_assert_eq!(seen, text.iter().filter(|byte| **byte != b'\n').count());
        }

        #[test]
        fn every_number_reads_back(value in any::<i64>()) {
            let back = number(value.to_string().as_bytes());
            prop_assert_eq!(back, (value != i64::MIN).then_some(value));
        }
    }
}
