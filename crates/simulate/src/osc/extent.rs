//! Extents of dirty pages, and the objects that hold them.

use std::collections::{BTreeMap, VecDeque};

/// `osc_extent_state`: the states that a write passes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not in use.
    Invalid,
    /// A writer adds pages.
    Active,
    /// Waits for an RPC; a writer may reactivate it.
    Cache,
    /// Waits for an RPC of a synchronous write; has no grant.
    Sync,
    /// In an RPC.
    Rpc,
}

impl State {
    pub(super) const COUNT: usize = 5;
}

/// The lists of an object that an extent can be on, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    HighPriority,
    Urgent,
    Full,
}

/// A run of dirty pages without a gap. The model's chunks are one page, so an extent never has a gap.
#[derive(Debug, Clone)]
pub(super) struct Extent {
    pub(super) object: usize,
    pub(super) state: State,
    pub(super) first: u64,
    pub(super) pages: u64,
    /// The last page that it may ever cover: the end of its RPC's slot, or of the lock.
    pub(super) max_end: u64,
    pub(super) urgent: bool,
    /// A task waits until it is written, so it may not grow.
    pub(super) awaited: bool,
    pub(super) on: Option<List>,
    pub(super) dirty_since_ns: u64,
    /// The writer that added pages last.
    pub(super) writer: usize,
    /// Writers that wait for it in fsync or in a synchronous write.
    pub(super) watchers: Vec<usize>,
    /// The lock whose cancellation waits for it.
    pub(super) lock: Option<u64>,
}

impl Extent {
    /// The last page.
    pub(super) fn last(&self) -> u64 {
        self.first + self.pages - 1
    }
}

/// A file's part on one target, as one client sees it: `osc_object`.
#[derive(Debug, Default)]
pub(super) struct Object {
    pub(super) osc: usize,
    /// The lock's resource on the target.
    pub(super) resource: usize,
    /// Extents with grant, by their first page.
    pub(super) tree: BTreeMap<u64, usize>,
    pub(super) high_priority: VecDeque<usize>,
    pub(super) urgent: VecDeque<usize>,
    pub(super) full: VecDeque<usize>,
    /// `oo_nr_writes`: pages that wait for an RPC.
    pub(super) pending_pages: u64,
    pub(super) on_high_priority: bool,
    pub(super) on_ready: bool,
    pub(super) on_write: bool,
}

impl Object {
    /// The list itself.
    pub(super) fn list(&mut self, list: List) -> &mut VecDeque<usize> {
        match list {
            List::HighPriority => &mut self.high_priority,
            List::Urgent => &mut self.urgent,
            List::Full => &mut self.full,
        }
    }

    /// The extent before page `first`, and the extent that begins directly after page `last`.
    pub(super) fn neighbours(&self, first: u64, last: u64) -> (Option<usize>, Option<usize>) {
        let before = self.tree.range(..first).next_back().map(|(_, extent)| *extent);
        let after = self.tree.get(&(last + 1)).copied();
        (before, after)
    }
}

/// All extents; slots are reused.
#[derive(Debug, Default)]
pub(super) struct Extents {
    all: Vec<Extent>,
    unused: Vec<usize>,
    /// How many are in each state.
    pub(super) in_state: [u64; State::COUNT],
}

impl Extents {
    pub(super) fn add(&mut self, extent: Extent) -> usize {
        self.in_state[extent.state as usize] += 1;
        match self.unused.pop() {
            Some(id) => {
                self.all[id] = extent;
                id
            }
            None => {
                self.all.push(extent);
                self.all.len() - 1
            }
        }
    }

    pub(super) fn set_state(&mut self, id: usize, state: State) {
        self.in_state[self.all[id].state as usize] -= 1;
        self.in_state[state as usize] += 1;
        self.all[id].state = state;
    }

    /// Removes an extent that is written, or that was merged into another.
    pub(super) fn remove(&mut self, id: usize) {
        self.in_state[self.all[id].state as usize] -= 1;
        self.all[id].state = State::Invalid;
        self.unused.push(id);
    }
}

impl std::ops::Index<usize> for Extents {
    type Output = Extent;

    fn index(&self, id: usize) -> &Extent {
        &self.all[id]
    }
}

impl std::ops::IndexMut<usize> for Extents {
    fn index_mut(&mut self, id: usize) -> &mut Extent {
        &mut self.all[id]
    }
}
