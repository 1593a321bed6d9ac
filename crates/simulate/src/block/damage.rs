//! Damage that traces suffer: lost events and clock steps.

use std::collections::HashMap;

use model::block::{BlockEvent, DeviceNumber};

use crate::random::Random;

/// Sequence numbers as the kernel counts them: per device and CPU, from 1.
#[derive(Debug, Default)]
pub struct Sequencer {
    next: HashMap<(DeviceNumber, u32), u32>,
}

impl Sequencer {
    /// The event's sequence number.
    pub fn number(&mut self, event: &BlockEvent) -> u32 {
        let last = self.next.entry((event.device, event.cpu)).or_insert(0);
        *last += 1;
        *last
    }
}

/// Numbers all events, then drops runs of them: each event begins a loss with a chance of `of_1000` in 1000, and a loss
/// takes 1 to `longest` events of the same device and CPU. Returns how many were lost.
///
/// The first and the last event of a device and CPU stay: a loss before or after them leaves no gap, so no reader can
/// detect it.
pub fn lose(events: &[BlockEvent], of_1000: u64, longest: u64, random: &mut Random) -> (Vec<(u32, BlockEvent)>, u64) {
    let mut sequencer = Sequencer::default();
    let numbered: Vec<(u32, BlockEvent)> = events.iter().map(|event| (sequencer.number(event), *event)).collect();
    let mut losing: HashMap<(DeviceNumber, u32), u64> = HashMap::new();
    let kept: Vec<_> = numbered
        .iter()
        .filter(|(number, event)| {
            let source = (event.device, event.cpu);
            let left = losing.entry(source).or_insert(0);
            if *left == 0 && random.chance(of_1000) {
                *left = 1 + random.below(longest);
            }
            let lost = *left > 0;
            *left = left.saturating_sub(1);
            !lost || *number == 1 || *number == sequencer.next[&source]
        })
        .copied()
        .collect();
    let lost = (numbered.len() - kept.len()) as u64;
    (kept, lost)
}

/// Steps the clock by `by_ns`, beginning with the event at index `at`.
pub fn step_clock(events: &mut [BlockEvent], at: usize, by_ns: i64) {
    for event in &mut events[at..] {
        event.time_ns = event.time_ns.saturating_add_signed(by_ns);
    }
}
