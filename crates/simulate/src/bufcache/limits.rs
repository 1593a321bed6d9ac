//! How many buffers there are, how many may be dirty, how much space they may have.

/// Largest block, thus largest buffer: MAXBSIZE.
const MAXBSIZE: u64 = 64 << 10;

/// The numbers that FreeBSD 9.1 computes when it boots: `kern_vfs_bio_buffer_alloc()` and `bufinit()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// From so many dirty buffers on, nobody may begin to write.
    pub(super) hidirtybuffers: u64,
    /// bufdaemon stops flushing here.
    pub(super) lodirtybuffers: u64,
    /// A file with more dirty buffers than that writes some itself.
    pub(super) dirtybufthresh: u64,
    /// Bytes that buffers may have together.
    pub(super) hibufspace: u64,
    /// Bytes of asynchronous writes under way: who starts more waits,
    pub(super) hirunningspace: u64,
    /// until there are so few.
    pub(super) lorunningspace: u64,
}

impl Limits {
    pub(super) fn new(memory_bytes: u64, bkvasize: u64) -> Limits {
        let nbuf = nbuf(memory_bytes / 1024, bkvasize);
        let space = nbuf * bkvasize;
        let hibufspace = (3 * space / 4).max(space.saturating_sub(MAXBSIZE * 10));
        let hirunningspace = (hibufspace / 64).next_multiple_of(MAXBSIZE).clamp(1 << 20, 16 << 20);
        let mut hidirtybuffers = nbuf / 4 + 20;
        let dirtybufthresh = hidirtybuffers * 9 / 10;
        while hidirtybuffers * bkvasize > 3 * hibufspace / 4 {
            hidirtybuffers /= 2;
        }
        Limits {
            hidirtybuffers,
            lodirtybuffers: hidirtybuffers / 2,
            dirtybufthresh,
            hibufspace,
            hirunningspace,
            lorunningspace: (hirunningspace * 2 / 3).next_multiple_of(MAXBSIZE),
        }
    }

    /// With some set by a person, as `sysctl` sets them; 0: not set.
    pub(super) fn tuned(mut self, hidirtybuffers: u64, dirtybufthresh: u64) -> Limits {
        if hidirtybuffers > 0 {
            self.hidirtybuffers = hidirtybuffers;
            self.lodirtybuffers = self.lodirtybuffers.min(hidirtybuffers / 2);
        }
        if dirtybufthresh > 0 {
            self.dirtybufthresh = dirtybufthresh;
        }
        self
    }

    /// bufdaemon is called at so many dirty buffers, and who waits to write is woken at them.
    pub(super) fn middle(&self) -> u64 {
        u64::midpoint(self.lodirtybuffers, self.hidirtybuffers)
    }
}

/// A quarter of the first 64 MiB, and a tenth of what is beyond.
fn nbuf(memory_kib: u64, bkvasize: u64) -> u64 {
    let factor = 4 * bkvasize / 1024;
    let first = (memory_kib.saturating_sub(4096) / factor).min(65536 / factor);
    50 + first + memory_kib.saturating_sub(65536) * 2 / (factor * 5)
}

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn the_machine_of_the_document() {
        let limits = Limits::new(33_249_856 << 10, 16 << 10);
        assert_eq!((limits.hidirtybuffers, limits.lodirtybuffers, limits.dirtybufthresh), (52_139, 26_069, 46_925));
        let counted_by_64k = Limits::new(33_249_856 << 10, 64 << 10);
        assert_eq!(
            (counted_by_64k.hidirtybuffers, counted_by_64k.lodirtybuffers, counted_by_64k.dirtybufthresh),
            (13_059, 6_529, 11_753)
        );
    }

    #[test]
    fn with_blocks_of_64k_the_space_ends_before_the_limit_of_dirty_buffers() {
        let limits = Limits::new(33_249_856 << 10, 16 << 10);
        assert_eq!(limits.hibufspace / (64 << 10), 52_109);
        assert!(limits.hibufspace / (32 << 10) > limits.hidirtybuffers);
    }
}
