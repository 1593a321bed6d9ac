//! `/proc/PID/maps`: which files a process's code is from.

use crate::mountinfo::unescaped;

/// A part of a process's memory that holds code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Offset of the start in the file.
    pub(super) offset: u64,
    /// Device and inode, as they are written there. Those of no file are 0.
    pub(super) identity: String,
    /// Empty: anonymous memory.
    pub(super) path: String,
}

/// The parts with code, by address.
pub(super) fn parse(text: &[u8]) -> Vec<Mapping> {
    text.split(|byte| *byte == b'\n').filter_map(mapping).collect()
}

/// `7f00-7f10 r-xp 00026000 08:01 1234      /usr/lib/libc.so.6`.
fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut words = line.splitn(6, |byte| *byte == b' ').map(String::from_utf8_lossy);
    let range = words.next()?;
    let (start, end) = range.split_once('-')?;
    words.next()?.contains('x').then_some(())?;
    let offset = u64::from_str_radix(&words.next()?, 16).ok()?;
    let identity = format!("{} {}", words.next()?, words.next()?);
    let path = line.splitn(6, |byte| *byte == b' ').nth(5).unwrap_or_default().trim_ascii_start();
    let path = unescaped(path);
    let path = path.strip_suffix(" (deleted)").map_or(path.as_str(), |path| path).to_owned();
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(Mapping { start: number(start)?, end: number(end)?, offset, identity, path })
}

#[cfg(test)]
mod tests {
    use super::{Mapping, parse};

    #[test]
    fn code_is_found_with_its_file() {
        let text = b"55d0-55d8 r--p 00000000 08:01 12     /usr/bin/my db\n\
                     55d8-55f0 r-xp 00008000 08:01 12     /usr/bin/my db (deleted)\n\
                     7f00-7f10 rwxp 00000000 00:00 0 \n\
                     7ffd-7fff r-xp 00000000 00:00 0                    [vdso]\nbroken\n";
        let mapping = |start, end, offset, identity: &str, path: &str| Mapping {
            start,
            end,
            offset,
            identity: identity.into(),
            path: path.into(),
        };
        let expected = [
            mapping(0x55d8, 0x55f0, 0x8000, "08:01 12", "/usr/bin/my db"),
            mapping(0x7f00, 0x7f10, 0, "00:00 0", ""),
            mapping(0x7ffd, 0x7fff, 0, "00:00 0", "[vdso]"),
        ];
        assert_eq!(parse(text), expected);
    }
}
