//! The disks: requests one after the other through a pipe, each with a time of its own until it is taken or begins.

use super::config::DeviceConfig;
use crate::random::Random;

/// A request under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    /// Number within the run.
    pub(super) number: u32,
    pub(super) file: usize,
    pub(super) block: u64,
    pub(super) blocks: u64,
    pub(super) write: bool,
    /// Who made it.
    pub(super) tid: u32,
    pub(super) queued_ns: u64,
    pub(super) issued_ns: u64,
    /// Reads and writes that were under way before.
    pub(super) before: (u32, u32),
}

#[derive(Debug)]
pub(super) struct Device {
    config: DeviceConfig,
    free_ns: u64,
    random: Random,
    under_way: Vec<Option<Transfer>>,
    unused: Vec<usize>,
    numbers: u32,
    /// Reads and writes under way.
    pub(super) reads: u32,
    pub(super) writes: u32,
}

impl Device {
    pub(super) fn new(config: DeviceConfig, random: Random) -> Device {
        Device {
            config,
            free_ns: 0,
            random,
            under_way: Vec::new(),
            unused: Vec::new(),
            numbers: 0,
            reads: 0,
            writes: 0,
        }
    }

    /// Starts a transfer (its number, times and company are filled in): where it is kept, and when it is done.
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
            self.under_way.push(None);
            self.under_way.len() - 1
        });
        self.under_way[place] = Some(transfer);
        (place, self.free_ns + own_ns)
    }

    /// The transfer is done.
    pub(super) fn done(&mut self, place: usize) -> Transfer {
        let transfer = self.under_way[place].take().expect("each transfer is done once");
        *(if transfer.write { &mut self.writes } else { &mut self.reads }) -= 1;
        self.unused.push(place);
        transfer
    }
}
