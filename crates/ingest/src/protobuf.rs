//! The fields of a protobuf message, without its description: numbers and bytes, as they follow each other.

/// A field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Number(u64),
    /// Text, a message, or numbers one after the other.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            Value::Number(number) => Some(number),
            Value::Bytes(_) => None,
        }
    }

    pub(crate) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            Value::Number(_) => None,
        }
    }
}

/// The fields of a message in their order, up to its end or to what is no field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    /// The first field of that number.
    pub(crate) fn find(message: &'a [u8], number: u32) -> Option<Value<'a>> {
        Fields::new(message).find_map(|(found, value)| (found == number).then_some(value))
    }

    /// What is left: nothing, unless the message is damaged or cut off there.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<(u32, Value<'a>)> {
        let mut rest = self.rest;
        let key = varint(&mut rest)?;
        let field = u32::try_from(key >> 3).ok().filter(|field| *field != 0)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut rest)?),
            1 => Value::Number(u64::from_le_bytes(take(&mut rest, 8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                Value::Bytes(take(&mut rest, length)?)
            }
            5 => Value::Number(u64::from(u32::from_le_bytes(take(&mut rest, 4)?.try_into().ok()?))),
            // Groups, which nobody writes any more.
            _ => return None,
        };
        self.rest = rest;
        Some((field, value))
    }
}

/// Numbers that follow each other in one field.
pub(crate) fn packed(mut bytes: &[u8]) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || varint(&mut bytes))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

/// A number in groups of seven bits, the lowest first.
pub(crate) fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (at, byte) in rest.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            *rest = &rest[at + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Fields, Value, packed};

    #[test]
    fn fields_are_those_of_the_encoding_guide() {
        let message = b"\x08\x96\x01\x12\x07testing\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x21\x01\0\0\0\0\0\0\0\
                        \x35\x02\0\0\0";
        let expected = [
            (1, Value::Number(150)),
            (2, Value::Bytes(b"testing")),
            (3, Value::Number(u64::MAX)),
            (4, Value::Number(1)),
            (6, Value::Number(2)),
        ];
        assert_eq!(Fields::new(message).collect::<Vec<_>>(), expected);
        assert_eq!(Fields::find(message, 2), Some(Value::Bytes(b"testing")));
        assert_eq!(packed(b"\x03\x8e\x02\x9e\xa7\x05").collect::<Vec<_>>(), [3, 270, 86_942]);
    }

    #[test]
    fn a_damaged_field_ends_the_message() {
        // A length beyond the end, a group, the number 0, and a number without an end.
        for damaged in [&b"\x12\x07test"[..], b"\x13\x00", b"\x00\x01", &[0x80; 12], b"\x08"] {
            let mut fields = Fields::new(damaged);
            assert_eq!((fields.next(), fields.rest()), (None, damaged));
        }
    }
}
