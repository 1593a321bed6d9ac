//! Messages between the ranks. Nothing waits longer than it takes to hand over a message: a rank that waits in MPI would
//! keep a CPU busy that the load needs.

use std::collections::VecDeque;
use std::time::Duration;

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, MatchedReceiveVec, Source};

use super::word::Word;
use crate::ui::failure::Failure;
use crate::ui::interrupt::Interrupt;

/// Interval at which a rank that waits looks for a message.
const LOOK: Duration = Duration::from_millis(2);
const TAG: i32 = 1;
const CLOCK_TAG: i32 = 2;
/// Exchanges of a clock's offset; the shortest counts.
const EXCHANGES: usize = 64;

/// The rank's connection to the others.
pub(super) struct Link {
    world: SimpleCommunicator,
    waiting: VecDeque<(i32, Word)>,
}

/// The offset of a clock to that of rank 0, and the bound of its error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offset {
    pub(super) offset_ns: i64,
    pub(super) error_ns: u64,
}

impl Link {
    pub(super) fn new(world: SimpleCommunicator) -> Link {
        Link { world, waiting: VecDeque::new() }
    }

    pub(super) fn rank(&self) -> i32 {
        self.world.rank()
    }

    pub(super) fn ranks(&self) -> i32 {
        self.world.size()
    }

    /// Sends a message; the receiver need not be waiting for it.
    pub(super) fn send(&self, to: i32, word: &Word) {
        self.world.process_at_rank(to).buffered_send_with_tag(&encoded(word)[..], TAG);
    }

    /// Sends a long message to a rank that waits for it.
    pub(super) fn hand(&self, to: i32, word: &Word) {
        self.world.process_at_rank(to).send_with_tag(&encoded(word)[..], TAG);
    }

    /// The next message that has arrived, and its sender.
    pub(super) fn receive(&mut self) -> Option<(i32, Word)> {
        self.waiting.pop_front().or_else(|| self.arrived())
    }

    fn arrived(&self) -> Option<(i32, Word)> {
        let arrived = self.world.any_process().immediate_matched_probe_with_tag(TAG)?;
        let (bytes, status): (Vec<u8>, _) = arrived.matched_receive_vec();
        serde_json::from_slice(&bytes).ok().map(|word| (status.source_rank(), word))
    }

    /// Waits for a message that `wanted` takes; others wait their turn. `None`: interrupted, or `patience` is over.
    pub(super) fn wait<T>(
        &mut self,
        interrupt: &Interrupt,
        patience: Duration,
        mut wanted: impl FnMut(i32, &Word) -> Option<T>,
    ) -> Option<T> {
        let began = std::time::Instant::now();
        let mut others = VecDeque::new();
        let found = loop {
            match self.receive() {
                Some((from, word)) => match wanted(from, &word) {
                    Some(found) => break Some(found),
                    None => others.push_back((from, word)),
                },
                None if interrupt.requests() > 0 || began.elapsed() > patience => break None,
                None => std::thread::sleep(LOOK),
            }
        };
        others.append(&mut self.waiting);
        self.waiting = others;
        found
    }

    /// As rank 0, lets another rank measure the offset of its clock.
    pub(super) fn serve_clock(&self, rank: i32) {
        let process = self.world.process_at_rank(rank);
        for _ in 0..EXCHANGES {
            let _ = process.receive_with_tag::<u64>(CLOCK_TAG);
            process.send_with_tag(&load::clock::now_ns(), CLOCK_TAG);
        }
    }

    /// The offset of this machine's clock to that of rank 0, which serves it.
    pub(super) fn measure_clock(&self) -> Offset {
        let process = self.world.process_at_rank(0);
        let exchange = || {
            let sent_ns = load::clock::now_ns();
            process.send_with_tag(&sent_ns, CLOCK_TAG);
            let (of_first_ns, _) = process.receive_with_tag::<u64>(CLOCK_TAG);
            offset(sent_ns, of_first_ns, load::clock::now_ns())
        };
        (0..EXCHANGES).map(|_| exchange()).min_by_key(|offset| offset.error_ns).unwrap_or_default()
    }

    /// Ends all ranks, also those that do not answer.
    pub(super) fn abort(&self, code: u8) -> ! {
        self.world.abort(i32::from(code))
    }
}

/// Rank 0 read its clock between the two moments of this one, most likely in the middle.
fn offset(sent_ns: u64, of_first_ns: u64, received_ns: u64) -> Offset {
    let middle_ns = sent_ns + (received_ns - sent_ns) / 2;
    Offset { offset_ns: middle_ns.wrapping_sub(of_first_ns) as i64, error_ns: (received_ns - sent_ns).div_ceil(2) }
}

fn encoded(word: &Word) -> Vec<u8> {
    serde_json::to_vec(word).expect("a message has only text keys")
}

/// The failure of a rank that lost the others.
pub(super) fn lost(what: &str) -> Failure {
    Failure::machine(format_args!("{what}: another rank has ended or does not answer"))
}

#[cfg(test)]
mod tests {
    use super::{Offset, offset};

    #[test]
    fn an_offset_is_within_half_the_round_trip() {
        assert_eq!(offset(1_000, 500, 1_100), Offset { offset_ns: 550, error_ns: 50 });
        assert_eq!(offset(100, 9_000, 131), Offset { offset_ns: -8_885, error_ns: 16 });
    }
}
