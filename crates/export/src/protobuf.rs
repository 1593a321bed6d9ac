//! The protobuf field types that our formats need.

/// A message being written.
#[derive(Debug, Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

/// Bytes reserved for the length of a nested message: a varint need not be minimal.
const LENGTH_BYTES: usize = 4;

impl Message {
    /// The bytes written.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes it empty again.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// A number (uint32, uint64, bool, enum).
    pub(crate) fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// A number that may be negative (int32, int64).
    pub(crate) fn signed(&mut self, field: u32, value: i64) {
        self.number(field, value as u64);
    }

    /// Eight bytes (fixed64).
    pub(crate) fn fixed(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3 | 1);
        self.bytes.extend(value.to_le_bytes());
    }

    /// A double.
    pub(crate) fn double(&mut self, field: u32, value: f64) {
        self.fixed(field, value.to_bits());
    }

    /// Text.
    pub(crate) fn text(&mut self, field: u32, text: &str) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    /// A message within this one.
    pub(crate) fn message(&mut self, field: u32, write: impl FnOnce(&mut Message)) {
        self.varint(u64::from(field) << 3 | 2);
        let begin = self.bytes.len();
        self.bytes.extend([0; LENGTH_BYTES]);
        write(self);
        let length = self.bytes.len() - begin - LENGTH_BYTES;
        assert!(length < 1 << (7 * LENGTH_BYTES), "a packet is small");
        for (place, byte) in self.bytes[begin..begin + LENGTH_BYTES].iter_mut().enumerate() {
            let more = if place + 1 < LENGTH_BYTES { 0x80 } else { 0 };
            *byte = (length >> (7 * place)) as u8 & 0x7f | more;
        }
    }

    /// A number in groups of seven bits.
    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Message;

    /// The fields of a message: number and value, or bytes.
    pub(crate) fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let mut value = 0;
            for shift in (0..).step_by(7) {
                let (byte, rest) = bytes.split_first().expect("a varint ends");
                *bytes = rest;
                value |= u64::from(byte & 0x7f) << shift;
                if *byte < 0x80 {
                    break;
                }
            }
            value
        }
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let (value, length) = match key & 7 {
                0 => (varint(&mut bytes), 0),
                1 => (u64::from_le_bytes(bytes[..8].try_into().unwrap()), 8),
                2 => (0, varint(&mut bytes) as usize),
                other => panic!("wire type {other}"),
            };
            found.push((key >> 3, value, &bytes[..length]));
            bytes = &bytes[length..];
        }
        found
    }

    #[test]
    fn fields_match_the_encoding_guide() {
        let mut message = Message::default();
        message.number(1, 150);
        message.text(2, "testing");
        message.signed(3, -1);
        message.fixed(4, 1);
        let expected = b"\x08\x96\x01\x12\x07testing\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x21\x01\0\0\0\0\0\0\0";
        assert_eq!(message.bytes(), expected);
        message.clear();
        message.message(3, |inner| inner.number(1, 150));
        assert_eq!(message.bytes(), b"\x1a\x83\x80\x80\x00\x08\x96\x01");
    }
}
