//! Limits: the number of buffers, of dirty buffers, and their space.

/// Largest block, and so the largest buffer: MAXBSIZE.
const MAXBSIZE: u64 = 64 << 10;

/// The limits that FreeBSD 9.1 computes at boot: `kern_vfs_bio_buffer_alloc()` and `bufinit()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Limit of dirty buffers at which writers wait.
    pub(super) hidirtybuffers: u64,
    /// bufdaemon stops flushing here.
    pub(super) lodirtybuffers: u64,
    /// Limit of dirty buffers of a file, above which its writer flushes some.
    pub(super) dirtybufthresh: u64,
    /// Limit of the bytes of all buffers.
    pub(super) hibufspace: u64,
    /// Limit of the bytes of asynchronous writes in flight: a task that starts more waits,
    pub(super) hirunningspace: u64,
    /// until no more than this are in flight.
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

    /// The limits with some tuned, as by `sysctl`; 0: not tuned.
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

    /// Number of dirty buffers at which bufdaemon is requested, and at which waiting writers are woken.
    pub(super) fn middle(&self) -> u64 {
        u64::midpoint(self.lodirtybuffers, self.hidirtybuffers)
    }
}

/// A quarter of the first 64 MiB, and a tenth of the rest.
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
