//! Distributions of the times of completed bios.
//!
//! Nothing else depends on them, and to count them costs as much as to follow the bios. They are counted in batches,
//! one histogram after the other, so that it stays in the cache; those of a long trace on a thread of their own.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle, available_parallelism};

use model::block::Kind;

use super::histogram::Histogram;
use super::phase::{PerPhase, Phase, PhaseTimes};

/// Bios counted at once.
const BATCH: usize = 512;
/// Batches that the other thread may be late.
const LATE: usize = 8;

/// A completed bio whose times count.
#[derive(Clone, Copy)]
pub(super) struct Done {
    pub(super) phases: PhaseTimes,
    pub(super) device: u16,
    pub(super) class: u16,
    pub(super) kind: Kind,
    /// Whether all of its events are known: then its phases count for the overhead.
    pub(super) is_exact: bool,
}

/// The distributions of one device. Those of Q2C and D2C are the sums of its kinds'.
#[derive(Default)]
pub(super) struct OfDevice {
    pub(super) phases: PerPhase<Histogram>,
    pub(super) overhead_ns: PerPhase<u128>,
    pub(super) undivided_ns: u128,
    /// Q2C and D2C by kind.
    pub(super) kinds: Vec<(Kind, [Histogram; 2])>,
}

/// Q2C and D2C of a class.
pub(super) type OfClass = [Histogram<4>; 2];

/// All distributions, by number of the device and the class.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) devices: Vec<OfDevice>,
    pub(super) classes: Vec<OfClass>,
}

impl Tally {
    fn count(&mut self, batch: &[Done]) {
        let devices = batch.iter().map(|done| usize::from(done.device) + 1).max().unwrap_or(0);
        let classes = batch.iter().map(|done| usize::from(done.class) + 1).max().unwrap_or(0);
        self.devices.resize_with(devices.max(self.devices.len()), OfDevice::default);
        self.classes.resize_with(classes.max(self.classes.len()), OfClass::default);
        for phase in Phase::PARTS.into_iter().filter(|phase| *phase != Phase::D2C) {
            for done in batch {
                if let Some(time_ns) = done.phases.get(phase) {
                    self.devices[usize::from(done.device)].phases[phase].record(time_ns);
                }
            }
        }
        for (at, phase) in [Phase::Q2C, Phase::D2C].into_iter().enumerate() {
            for done in batch {
                if let Some(time_ns) = done.phases.get(phase) {
                    self.devices[usize::from(done.device)].kind(done.kind)[at].record(time_ns);
                    self.classes[usize::from(done.class)][at].record(time_ns);
                }
            }
        }
        for done in batch.iter().filter(|done| done.is_exact) {
            self.devices[usize::from(done.device)].count_overhead(&done.phases);
        }
    }
}

impl OfDevice {
    /// At most 256 kinds exist, few occur.
    fn kind(&mut self, kind: Kind) -> &mut [Histogram; 2] {
        let at = match self.kinds.iter().position(|(counted, _)| *counted == kind) {
            Some(at) => at,
            None => {
                self.kinds.push((kind, Default::default()));
                self.kinds.len() - 1
            }
        };
        &mut self.kinds[at].1
    }

    fn count_overhead(&mut self, phases: &PhaseTimes) {
        let q2c_ns = u128::from(phases.get(Phase::Q2C).unwrap_or(0));
        self.overhead_ns[Phase::Q2C] += q2c_ns;
        if !phases.add_up() {
            self.undivided_ns += q2c_ns;
            return;
        }
        for phase in Phase::PARTS {
            self.overhead_ns[phase] += u128::from(phases.get(phase).unwrap_or(0));
        }
    }
}

/// Counts completed bios.
pub(super) struct Counter {
    batch: Vec<Done>,
    batches: u64,
    /// After how many batches the other thread counts.
    apart_after: u64,
    counting: Counting,
}

enum Counting {
    Inline(Tally),
    Threaded(CountingThread),
}

