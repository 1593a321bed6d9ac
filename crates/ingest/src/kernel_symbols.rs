//! Functions of the kernel by address, from its `/proc/kallsyms`.

use std::io::BufRead;

/// The functions of a kernel, in the order of their addresses.
#[derive(Debug, Clone, Default)]
pub struct KernelSymbols {
    functions: Vec<(u64, Box<str>)>,
    /// Where its own code begins and ends; modules are elsewhere.
    text: Option<(u64, u64)>,
}

/// Symbols of a kernel, at most.
const MOST: usize = 1 << 22;

impl KernelSymbols {
    /// Reads `/proc/kallsyms`. It is empty where addresses are hidden from this user.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn read(source: impl BufRead) -> std::io::Result<KernelSymbols> {
        let mut symbols = KernelSymbols::default();
        let (mut begin, mut end) = (None, None);
        for line in source.lines().take(MOST) {
            let line = line?;
            let mut words = line.split_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            match name {
                "_text" | "_stext" => begin = begin.or(Some(address)),
                "_etext" => end = Some(address),
                _ if address != 0 && kind.eq_ignore_ascii_case("t") => symbols.functions.push((address, name.into())),
                _ => {}
            }
        }
        symbols.functions.sort_by_key(|(address, _)| *address);
        symbols.text = begin.zip(end).filter(|(begin, _)| *begin != 0);
        Ok(symbols)
    }

    /// Where the kernel's own code begins.
    pub(crate) fn text_begin(&self) -> Option<u64> {
        self.text.map(|(begin, _)| begin)
    }

    /// The function at an address of a kernel whose code lies that much lower than this one's.
    pub(crate) fn function(&self, address: u64, shift: u64) -> Option<(&str, u64)> {
        let (begin, end) = self.text?;
        let at = address.wrapping_add(shift);
        let is_own = (begin..end).contains(&at);
        // Modules do not move with it, and are elsewhere after the next start.
        if !is_own && shift != 0 {
            return None;
        }
        let after = self.functions.partition_point(|(known, _)| *known <= at);
        let (known, name) = self.functions.get(after.checked_sub(1)?)?;
        Some((name, at - known))
    }
}

/// The build id among ELF notes, as in `/sys/kernel/notes`.
pub fn build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    const BUILD_ID: u32 = 3;
    loop {
        let (header, rest) = notes.split_at_checked(12)?;
        let word = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (name_bytes, value_bytes) = (word(0) as usize, word(4) as usize);
        let (name, rest) = rest.split_at_checked(name_bytes.checked_next_multiple_of(4)?)?;
        let (value, rest) = rest.split_at_checked(value_bytes.checked_next_multiple_of(4)?)?;
        if word(8) == BUILD_ID && name == b"GNU\0" {
            return value.get(..value_bytes).map(<[u8]>::to_vec);
        }
        notes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::{KernelSymbols, build_id};

    const KALLSYMS: &str = "ffffffff81000000 T _text\nffffffff81000100 T schedule\nffffffff81000200 t io_schedule\n\
                            ffffffff81800000 T _etext\nffffffff82000000 D data\nffffffffc0001000 t \
                            ext4_sync_file\t[ext4]\n";

    #[test]
    fn functions_move_with_the_kernel_and_modules_do_not() {
        let symbols = KernelSymbols::read(KALLSYMS.as_bytes()).unwrap();
        let of = |address, shift| symbols.function(address, shift).map(|(name, offset)| (name.to_owned(), offset));
        assert_eq!(of(0xffff_ffff_8100_0208, 0), Some(("io_schedule".into(), 8)));
        assert_eq!(of(0xffff_ffff_7100_0108, 0x1000_0000), Some(("schedule".into(), 8)));
        assert_eq!(of(0xffff_ffff_c000_1004, 0), Some(("ext4_sync_file".into(), 4)));
        assert_eq!(of(0xffff_ffff_c000_1004, 0x1000), None);
        let hidden = "0000000000000000 T _text\n0000000000000000 T schedule\n0000000000000000 T _etext\n";
        assert_eq!(KernelSymbols::read(hidden.as_bytes()).unwrap().text_begin(), None);
    }

    #[test]
    fn a_build_id_is_found_among_notes() {
        let note = |name: &[u8], kind: u32, value: &[u8]| {
            let words = [name.len() as u32, value.len() as u32, kind].map(u32::to_ne_bytes).concat();
            let padded = |bytes: &[u8]| [bytes, &vec![0; bytes.len().next_multiple_of(4) - bytes.len()]].concat();
            [words, padded(name), padded(value)].concat()
        };
        let notes = [note(b"Xen\0", 3, &[9; 5]), note(b"GNU\0", 3, &[1, 2, 3])].concat();
        assert_eq!(build_id(&notes), Some(vec![1, 2, 3]));
        assert!((0..notes.len()).all(|end| build_id(&notes[..end]).is_none()));
    }
}
