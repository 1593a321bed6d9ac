//! Some of the kernel's types, with all that lies within them and new numbers.

use std::collections::HashMap;

use super::reader::{FUNCTION_TYPE, KernelTypes, POINTER, TYPE_BYTES, names_within, put, types_within, word};

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
        if kind == FUNCTION_TYPE {
            // What a function takes and returns is never compared.
            bytes.truncate(TYPE_BYTES);
            put(&mut bytes, 4, u32::from(FUNCTION_TYPE) << 24);
            put(&mut bytes, 8, 0);
        }
        let count = if kind == FUNCTION_TYPE { 0 } else { self.all.count(id) };
        for at in names_within(kind, count) {
            let name = self.name(word(&bytes, at));
            put(&mut bytes, at, name);
        }
        for at in types_within(kind, count) {
            // What a pointer points to is another type: fields are compared by what lies within.
            let number = if kind == POINTER { 0 } else { self.number(word(&bytes, at)) };
            put(&mut bytes, at, number);
        }
        self.types.extend_from_slice(&bytes);
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