/// The thread that counts. Batches come back empty.
struct CountingThread {
    full: SyncSender<Vec<Done>>,
    empty: Receiver<Vec<Done>>,
    thread: JoinHandle<Tally>,
}

impl Counter {
    pub(super) fn new(apart_after: u64) -> Counter {
        Counter {
            batch: Vec::with_capacity(BATCH),
            batches: 0,
            apart_after,
            counting: Counting::Inline(Tally::default()),
        }
    }

    #[inline]
    pub(super) fn add(&mut self, done: Done) {
        self.batch.push(done);
        if self.batch.len() == BATCH {
            self.flush();
        }
    }

    #[cold]
    fn flush(&mut self) {
        self.batches += 1;
        match &mut self.counting {
            Counting::Inline(tally) => {
                tally.count(&self.batch);
                self.batch.clear();
                if self.batches == self.apart_after {
                    self.move_apart();
                }
            }
            Counting::Threaded(apart) => {
                let empty = apart.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
                // The thread has ended only if it panicked: joining it says so.
                let _ = apart.full.send(std::mem::replace(&mut self.batch, empty));
            }
        }
    }

    /// Where there can be no thread, or only one CPU, this one goes on.
    fn move_apart(&mut self) {
        if available_parallelism().is_ok_and(|cpus| cpus.get() == 1) {
            return;
        }
        let Counting::Inline(tally) = &mut self.counting else { return };
        let (hand_over, first) = channel::<Tally>();
        let (full, batches) = sync_channel(LATE);
        let (back, empty) = channel();
        let count = move || first.recv().map_or_else(|_| Tally::default(), |tally| count_all(tally, batches, back));
        if let Ok(thread) = Builder::new().name("times".to_owned()).spawn(count) {
            let _ = hand_over.send(std::mem::take(tally));
            self.counting = Counting::Threaded(CountingThread { full, empty, thread });
        }
    }

    /// The distributions of all that was added.
    pub(super) fn finish(self) -> Tally {
        let mut tally = match self.counting {
            Counting::Inline(tally) => tally,
            Counting::Threaded(CountingThread { full, thread, .. }) => {
                drop(full);
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))
            }
        };
        tally.count(&self.batch);
        tally
    }
}

fn count_all(mut tally: Tally, batches: Receiver<Vec<Done>>, back: Sender<Vec<Done>>) -> Tally {
    for mut batch in batches {
        tally.count(&batch);
        batch.clear();
        // At the end nobody needs it.
        let _ = back.send(batch);
    }
    tally
}

#[cfg(test)]
mod tests {
    use model::block::Kind;

    use super::{BATCH, Counter, Done, Tally};
    use crate::phase::{Phase, PhaseTimes};

    fn tally(apart_after: u64) -> Tally {
        let mut counter = Counter::new(apart_after);
        for number in 0..10 * BATCH as u64 + 7 {
            let mut phases = PhaseTimes::default();
            phases.span(Phase::Q2G, 0, number % 5);
            phases.span(Phase::D2C, 0, number * number);
            phases.span(Phase::Q2C, 0, number * number + number % 5);
            let kind = Kind::from_number(1 + (number % 3) as u8);
            let (device, class) = ((number % 2) as u16, (number % 7) as u16);
            counter.add(Done { phases, device, class, kind, is_exact: number % 11 > 0 });
        }
        counter.finish()
    }

    #[test]
    fn another_thread_counts_the_same() {
        let (here, apart) = (tally(u64::MAX), tally(2));
        assert_eq!(here.classes, apart.classes);
        for (here, apart) in here.devices.iter().zip(&apart.devices) {
            assert_eq!((&here.phases, &here.kinds), (&apart.phases, &apart.kinds));
            assert_eq!((&here.overhead_ns, here.undivided_ns), (&apart.overhead_ns, apart.undivided_ns));
        }
        assert_eq!(
            here.devices.iter().map(|device| device.phases[Phase::Q2G].count()).sum::<u64>(),
            10 * BATCH as u64 + 7
        );
    }
}
