//! Unsafe code: memory that maps a file.

use std::fs::File;

/// The whole file, mapped, without readahead.
pub fn map(file: &File) -> memmap2::Mmap {
    // SAFETY: the file is on a disk of this test alone; nothing writes or truncates it.
    let map = unsafe { memmap2::Mmap::map(file) }.unwrap();
    map.advise(memmap2::Advice::Random).unwrap();
    map
}
