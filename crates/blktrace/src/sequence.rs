//! Sequence numbers: which events are missing.

/// What a sequence number shows about earlier events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Continuity {
    /// It follows the last one.
    Whole,
    /// The first event of its device and CPU; this many preceded it.
    First(u32),
    /// Events are missing since the last one, which was at place `since`.
    Gap { missing: u32, since: u64 },
    /// It went back by this much.
    Back(u32),
}

#[derive(Clone, Copy)]
struct Last {
    key: u64,
    sequence: u32,
    place: u64,
}

const FREE: u64 = u64::MAX;

/// The last sequence number of every device and CPU: the kernel counts per traced device and CPU.
pub(crate) struct Sequences {
    slots: Vec<Last>,
    used: usize,
}

impl Sequences {
    /// A damaged trace may name any number of CPUs; more than this many are not tracked.
    const LIMIT: usize = 1 << 16;

    pub(crate) fn new() -> Sequences {
        Sequences { slots: vec![Last { key: FREE, sequence: 0, place: 0 }; 64], used: 0 }
    }

    /// Records an event with a sequence number. `place` is returned when a later event shows a gap after it.
    pub(crate) fn see(&mut self, device: u32, cpu: u32, sequence: u32, place: u64) -> Continuity {
        let key = u64::from(device) << 32 | u64::from(cpu);
        let slot = self.slot_of(key);
        let Some(last) = self.slots.get_mut(slot) else { return Continuity::Whole };
        if last.key != key {
            *last = Last { key, sequence, place };
            self.used += 1;
            return if sequence > 1 { Continuity::First(sequence - 1) } else { Continuity::Whole };
        }
        let step = sequence.wrapping_sub(last.sequence);
        let since = last.place;
        *last = Last { key, sequence, place };
        match step {
            1 => Continuity::Whole,
            // More than half the number range ahead is behind.
            0 | 0x8000_0000.. => Continuity::Back(step.wrapping_neg()),
            _ => Continuity::Gap { missing: step - 1, since },
        }
    }

    /// Corrects the place of the last event of the device and CPU.
    #[cold]
    pub(crate) fn replace(&mut self, device: u32, cpu: u32, place: u64) {
        let key = u64::from(device) << 32 | u64::from(cpu);
        let slot = self.slot_of(key);
        if let Some(last) = self.slots.get_mut(slot).filter(|last| last.key == key) {
            last.place = place;
        }
    }

    /// Records an event without a sequence number.
    pub(crate) fn pass(&mut self, cpu: u32, place: u64) {
        let key = unnumbered(cpu);
        let slot = self.slot_of(key);
        if let Some(last) = self.slots.get_mut(slot) {
            self.used += usize::from(last.key != key);
            *last = Last { key, sequence: 0, place };
        }
    }

    /// The place of the CPU's last event without a number, or the beginning.
    pub(crate) fn last_of(&mut self, cpu: u32) -> u64 {
        let key = unnumbered(cpu);
        let slot = self.slot_of(key);
        self.slots.get(slot).filter(|last| last.key == key).map_or(0, |last| last.place)
    }

    /// Whether there are several CPUs, or one CPU's events of several devices.
    pub(crate) fn several(&self) -> bool {
        self.used > 1
    }

    /// Index of the key's slot, or of a free slot; past the end if the table is at its limit.
    fn slot_of(&mut self, key: u64) -> usize {
        if self.used * 2 >= self.slots.len() && self.slots.len() < Sequences::LIMIT {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & mask;
        loop {
            let found = self.slots[slot].key;
            if found == key {
                return slot;
            }
            if found == FREE {
                return if self.used * 2 < self.slots.len() { slot } else { usize::MAX };
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let doubled = vec![Last { key: FREE, sequence: 0, place: 0 }; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, doubled);
        self.used = 0;
        for last in old.into_iter().filter(|last| last.key != FREE) {
            let slot = self.slot_of(last.key);
            self.slots[slot] = last;
            self.used += 1;
        }
    }
}

/// A key that differs from those of numbered events and of free slots.
fn unnumbered(cpu: u32) -> u64 {
    u64::from(u32::MAX) << 32 | u64::from(cpu.min(u32::MAX - 1))
}

#[cfg(test)]
mod tests {
    use super::{Continuity, Sequences};

    #[test]
    fn gaps_are_per_device_and_cpu() {
        let mut sequences = Sequences::new();
        assert_eq!(sequences.see(1, 0, 1, 10), Continuity::Whole);
        assert_eq!(sequences.see(1, 1, 5, 20), Continuity::First(4));
        assert_eq!(sequences.see(2, 0, 1, 30), Continuity::Whole);
        assert_eq!(sequences.see(1, 0, 2, 40), Continuity::Whole);
        assert_eq!(sequences.see(1, 0, 6, 50), Continuity::Gap { missing: 3, since: 40 });
        assert_eq!(sequences.see(1, 0, 4, 60), Continuity::Back(2));
        assert_eq!(sequences.see(1, 1, 6, 70), Continuity::Whole);
    }

    #[test]
    fn the_number_wraps_without_a_gap() {
        let mut sequences = Sequences::new();
        sequences.see(1, 0, u32::MAX, 80);
        assert_eq!(sequences.see(1, 0, 0, 90), Continuity::Whole);
    }

    #[test]
    fn any_number_of_cpus_is_bounded() {
        let mut sequences = Sequences::new();
        for cpu in 0..200_000 {
            sequences.see(1, cpu, 1, 100);
        }
        assert!(sequences.slots.len() <= Sequences::LIMIT);
        assert_eq!(sequences.see(1, 0, 2, 110), Continuity::Whole);
    }
}
