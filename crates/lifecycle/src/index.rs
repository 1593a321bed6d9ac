//! Open-addressing index from a position on a device to the bios there.
//!
//! A position is hashed to a 32-bit tag. Equal tags share one chain in order of insertion. A walk of a chain compares
//! the positions themselves: a tag collision costs only time.

/// No bio.
pub(super) const NIL: u32 = u32::MAX;

/// Maximum number of chain entries searched. No block layer has this many equal ranges in flight, and a damaged trace
/// must not make the search quadratic.
pub(super) const CHAIN_SEARCHED: usize = 64;

#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    first: u32,
    last: u32,
}

const FREE: Slot = Slot { tag: 0, first: NIL, last: NIL };

#[derive(Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

/// See the module.
pub(super) struct Index {
    slots: Vec<Slot>,
    used: usize,
    links: Vec<Link>,
}

/// Tag of a sector on a device for one direction; never 0.
#[inline]
pub(super) fn tag_of(device: u16, class: u8, sector: u64) -> u32 {
    let position = (u64::from(device) << 8 | u64::from(class)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mixed = (sector ^ position).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 32) as u32 | 1
}

impl Index {
    pub(super) fn new() -> Index {
        Index { slots: vec![FREE; 256], used: 0, links: Vec::new() }
    }

    /// Slot of the tag, or the free slot for it.
    #[inline]
    fn slot_of(&self, tag: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (tag >> 1) as usize & mask;
        while self.slots[slot].tag != tag && self.slots[slot].tag != 0 {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// First of the chain, oldest first.
    #[inline]
    pub(super) fn first(&self, tag: u32) -> u32 {
        self.slots[self.slot_of(tag)].first
    }

    /// Last of the chain, the newest.
    #[inline]
    pub(super) fn last(&self, tag: u32) -> u32 {
        self.slots[self.slot_of(tag)].last
    }

    /// The next newer in the chain.
    #[inline]
    pub(super) fn after(&self, id: u32) -> u32 {
        self.links[id as usize].after
    }

    /// The next older in the chain.
    #[inline]
    pub(super) fn before(&self, id: u32) -> u32 {
        self.links[id as usize].before
    }

    /// Appends `id` to the tag's chain. It must not be in this index.
    pub(super) fn insert(&mut self, tag: u32, id: u32) {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        if self.links.len() <= id as usize {
            self.links.resize(id as usize + 1, Link { before: NIL, after: NIL });
        }
        let slot = self.slot_of(tag);
        let Slot { tag: found, last, .. } = self.slots[slot];
        self.links[id as usize] = Link { before: last, after: NIL };
        if found == 0 {
            self.slots[slot] = Slot { tag, first: id, last: id };
            self.used += 1;
        } else {
            self.links[last as usize].after = id;
            self.slots[slot].last = id;
        }
    }

    /// Removes `id` from the tag's chain, which must contain it.
    pub(super) fn remove(&mut self, tag: u32, id: u32) {
        let slot = self.slot_of(tag);
        let Link { before, after } = self.links[id as usize];
        match before {
            NIL => self.slots[slot].first = after,
            _ => self.links[before as usize].after = after,
        }
        match after {
            NIL => self.slots[slot].last = before,
            _ => self.links[after as usize].before = before,
        }
        if self.slots[slot].first == NIL {
            self.free(slot);
        }
    }

    /// Closes the gap: moves displaced entries back.
    fn free(&mut self, slot: usize) {
        let mask = self.slots.len() - 1;
        let mut gap = slot;
        let mut next = slot;
        loop {
            next = (next + 1) & mask;
            let tag = self.slots[next].tag;
            if tag == 0 {
                break;
            }
            let home = (tag >> 1) as usize & mask;
            // Whether `home` lies cyclically outside (gap, next].
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(gap) & mask) {
                self.slots[gap] = self.slots[next];
                gap = next;
            }
        }
        self.slots[gap] = FREE;
        self.used -= 1;
    }

    fn grow(&mut self) {
        let doubled = vec![FREE; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, doubled);
        for kept in old.into_iter().filter(|slot| slot.tag != 0) {
            let slot = self.slot_of(kept.tag);
            self.slots[slot] = kept;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::{Index, NIL, tag_of};

    fn chain(index: &Index, tag: u32) -> Vec<u32> {
        let mut ids = Vec::new();
        let mut id = index.first(tag);
        while id != NIL {
            ids.push(id);
            id = index.after(id);
        }
        ids
    }

    proptest! {
        #[test]
        fn behaves_like_a_map_of_queues(steps in proptest::collection::vec((0_u64..40, any::<bool>(), 0_usize..4),
            0..2000)) {
            let mut index = Index::new();
            let mut model: HashMap<u32, Vec<u32>> = HashMap::new();
            let mut next_id = 0;
            for (sector, insert, which) in steps {
                let tag = tag_of(0, 1, sector);
                let queue = model.entry(tag).or_default();
                if insert || queue.is_empty() {
                    index.insert(tag, next_id);
                    queue.push(next_id);
                    next_id += 1;
                } else {
                    let id = queue.remove(which % queue.len());
                    index.remove(tag, id);
                }
                prop_assert_eq!(&chain(&index, tag), &model[&tag]);
            }
            for (&tag, queue) in &model {
                prop_assert_eq!(&chain(&index, tag), queue);
                prop_assert_eq!(index.last(tag), queue.last().copied().unwrap_or(NIL));
            }
        }
    }
}
