//! The disks: a pipe that transfers one request after another; each request has its own latency in addition.

use super::config::DeviceConfig;
use crate::random::Random;

/// A request in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    /// Number within the run.
    pub(super) number: u32,
    pub(super) file: usize,
    pub(super) block: u64,
    pub(super) blocks: u64,
    pub(super) write: bool,
    /// The task that submitted it.
    pub(super) tid: u32,
    pub(super) queued_ns: u64,
    pub(super) issued_ns: u64,
    /// Reads and writes in flight when it was queued.
    pub(super) before: (u32, u32),
}

#[derive(Debug)]
pub(super) struct Device {
    config: DeviceConfig,
    free_ns: u64,
    random: Random,
    in_flight: Vec<Option<Transfer>>,
    unused: Vec<usize>,
    numbers: u32,
    /// Reads and writes in flight.
    pub(super) reads: u32,
    pub(super) writes: u32,
}

impl Device {
    pub(super) fn new(config: DeviceConfig, random: Random) -> Device {
        Device {
            config,
            free_ns: 0,
            random,
            in_flight: Vec::new(),
            unused: Vec::new(),
            numbers: 0,
            reads: 0,
            writes: 0,
        }
    }

    /// Starts a transfer, and fills in its number, times and the requests in flight. Returns its slot, and its
    /// completion time.
    pub(super) fn start(&mut self, mut transfer: Transfer, bytes: u64, now_ns: u64) -> (usize, u64) {
        let time = if transfer.write { &self.config.write } else { &self.config.read };
        let own_ns = time.draw_ns(&mut self.random);
        let issued_ns = self.free_ns.max(now_ns);
        self.free_ns = issued_ns + self.config.request_ns + bytes * 1_000_000_000 / self.config.bytes_per_s;
        self.numbers += 1;
        transfer.number = self.numbers;
        transfer.queued_ns = now_ns;
        transfer.issued_ns = issued_ns;
        transfer.before = (self.reads, self.writes);
        *(if transfer.write { &mut self.writes } else { &mut self.reads }) += 1;
        let place = self.unused.pop().unwrap_or_else(|| {
            self.in_flight.push(None);
            self.in_flight.len() - 1
        });
        self.in_flight[place] = Some(transfer);
        (place, self.free_ns + own_ns)
    }

    /// Completes a transfer.
    pub(super) fn done(&mut self, place: usize) -> Transfer {
        let transfer = self.in_flight[place].take().expect("each transfer completes once");
        *(if transfer.write { &mut self.writes } else { &mut self.reads }) -= 1;
        self.unused.push(place);
        transfer
    }
}
