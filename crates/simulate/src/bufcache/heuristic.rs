//! The sequential count of an access: `sequential_heuristic()`.

/// IO_SEQMAX.
const MOST: u64 = 127;
/// Bytes that raise the count by one, whatever the block size.
const STEP: u64 = 16 << 10;

/// An open file's `f_seqcount` and `f_nextoff`. Reads and writes share them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenFile {
    count: u64,
    next_offset: u64,
}

impl OpenFile {
    pub(super) fn new() -> OpenFile {
        OpenFile { count: 1, next_offset: 0 }
    }

    /// Returns the count for a read or write at `offset`, and moves the next offset behind it.
    pub(super) fn access(&mut self, offset: u64, bytes: u64) -> u64 {
        let sequential = (offset == 0 && self.count > 0) || offset == self.next_offset;
        self.next_offset = offset + bytes;
        if sequential {
            self.count = (self.count + bytes.div_ceil(STEP)).min(MOST);
            return self.count;
        }
        self.count = u64::from(self.count > 1);
        0
    }
}

#[cfg(test)]
mod tests {
    use super::OpenFile;

    const IO: u64 = 8 << 10;

    #[test]
    fn the_count_of_a_pure_writer_grows() {
        let mut file = OpenFile::new();
        let counts: Vec<u64> = (0..4).map(|number| file.access(number * IO, IO)).collect();
        assert_eq!(counts, [2, 3, 4, 5]);
    }

    #[test]
    fn the_count_of_a_rewriter_that_seeks_back_stays_zero() {
        let mut file = OpenFile::new();
        // Offset 0 always looks sequential.
        assert_eq!((file.access(0, IO), file.access(0, IO)), (2, 3));
        assert_eq!((file.access(IO, IO), file.access(IO, IO)), (4, 0));
        for number in 2..1000 {
            assert_eq!((file.access(number * IO, IO), file.access(number * IO, IO)), (2, 0), "{number}");
        }
    }
}
