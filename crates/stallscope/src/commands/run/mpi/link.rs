//! Messages between the ranks. Nothing waits longer than it takes to hand over a message: a rank that waits in MPI
//! would keep a CPU busy that the load needs.

use std::collections::VecDeque;
use std::time::Duration;

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, MatchedReceiveVec, Source};

use super::clock::{ANSWER_PATIENCE, EXCHANGES, EXCHANGING, FIRST_PATIENCE, MEASURED, Offset};
use super::message::Message;
use crate::ui::interrupt::Interrupt;

/// Interval at which a rank that waits looks for a message.
const LOOK: Duration = Duration::from_millis(2);
const TAG: i32 = 1;
const CLOCK_TAG: i32 = 2;

/// The rank's connection to the others.
pub(super) struct Link {
    world: SimpleCommunicator,
    waiting: VecDeque<(i32, Message)>,
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
    pub(super) fn send(&self, to: i32, message: &Message) {
        self.world.process_at_rank(to).buffered_send_with_tag(&encoded(message)[..], TAG);
    }

    /// Sends a long message to a rank that waits for it.
    pub(super) fn hand(&self, to: i32, message: &Message) {
        self.world.process_at_rank(to).send_with_tag(&encoded(message)[..], TAG);
    }

    /// The next message that has arrived, and its sender.
    pub(super) fn receive(&mut self) -> Option<(i32, Message)> {
        self.waiting.pop_front().or_else(|| self.arrived())
    }

    fn arrived(&self) -> Option<(i32, Message)> {
        let arrived = self.world.any_process().immediate_matched_probe_with_tag(TAG)?;
        let (bytes, status): (Vec<u8>, _) = arrived.matched_receive_vec();
        serde_json::from_slice(&bytes).ok().map(|message| (status.source_rank(), message))
    }

    /// Waits for a message that `wanted` takes; others wait their turn. `None`: interrupted, or `patience` is over.
    pub(super) fn wait<T>(
        &mut self,
        interrupt: &Interrupt,
        patience: Duration,
        mut wanted: impl FnMut(i32, &Message) -> Option<T>,
    ) -> Option<T> {
        let began = std::time::Instant::now();
        let mut others = VecDeque::new();
        let found = loop {
            match self.receive() {
                Some((from, message)) => match wanted(from, &message) {
                    Some(found) => break Some(found),
                    None => others.push_back((from, message)),
                },
                None if interrupt.requests() > 0 || began.elapsed() > patience => break None,
                None => std::thread::sleep(LOOK),
            }
        };
        others.append(&mut self.waiting);
        self.waiting = others;
        found
    }

    /// As rank 0, lets another rank measure the offset of its clock. `false`: it does not answer.
    pub(super) fn serve_clock(&self, rank: i32) -> bool {
        let process = self.world.process_at_rank(rank);
        let mut asked = self.first_number(rank);
        loop {
            match asked {
                Some(MEASURED) => return true,
                Some(_) => process.send_with_tag(&load::clock::now_ns(), CLOCK_TAG),
                None => return false,
            }
            asked = self.number(rank, ANSWER_PATIENCE, std::hint::spin_loop);
        }
    }

    /// The offset of this machine's clock to that of rank 0, which serves it; `None`: rank 0 does not answer.
    pub(super) fn measure_clock(&self) -> Option<Offset> {
        let process = self.world.process_at_rank(0);
        let exchange = |answer: &dyn Fn() -> Option<u64>| {
            let sent_ns = load::clock::now_ns();
            process.send_with_tag(&sent_ns, CLOCK_TAG);
            Some(Offset::of_exchange(sent_ns, answer()?, load::clock::now_ns()))
        };
        let mut shortest = exchange(&|| self.first_number(0))?;
        let began = std::time::Instant::now();
        for _ in 1..EXCHANGES {
            let next = exchange(&|| self.number(0, ANSWER_PATIENCE, std::hint::spin_loop))?;
            shortest = if next.error_ns < shortest.error_ns { next } else { shortest };
            if began.elapsed() > EXCHANGING {
                break;
            }
        }
        process.send_with_tag(&MEASURED, CLOCK_TAG);
        Some(shortest)
    }

    /// The number with which an exchange begins. Sleeps meanwhile: those that spin here would keep CPUs from the one
    /// that is served.
    fn first_number(&self, from: i32) -> Option<u64> {
        self.number(from, FIRST_PATIENCE, || std::thread::sleep(LOOK))
    }

    /// A number from a rank. A sleep while it waits is part of the measurement.
    fn number(&self, from: i32, patience: Duration, wait: fn()) -> Option<u64> {
        let began = std::time::Instant::now();
        let process = self.world.process_at_rank(from);
        loop {
            if let Some(arrived) = process.immediate_matched_probe_with_tag(CLOCK_TAG) {
                let (numbers, _): (Vec<u64>, _) = arrived.matched_receive_vec();
                return numbers.first().copied();
            }
            if began.elapsed() > patience {
                return None;
            }
            wait();
        }
    }

    /// Ends all ranks, also those that do not answer.
    pub(super) fn abort(&self, code: u8) -> ! {
        self.world.abort(i32::from(code))
    }
}

fn encoded(message: &Message) -> Vec<u8> {
    serde_json::to_vec(message).expect("a message has only text keys")
}
