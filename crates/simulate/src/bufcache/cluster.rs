//! What becomes of a block that has just been written full: `cluster_write()`.

/// What a vnode remembers of the cluster that is being written: `v_cstart`, `v_clen`, `v_lastw`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClusterState {
    start: u64,
    /// Blocks that may follow the first; 0: there is no cluster.
    length: u64,
    last: u64,
}

/// A full block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Full {
    pub(super) block: u64,
    /// It follows the one before on disk.
    pub(super) contiguous: bool,
    /// The file ends with it.
    pub(super) at_end: bool,
    /// How sequential the write looks; 0: at random.
    pub(super) seqcount: u64,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decision {
    /// Whether the block's buffer is written at once; else it stays dirty.
    pub(super) now: bool,
    /// Blocks to write in a cluster: first and how many. After the buffer has become dirty.
    pub(super) push: Option<(u64, u64)>,
}

impl ClusterState {
    /// `most`: blocks that may follow the first of a cluster. `ignore`: a complete cluster is written however it looks.
    ///
    /// Where a file grows, FreeBSD tries to move what was begun so that it is contiguous again. That always fails here.
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

    /// Writes blocks in order, with a break before those marked `|`; says for each `-` (stays dirty), `!` (written at
    /// once), or what is pushed.
    fn written(breaks: &str, most: u64, seqcount: u64, ignore: bool) -> String {
        let mut state = ClusterState::default();
        let said = breaks.chars().enumerate().map(|(block, mark)| {
            let full = Full { block: block as u64, contiguous: mark != '|', at_end: false, seqcount };
            let decision = state.write(full, most, ignore);
            match (decision.now, decision.push) {
                (true, _) => "!".to_owned(),
                (false, Some((start, blocks))) => format!("{start}+{blocks}"),
                (false, None) => "-".to_owned(),
            }
        });
        said.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn sequential_clusters_are_pushed_when_complete() {
        assert_eq!(written("......", 1, 2, false), "- 0+2 - 2+2 - 4+2");
        assert_eq!(written("........", 3, 2, false), "- - - 0+4 - - - 4+4");
    }

    #[test]
    fn what_does_not_look_sequential_stays_dirty() {
        assert_eq!(written("......", 1, 0, false), "- - - - - -");
        assert_eq!(written("..|...", 1, 0, false), "- - - - - -");
    }

    #[test]
    fn complete_clusters_are_pushed_when_seqcount_is_ignored_and_broken_ones_leak() {
        assert_eq!(written("......", 1, 0, true), "- 0+2 - 2+2 - 4+2");
        assert_eq!(written("...|..", 1, 0, true), "- 0+2 - - 3+2 -");
    }

    #[test]
    fn a_break_pushes_what_was_begun() {
        assert_eq!(written(".|....", 1, 2, false), "- 0+1 1+2 - 3+2 -");
        assert_eq!(written("..|...", 3, 1, false), "- - 0+2 - - -");
    }

    #[test]
    fn blocks_as_large_as_clusters_are_written_at_once() {
        assert_eq!(written("...", 0, 2, false), "! ! !");
    }
}
