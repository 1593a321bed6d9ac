//! Some of the kernel's types, with all that lies within them and new numbers.

use std::collections::HashMap;

use super::reader::{
    ARRAY, CONST, FUNCTION_TYPE, KernelTypes, POINTER, RESTRICT, STRUCTURE, TYPE_BYTES, TYPE_TAG, TYPEDEF, UNION,
    VOLATILE, named_step,
};

/// Magic number, version 1, no flags.
const BEGIN: [u8; 4] = [0x9f, 0xeb, 1, 0];
const HEADER_BYTES: u32 = 24;

struct Trimmed<'a> {
    all: &'a KernelTypes,
    /// Numbers here by numbers there.
    numbers: HashMap<u32, u32>,
    /// Numbers there, in the order of those here.
    kept: Vec<u32>,
    types: Vec<u8>,
    /// Places of names here by those there.
    names: HashMap<u32, u32>,
    strings: Vec<u8>,
}

/// These types, in the kernel's encoding.
pub(super) fn trimmed(all: &KernelTypes, ids: &[u32]) -> Vec<u8> {
    let (numbers, names) = (HashMap::new(), HashMap::from([(0, 0)]));
    let mut trimmed = Trimmed { all, numbers, kept: Vec::new(), types: Vec::new(), names, strings: vec![0] };
    ids.iter().for_each(|id| _ = trimmed.number(*id));
    let mut next = 0;
    while let Some(id) = trimmed.kept.get(next).copied() {
        trimmed.add(id);
        next += 1;
    }
    trimmed.encoded()
}

impl Trimmed<'_> {
    fn number(&mut self, id: u32) -> u32 {
        if id == 0 {
            return 0;
        }
        let next = self.kept.len() as u32 + 1;
        let number = *self.numbers.entry(id).or_insert(next);
        if number == next {
            self.kept.push(id);
        }
        number
    }

    fn name(&mut self, there: u32) -> u32 {
        if let Some(here) = self.names.get(&there) {
            return *here;
        }
        let here = self.strings.len() as u32;
        self.strings.extend_from_slice(self.all.text(there));
        self.strings.push(0);
        self.names.insert(there, here);
        here
    }

    fn add(&mut self, id: u32) {
        let kind = self.all.kind(id);
        let mut bytes = self.all.bytes_of(id).to_vec();
        self.rename(&mut bytes, 0);
        match kind {
            // What a pointer points to is another type: fields are compared by what lies within.
            POINTER => put(&mut bytes, 8, 0),
            TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => self.renumber(&mut bytes, 8),
            ARRAY => {
                self.renumber(&mut bytes, TYPE_BYTES);
                self.renumber(&mut bytes, TYPE_BYTES + 4);
            }
            FUNCTION_TYPE => {
                bytes.truncate(TYPE_BYTES);
                put(&mut bytes, 4, u32::from(FUNCTION_TYPE) << 24);
                put(&mut bytes, 8, 0);
            }
            _ => {}
        }
        if let Some(step) = named_step(kind) {
            for at in (TYPE_BYTES..bytes.len()).step_by(step) {
                self.rename(&mut bytes, at);
                if matches!(kind, STRUCTURE | UNION) {
                    self.renumber(&mut bytes, at + 4);
                }
            }
        }
        self.types.extend_from_slice(&bytes);
    }

    fn rename(&mut self, bytes: &mut [u8], at: usize) {
        let name = self.name(word(bytes, at));
        put(bytes, at, name);
    }

    fn renumber(&mut self, bytes: &mut [u8], at: usize) {
        let number = self.number(word(bytes, at));
        put(bytes, at, number);
    }

    fn encoded(self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut bytes = Vec::with_capacity(HEADER_BYTES as usize + self.types.len() + self.strings.len());
        bytes.extend(if cfg!(target_endian = "little") { BEGIN } else { [BEGIN[1], BEGIN[0], 1, 0] });
        bytes.extend([HEADER_BYTES, 0, types, types, strings].into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend(self.types);
        bytes.extend(self.strings);
        bytes
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(word) = bytes.get_mut(at..at + 4) {
        word.copy_from_slice(&value.to_ne_bytes());
    }
}
