//! Due events, in the order of simulated time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The clock and the pending events. Events that are due at the same time come in the order in which they were added,
/// so a run depends only on its seed.
#[derive(Debug)]
pub struct Agenda<D> {
    now_ns: u64,
    put: u64,
    taken: u64,
    heap: BinaryHeap<Entry<D>>,
}

impl<D> Default for Agenda<D> {
    fn default() -> Self {
        Agenda { now_ns: 0, put: 0, taken: 0, heap: BinaryHeap::new() }
    }
}

impl<D> Agenda<D> {
    /// An empty agenda, with the clock at 0.
    pub fn new() -> Agenda<D> {
        Agenda::default()
    }

    /// The simulated time.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// How many events have been taken.
    pub fn events(&self) -> u64 {
        self.taken
    }

    /// How many events are pending.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Adds an event at `at_ns`, or now if that has passed: time never goes backward.
    pub fn at(&mut self, at_ns: u64, due: D) {
        self.put += 1;
        self.heap.push(Entry { at_ns: at_ns.max(self.now_ns), order: self.put, due });
    }

    /// Adds an event `delay_ns` from now.
    pub fn after(&mut self, delay_ns: u64, due: D) {
        self.at(self.now_ns.saturating_add(delay_ns), due);
    }

    /// Moves the clock to the next event and takes it. `None`: nothing will ever happen again.
    pub fn next_due(&mut self) -> Option<D> {
        let entry = self.heap.pop()?;
        self.now_ns = entry.at_ns;
        self.taken += 1;
        Some(entry.due)
    }
}

#[derive(Debug)]
struct Entry<D> {
    at_ns: u64,
    order: u64,
    due: D,
}

/// The earliest entry is the greatest, because the heap pops the greatest first.
impl<D> Ord for Entry<D> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ns, other.order).cmp(&(self.at_ns, self.order))
    }
}

impl<D> PartialOrd for Entry<D> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<D> PartialEq for Entry<D> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<D> Eq for Entry<D> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Agenda;

    #[test]
    fn events_due_at_the_same_time_come_in_insertion_order() {
        let mut agenda = Agenda::new();
        agenda.at(5, 'b');
        agenda.at(3, 'a');
        agenda.at(5, 'c');
        let order: String = std::iter::from_fn(|| agenda.next_due()).collect();
        assert_eq!(order, "abc");
        assert_eq!((agenda.now_ns(), agenda.events()), (5, 3));
    }

    proptest! {
        #[test]
        fn time_never_goes_backward(moments in prop::collection::vec(0_u64..1000, 1..100)) {
            let mut agenda = Agenda::new();
            for moment in &moments {
                agenda.at(*moment, *moment);
            }
            let mut taken = 0;
            let mut before_ns = 0;
            while let Some(moment) = agenda.next_due() {
                prop_assert!(agenda.now_ns() >= before_ns);
                before_ns = agenda.now_ns();
                taken += 1;
                // An event in the past is due now.
                if taken <= moments.len() {
                    agenda.at(moment / 2, moment);
                }
            }
            prop_assert_eq!(taken, 2 * moments.len());
        }
    }
}
