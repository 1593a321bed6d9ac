//! What Rust cannot vouch for: memory that is a file.

use std::fs::File;

/// The whole file, mapped, without readahead.
pub fn map(file: &File) -> memmap2::Mmap {
    // SAFETY: the file lies on a disk of this test alone; nobody writes or shortens it.
    let map = unsafe { memmap2::Mmap::map(file) }.unwrap();
    map.advise(memmap2::Advice::Random).unwrap();
    map
}
