//! Reads of a file that may be crafted: a section of a sparse file can claim terabytes.

use std::cell::Cell;
use std::fs::File;
use std::ops::Range;

use object::{ReadCache, ReadRef};

/// A file whose reads may take only so many bytes together. What is beyond cannot be read.
pub(crate) struct Budget {
    cache: ReadCache<File>,
    left: Cell<u64>,
}

impl Budget {
    pub(crate) fn new(file: File, bytes: u64) -> Budget {
        Budget { cache: ReadCache::new(file), left: Cell::new(bytes) }
    }

    fn charge(&self, bytes: u64) -> Result<(), ()> {
        self.left.set(self.left.get().checked_sub(bytes).ok_or(())?);
        Ok(())
    }
}

impl<'data> ReadRef<'data> for &'data Budget {
    fn len(self) -> Result<u64, ()> {
        (&self.cache).len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'data [u8], ()> {
        // Before the read, which allocates.
        self.charge(size)?;
        (&self.cache).read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'data [u8], ()> {
        let bytes = (&self.cache).read_bytes_at_until(range, delimiter)?;
        // A name without bytes is kept, too.
        self.charge(bytes.len() as u64 + 1)?;
        Ok(bytes)
    }
}
