//! Bytes of a file as text, whatever system wrote it.

/// Byte-order marks of UTF-16, as PowerShell writes what it redirects.
const LITTLE_ENDIAN: [u8; 2] = [0xff, 0xfe];
const BIG_ENDIAN: [u8; 2] = [0xfe, 0xff];

/// UTF-8, UTF-16 with a byte-order mark, or ASCII with some bytes of another encoding; `None` of what is no text.
pub fn decoded(bytes: Vec<u8>) -> Option<String> {
    let units = |order: fn([u8; 2]) -> u16| bytes[2..].chunks_exact(2).map(|pair| order([pair[0], pair[1]])).collect();
    let utf16: Option<Vec<u16>> = match bytes.get(..2) {
        Some(mark) if mark == LITTLE_ENDIAN => Some(units(u16::from_le_bytes)),
        Some(mark) if mark == BIG_ENDIAN => Some(units(u16::from_be_bytes)),
        _ => None,
    };
    if let Some(units) = utf16 {
        return String::from_utf16(&units).ok();
    }
    if bytes.contains(&0) {
        return None;
    }
    Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn texts_of_other_systems() {
        assert_eq!(decoded(b"a\xe4b".to_vec()).as_deref(), Some("a\u{fffd}b"));
        assert_eq!(decoded(vec![0xff, 0xfe, b'a', 0, b'\n', 0]).as_deref(), Some("a\n"));
        assert_eq!(decoded(vec![0xfe, 0xff, 0, b'a']).as_deref(), Some("a"));
        assert_eq!(decoded(vec![1, 0, 2]), None);
        assert_eq!(decoded(vec![0xff, 0xfe, 0, 0xd8]), None);
    }
}
