//! What happens to a block that has just been filled: `cluster_write()`.

/// A vnode's state of the cluster in progress: `v_cstart`, `v_clen`, `v_lastw`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClusterState {
    start: u64,
    /// Blocks that may follow the first; 0: no cluster.
    length: u64,
    last: u64,
}

/// A full block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Full {
    pub(super) block: u64,
    /// It follows its predecessor on disk.
    pub(super) contiguous: bool,
    /// It is the last block of the file.
    pub(super) at_end: bool,
    /// The sequential count of the write; 0: random.
    pub(super) seqcount: u64,
}

/// What to do with a full block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decision {
    /// Whether to write the block's buffer now; otherwise it stays dirty.
    pub(super) now: bool,
    /// Blocks to write as a cluster, once the buffer is dirty: the first, and how many.
    pub(super) push: Option<(u64, u64)>,
}

impl ClusterState {
    /// `most`: blocks that may follow the first of a cluster. `ignore`: write a complete cluster whatever its
    /// sequential count.
    ///
    /// When a file grows, FreeBSD tries to relocate a started cluster to make it contiguous. Here this always fails.
    pub(super) fn write(&mut self, full: Full, most: u64, ignore: bool) -> Decision {
        if full.block == 0 {
            *self = ClusterState::default();
        }
        let mut push = None;
        let mut now = false;
        let in_order = full.block == self.last + 1;
        if self.length == 0 || !in_order || !full.contiguous {
            if self.length != 0 {
                let begun = self.last + 1 - self.start;
                let moving = full.at_end && in_order && self.length > begun;
                if full.seqcount > u64::from(moving) {
                    push = Some((self.start, begun));
                }
            }
            self.length = most;
            now = most == 0;
            self.start = full.block + u64::from(now);
        } else if full.block == self.start + self.length {
            if full.seqcount > 1 || ignore {
                push = Some((self.start, self.length + 1));
            }
            self.length = 0;
            self.start = full.block + 1;
        }
        self.last = full.block;
        Decision { now, push }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClusterState, Full};

    /// Writes blocks in order, with a break before those marked `|`. Returns for each `-` (stays dirty), `!` (written
    /// now), or the cluster that is pushed.
    fn written(breaks: &str, most: u64, seqcount: u64, ignore: bool) -> String {
        let mut state = ClusterState::default();
        let decisions = breaks.chars().enumerate().map(|(block, mark)| {
            let full = Full { block: block as u64, contiguous: mark != '|', at_end: false, seqcount };
            let decision = state.write(full, most, ignore);
            match (decision.now, decision.push) {
                (true, _) => "!".to_owned(),
                (false, Some((start, blocks))) => format!("{start}+{blocks}"),
                (false, None) => "-".to_owned(),
            }
        });
        decisions.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn sequential_clusters_are_pushed_when_complete() {
        assert_eq!(written("......", 1, 2, false), "- 0+2 - 2+2 - 4+2");
        assert_eq!(written("........", 3, 2, false), "- - - 0+4 - - - 4+4");
    }

    #[test]
    fn random_writes_stay_dirty() {
        assert_eq!(written("......", 1, 0, false), "- - - - - -");
        assert_eq!(written("..|...", 1, 0, false), "- - - - - -");
    }

    #[test]
    fn complete_clusters_are_pushed_when_seqcount_is_ignored_and_broken_ones_leak() {
        assert_eq!(written("......", 1, 0, true), "- 0+2 - 2+2 - 4+2");
        assert_eq!(written("...|..", 1, 0, true), "- 0+2 - - 3+2 -");
    }

    #[test]
    fn a_break_pushes_the_started_cluster() {
        assert_eq!(written(".|....", 1, 2, false), "- 0+1 1+2 - 3+2 -");
        assert_eq!(written("..|...", 3, 1, false), "- - 0+2 - - -");
    }

    #[test]
    fn blocks_as_large_as_clusters_are_written_at_once() {
        assert_eq!(written("...", 0, 2, false), "! ! !");
    }
}
