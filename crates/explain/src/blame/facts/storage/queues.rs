//! The requests of each disk that tasks waited for, in the order in which they came.

use std::collections::HashMap;

use model::block::DeviceNumber;
use model::stall::RequestRecord;

/// Requests that are examined for one. Of more, it is not said whose they are.
const LOOKED_AT: usize = 4096;

/// All queues.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    by_device: HashMap<DeviceNumber, Queue>,
}

/// Requests of one disk.
#[derive(Debug, Default)]
struct Queue {
    /// When it came, and its number.
    arrivals: Vec<(u64, u32)>,
    longest_ns: u64,
}

impl Queues {
    pub(crate) fn new<'a>(requests: impl Iterator<Item = &'a RequestRecord>) -> Queues {
        let mut queues = Queues::default();
        for request in requests {
            let queue = queues.by_device.entry(request.device).or_default();
            queue.arrivals.push((request.began_ns(), request.request));
            queue.longest_ns = queue.longest_ns.max(request.lived_ns());
        }
        queues.by_device.values_mut().for_each(|queue| queue.arrivals.sort_unstable());
        queues
    }

    /// Requests that may have been in flight at a moment; `None` where there are too many.
    pub(crate) fn in_flight(&self, device: DeviceNumber, at_ns: u64) -> Option<impl Iterator<Item = u32>> {
        let queue = self.by_device.get(&device)?;
        queue.arrived(at_ns.saturating_sub(queue.longest_ns), at_ns)
    }

    /// Requests that came after a moment and before another one; `None` where there are too many.
    pub(crate) fn after(&self, device: DeviceNumber, from_ns: u64, to_ns: u64) -> Option<impl Iterator<Item = u32>> {
        self.by_device.get(&device)?.arrived(from_ns.saturating_add(1), to_ns)
    }
}

impl Queue {
    fn arrived(&self, from_ns: u64, to_ns: u64) -> Option<impl Iterator<Item = u32>> {
        let at = |ns: u64| self.arrivals.partition_point(|arrival| arrival.0 < ns);
        let arrivals = self.arrivals.get(at(from_ns)..at(to_ns)).unwrap_or_default();
        (arrivals.len() <= LOOKED_AT).then(|| arrivals.iter().map(|arrival| arrival.1))
    }
}
