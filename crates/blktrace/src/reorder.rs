//! Puts events of text in order: blkparse prints the CPUs' buffers one after the other while a trace runs, and tables
//! have one row for several moments.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use model::block::BlockEvent;

/// Events that wait for earlier ones.
const WAITING: usize = 32 << 10;
/// Where times of events before the trace's zero wrap: 2^64 ns, and the same with its seconds in 32 bits, as blkparse
/// prints it.
const WRAPS: [i128; 2] = [1 << 64, 1_266_874_889_709_551_616];
/// Wrapped times lie this closely below. No trace that has them too is that long.
const NEAR_NS: i128 = 3_600_000_000_000;

/// An event with its sequence number and its position in the input.
pub(crate) type Waiting = (BlockEvent, u32, u64);

/// Key of the heap: time, CPU, sequence number, order of arrival.
type Key = Reverse<(i128, u32, u32, u64)>;

#[derive(Default)]
pub(crate) struct Reorder {
    heap: BinaryHeap<(Key, Index)>,
    events: HashMap<u64, Waiting>,
    arrived: u64,
    /// The last time of each CPU: its own events are in order.
    last: HashMap<u32, i128>,
    /// Added to all times, so that those before the zero are none below it; known once events are returned.
    base_ns: Option<i128>,
    /// Whether times before the zero were seen.
    wrapped: bool,
}

/// The heap does not compare it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Index(u64);

impl Reorder {
    /// Adds an event. False if its CPU's clock went back: all events that wait precede it.
    pub(crate) fn follows(&self, event: &BlockEvent) -> bool {
        self.last.get(&event.cpu).is_none_or(|last| self.signed(event.time_ns) >= *last)
    }

    pub(crate) fn push(&mut self, event: BlockEvent, sequence: u32, offset: u64) {
        let time = self.signed(event.time_ns);
        self.wrapped |= time < 0;
        self.last.insert(event.cpu, time);
        self.heap.push((Reverse((time, event.cpu, sequence, self.arrived)), Index(self.arrived)));
        self.events.insert(self.arrived, (event, sequence, offset));
        self.arrived += 1;
    }

    /// The next event in order, once enough wait behind it, or `all` are wanted.
    pub(crate) fn pop(&mut self, all: bool) -> Option<Waiting> {
        if self.heap.len() <= WAITING && !all {
            return None;
        }
        let (Reverse((time, ..)), Index(number)) = self.heap.pop()?;
        let (mut event, sequence, offset) = self.events.remove(&number)?;
        let base = *self.base_ns.get_or_insert(if self.wrapped { -time.min(0) } else { 0 });
        event.time_ns = u64::try_from(time + base).unwrap_or(0);
        Some((event, sequence, offset))
    }

    /// Forgets the CPUs' clocks, after all events were taken.
    pub(crate) fn restart(&mut self) {
        self.last.clear();
    }

    /// A time, negative if it is before the trace's zero. Only a trace that begins near its zero has such times.
    fn signed(&self, time_ns: u64) -> i128 {
        let time = i128::from(time_ns);
        let near = |wrap: &&i128| (0..NEAR_NS).contains(&(**wrap - time));
        let is_near_zero = || self.wrapped || self.last.values().any(|last| last.abs() < NEAR_NS);
        WRAPS.iter().find(near).filter(|_| is_near_zero()).map_or(time, |wrap| time - wrap)
    }
}
