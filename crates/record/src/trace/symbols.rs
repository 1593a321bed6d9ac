//! Kernel addresses → function names.

use std::collections::HashMap;
use std::path::Path;

use crate::bytes::read_text;

/// Addresses whose names are cached.
const CACHED: usize = 65_536;

/// Functions of the kernel and its modules, as /proc/kallsyms lists them.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    /// Address of each function and where its name ends in `names`, ascending by address.
    functions: Vec<(u64, u32, u8)>,
    names: String,
    cache: HashMap<u64, String>,
}

impl Symbols {
    /// Reads the list; it is empty where it cannot be read or the addresses are hidden.
    pub(super) fn read(path: &Path) -> Symbols {
        read_text(path).map_or_else(|_| Symbols::default(), |text| Symbols::parse(&text))
    }

    pub(super) fn parse(text: &str) -> Symbols {
        let mut symbols = Symbols::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            if address == 0 || !matches!(kind, "t" | "T" | "w" | "W") || name.starts_with("__pfx_") {
                continue;
            }
            let start = u32::try_from(symbols.names.len()).unwrap_or(u32::MAX);
            let name = &name[..name.floor_char_boundary(255)];
            symbols.names.push_str(name);
            symbols.functions.push((address, start, name.len() as u8));
        }
        // Of runs that ascend already: the kernel's, and each module's.
        symbols.functions.sort_by_key(|function| function.0);
        symbols
    }

    fn name_at(&self, index: usize) -> Option<&str> {
        let (_, start, length) = *self.functions.get(index)?;
        self.names.get(start as usize..start as usize + usize::from(length))
    }

    /// The address of a function.
    pub(super) fn address(&self, name: &str) -> Option<u64> {
        self.range(name).map(|(address, _)| address)
    }

    /// The address of a function, and the distance to the next one; 0 for the last.
    pub(super) fn range(&self, name: &str) -> Option<(u64, u64)> {
        let index = (0..self.functions.len()).find(|index| self.name_at(*index) == Some(name))?;
        let address = self.functions[index].0;
        let next = self.functions[index..].iter().find(|function| function.0 > address);
        Some((address, next.map_or(0, |next| next.0 - address)))
    }

    /// The function that an address of a stack lies in, without a compiler's suffix; the address where it is unknown.
    pub(super) fn name(&mut self, address: u64) -> String {
        if let Some(name) = self.cache.get(&address) {
            return name.clone();
        }
        let after = self.functions.partition_point(|function| function.0 <= address);
        let name = after.checked_sub(1).and_then(|index| self.name_at(index));
        let name = name.map_or_else(|| format!("{address:#x}"), |name| plain(name).to_owned());
        if self.cache.len() >= CACHED {
            self.cache.clear();
        }
        self.cache.insert(address, name.clone());
        name
    }
}

/// `folio_wait_bit_common` of `folio_wait_bit_common.isra.0`.
pub(super) fn plain(name: &str) -> &str {
    name.split_once('.').map_or(name, |(name, _)| if name.is_empty() { "." } else { name })
}
