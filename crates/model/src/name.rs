//! Names that the kernel has as bytes: of files, mounts, cgroups, processes. They end with a zero byte and may hold any
//! other.
//!
//! One convention for all of them: a name is kept as text, and each byte that is not UTF-8 is written as `\xff`. So
//! different names stay different, and no name makes reading fail. A backslash is left as it is, since systemd has
//! names with `\x2d`; a text that means two names is looked up as it is first. What a terminal would obey is escaped on
//! output, not here.

/// A name as text.
pub fn text(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
    }
    shown
}

/// The bytes of a name that is not UTF-8, from its text; `None` for a text without such bytes.
pub fn bytes(text: &str) -> Option<Vec<u8>> {
    if !text.contains("\\x") {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let (mut rest, mut found) = (text.as_bytes(), false);
    while let Some((first, after)) = rest.split_first() {
        let escaped = rest.strip_prefix(b"\\x").and_then(|hex| hex.get(..2)).and_then(high_byte);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &rest[4..] } else { after };
        found |= escaped.is_some();
    }
    found.then_some(bytes)
}

/// A byte that ASCII does not have, in lower case as [`text`] writes it.
fn high_byte(hex: &[u8]) -> Option<u8> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let byte = digit(hex[0])? << 4 | digit(hex[1])?;
    (byte >= 0x80).then_some(byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{bytes, text};

    #[test]
    fn bytes_that_are_not_utf8_are_escaped_and_no_others() {
        assert_eq!(text(b"/mnt/\xff\xe2\x82x"), r"/mnt/\xff\xe2\x82x");
        assert_eq!(text("/mnt/é \\x2d".as_bytes()), "/mnt/é \\x2d");
        assert_eq!(bytes(r"/mnt/\xff\x2d").as_deref(), Some(&b"/mnt/\xff\\x2d"[..]));
        assert_eq!((bytes(r"dev\x2dsda \xF"), bytes("/é")), (None, None));
    }

    proptest! {
        #[test]
        fn different_names_stay_different(name in proptest::collection::vec(any::<u8>(), 0..40)) {
            let shown = text(&name);
            match std::str::from_utf8(&name) {
                Ok(plain) => prop_assert_eq!(shown, plain),
                Err(_) => prop_assert_eq!(bytes(&shown), Some(name)),
            }
        }
    }
}
