//! Pages: free, allocated, in the page cache, in slabs.

use std::collections::VecDeque;

/// A page, in bytes.
pub(super) const PAGE: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Clean,
    Dirty,
    Writeback,
}

/// Pages of a file that were read or written together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    pub(super) fs: u8,
    pub(super) inode: u32,
    pub(super) pages: u32,
    pub(super) state: State,
    /// The next chunk of the same inode, or [`NONE`].
    pub(super) next: u32,
}

/// No chunk.
pub(super) const NONE: u32 = u32::MAX;

/// Page accounting; every page is in one place.
#[derive(Debug)]
pub(super) struct Memory {
    total: u64,
    free: u64,
    allocated: u64,
    cached: u64,
    dirty: u64,
    writeback: u64,
    slab_pages: u64,
    slab_bytes: u64,
    min: u64,
    gap: u64,
    chunks: Vec<Chunk>,
    unused: Vec<u32>,
    /// The inactive list; the oldest first.
    list: VecDeque<u32>,
}

/// The result of a scan of the list.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scanned {
    pub(super) scanned: u64,
    pub(super) reclaimed: u64,
    /// Pages that could not be reclaimed, because they are dirty or being written.
    pub(super) unclean: u64,
}

impl Memory {
    pub(super) fn new(total: u64, min: u64, gap: u64) -> Memory {
        Memory {
            total,
            free: total,
            allocated: 0,
            cached: 0,
            dirty: 0,
            writeback: 0,
            slab_pages: 0,
            slab_bytes: 0,
            min,
            gap,
            chunks: Vec::new(),
            unused: Vec::new(),
            list: VecDeque::new(),
        }
    }

    pub(super) fn free(&self) -> u64 {
        self.free
    }

    pub(super) fn cached(&self) -> u64 {
        self.cached
    }

    pub(super) fn dirty(&self) -> u64 {
        self.dirty
    }

    pub(super) fn writeback(&self) -> u64 {
        self.writeback
    }

    pub(super) fn slab(&self) -> u64 {
        self.slab_pages
    }

    pub(super) fn is_low(&self) -> bool {
        self.free < self.min + self.gap
    }

    pub(super) fn is_high(&self) -> bool {
        self.free >= self.high()
    }

    pub(super) fn high(&self) -> u64 {
        self.min + 2 * self.gap
    }

    /// Dirtyable pages: free pages and the page cache.
    pub(super) fn dirtyable(&self) -> u64 {
        self.free + self.cached
    }

    /// Allocates up to `pages`, as far as pages above the min watermark are free. Returns how many.
    pub(super) fn allocate(&mut self, pages: u64) -> u64 {
        let given = pages.min(self.free.saturating_sub(self.min));
        self.free -= given;
        self.allocated += given;
        given
    }

    pub(super) fn free_allocated(&mut self, pages: u64) {
        self.allocated -= pages;
        self.free += pages;
    }

    /// Allocated pages become pages of a file, at the young end of the list.
    pub(super) fn cache(&mut self, chunk: Chunk) -> u32 {
        let pages = u64::from(chunk.pages);
        self.allocated -= pages;
        self.cached += pages;
        if chunk.state == State::Dirty {
            self.dirty += pages;
        }
        let id = self.unused.pop().unwrap_or_else(|| {
            self.chunks.push(chunk);
            self.chunks.len() as u32 - 1
        });
        self.chunks[id as usize] = chunk;
        self.list.push_back(id);
        id
    }

    pub(super) fn chunk(&self, id: u32) -> Chunk {
        self.chunks[id as usize]
    }

    pub(super) fn write_back(&mut self, id: u32) {
        let chunk = &mut self.chunks[id as usize];
        debug_assert_eq!(chunk.state, State::Dirty);
        chunk.state = State::Writeback;
        self.dirty -= u64::from(chunk.pages);
        self.writeback += u64::from(chunk.pages);
    }

    pub(super) fn written(&mut self, id: u32) {
        let chunk = &mut self.chunks[id as usize];
        debug_assert_eq!(chunk.state, State::Writeback);
        chunk.state = State::Clean;
        self.writeback -= u64::from(chunk.pages);
    }

    /// Drops the pages of a clean chunk whose inode is evicted.
    pub(super) fn invalidate(&mut self, id: u32) {
        let pages = u64::from(std::mem::take(&mut self.chunks[id as usize].pages));
        self.cached -= pages;
        self.free += pages;
    }

