//! Classes of bios: device, kind, thread and cgroup as one small number.
//!
//! Per-process, per-cgroup and per-kind figures and the overtake index all count by class and are summed at the end. A
//! bio costs one lookup for any number of tables.

use model::block::Kind;

use super::tally::OfClass;

/// The submitter of a bio, and its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClassKey {
    pub(super) device: u16,
    pub(super) kind: Kind,
    pub(super) pid: u32,
    pub(super) cgroup: u64,
}

/// Sums over the bios of one class.
#[derive(Debug, Clone)]
pub(super) struct Class {
    pub(super) key: ClassKey,
    pub(super) queued: u64,
    pub(super) queued_bytes: u64,
    pub(super) errors: u64,
    pub(super) slow: u64,
    /// Q2C and D2C.
    pub(super) times: OfClass,
}

/// Thread id that stands for all threads beyond the limit.
pub(super) const OTHERS: u32 = u32::MAX;

pub(super) struct Classes {
    classes: Vec<Class>,
    slots: Vec<u16>,
    /// The class found last, often the next one as well.
    last: u16,
}

const FREE: u16 = u16::MAX;

impl Classes {
    /// Bounds memory when thousands of short-lived processes do I/O: later ones share a class per device and kind.
    const LIMIT: usize = 4096;
    /// Limit including the shared classes.
    const OTHERS_LIMIT: usize = Classes::LIMIT + 1024;

    pub(super) fn new() -> Classes {
        Classes { classes: Vec::new(), slots: vec![FREE; Classes::LIMIT * 4], last: 0 }
    }

    #[inline]
    pub(super) fn number_of(&mut self, key: ClassKey) -> u16 {
        if let Some(class) = self.classes.get(usize::from(self.last))
            && class.key == key
        {
            return self.last;
        }
        self.last = self.look_up(key);
        self.last
    }

    fn look_up(&mut self, key: ClassKey) -> u16 {
        let mask = self.slots.len() - 1;
        let mut slot = hash(key) as usize & mask;
        while self.slots[slot] != FREE {
            if self.classes[usize::from(self.slots[slot])].key == key {
                return self.slots[slot];
            }
            slot = (slot + 1) & mask;
        }
        if self.classes.len() >= Classes::LIMIT && key.pid != OTHERS {
            return self.look_up(ClassKey { pid: OTHERS, cgroup: 0, ..key });
        }
        if self.classes.len() >= Classes::OTHERS_LIMIT {
            return (Classes::OTHERS_LIMIT - 1) as u16;
        }
        self.slots[slot] = self.classes.len() as u16;
        self.classes.push(Class { key, queued: 0, queued_bytes: 0, errors: 0, slow: 0, times: OfClass::default() });
        self.slots[slot]
    }

    #[inline]
    pub(super) fn get(&self, number: u16) -> &Class {
        &self.classes[usize::from(number)]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u16) -> &mut Class {
        &mut self.classes[usize::from(number)]
    }

    /// Takes the distributions of completed bios.
    pub(super) fn take(&mut self, tally: Vec<OfClass>) {
        self.classes.iter_mut().zip(tally).for_each(|(class, times)| class.times = times);
    }

    pub(super) fn all(&self) -> &[Class] {
        &self.classes
    }
}

fn hash(key: ClassKey) -> u64 {
    let small = u64::from(key.pid) << 32 | u64::from(key.device) << 8 | u64::from(key.kind.number());
    let mixed = (small ^ key.cgroup.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

#[cfg(test)]
mod tests {
    use model::block::Kind;

    use super::{ClassKey, Classes, OTHERS};

    #[test]
    fn equal_submitters_share_a_number_and_those_beyond_the_limit_share_one() {
        let mut classes = Classes::new();
        let key = |pid| ClassKey { device: 1, kind: Kind::default(), pid, cgroup: 7 };
        let first = classes.number_of(key(5));
        assert_eq!(classes.number_of(key(6)), 1);
        assert_eq!(classes.number_of(key(5)), first);
        for pid in 0..10_000 {
            classes.number_of(key(pid));
        }
        let late = classes.number_of(key(20_000));
        assert_eq!(classes.get(late).key.pid, OTHERS);
        assert_eq!(classes.number_of(key(20_001)), late);
    }
}