    /// Makes a chunk's successor the next chunk of its inode.
    pub(super) fn link(&mut self, id: u32, next: u32) {
        self.chunks[id as usize].next = next;
    }

    /// Scans `most` pages from the old end. Clean pages are reclaimed, the others rotate to the young end. Freed chunks
    /// are added to `dropped`.
    pub(super) fn scan(&mut self, most: u64, dropped: &mut Vec<u32>) -> Scanned {
        let mut done = Scanned::default();
        for _ in 0..self.list.len() {
            if done.scanned >= most {
                break;
            }
            let Some(id) = self.list.pop_front() else { break };
            let chunk = &mut self.chunks[id as usize];
            if chunk.pages == 0 {
                self.unused.push(id);
                continue;
            }
            if chunk.state != State::Clean {
                done.scanned += u64::from(chunk.pages);
                done.unclean += u64::from(chunk.pages);
                self.list.push_back(id);
                continue;
            }
            let pages = u64::from(chunk.pages).min(most - done.scanned);
            chunk.pages -= pages as u32;
            done.scanned += pages;
            done.reclaimed += pages;
            self.cached -= pages;
            self.free += pages;
            if chunk.pages == 0 {
                dropped.push(id);
                self.unused.push(id);
            } else {
                self.list.push_front(id);
            }
        }
        done
    }

    /// Slabs take whole pages, even below the watermarks.
    pub(super) fn slab_take(&mut self, bytes: u64) {
        self.slab_bytes += bytes;
        let pages = self.slab_bytes.div_ceil(PAGE);
        let more = pages.saturating_sub(self.slab_pages).min(self.free);
        self.free -= more;
        self.slab_pages += more;
    }

    pub(super) fn slab_free(&mut self, bytes: u64) {
        self.slab_bytes -= bytes;
        let less = self.slab_pages.saturating_sub(self.slab_bytes.div_ceil(PAGE));
        self.slab_pages -= less;
        self.free += less;
    }

    /// Whether every page is in one place, the list holds the whole cache, and tasks hold all allocated pages.
    pub(super) fn adds_up(&self, held: u64) -> bool {
        let chunks = |state| {
            let of_state = self.list.iter().map(|id| self.chunk(*id)).filter(|chunk| chunk.state == state);
            of_state.map(|chunk| u64::from(chunk.pages)).sum::<u64>()
        };
        self.free + self.allocated + self.cached + self.slab_pages == self.total
            && self.allocated == held
            && chunks(State::Dirty) == self.dirty
            && chunks(State::Writeback) == self.writeback
            && chunks(State::Clean) + self.dirty + self.writeback == self.cached
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Chunk, Memory, NONE, State};

    proptest! {
        #[test]
        fn every_page_is_in_one_place(steps in prop::collection::vec((0_u8..6, 1_u64..300), 1..200)) {
            let mut memory = Memory::new(10_000, 100, 50);
            let (mut allocated, mut dirty, mut writing, mut slab) = (0, Vec::new(), Vec::new(), 0);
            for (what, pages) in steps {
                match what {
                    0 => allocated += memory.allocate(pages),
                    1 => {
                        let freed = allocated.min(pages);
                        memory.free_allocated(freed);
                        allocated -= freed;
                    }
                    2 if allocated > 0 => {
                        let state = if pages % 2 == 0 { State::Dirty } else { State::Clean };
                        let pages = allocated.min(pages);
                        let chunk = Chunk { fs: 0, inode: 0, pages: pages as u32, state, next: NONE };
                        let id = memory.cache(chunk);
                        if state == State::Dirty {
                            dirty.push(id);
                        }
                        allocated -= pages;
                    }
                    3 => {
                        if let Some(id) = dirty.pop() {
                            memory.write_back(id);
                            writing.push(id);
                        } else if let Some(id) = writing.pop() {
                            memory.written(id);
                        }
                    }
                    4 => {
                        let done = memory.scan(pages, &mut Vec::new());
                        prop_assert!(done.reclaimed + done.unclean == done.scanned);
                        prop_assert!(done.reclaimed <= pages);
                    }
                    _ if slab > 0 && pages % 2 == 0 => {
                        memory.slab_free(slab.min(pages * 100));
                        slab -= slab.min(pages * 100);
                    }
                    _ => {
                        memory.slab_take(pages * 100);
                        slab += pages * 100;
                    }
                }
                prop_assert!(memory.adds_up(allocated));
            }
        }
    }
}
