//! A worker of simoop, in rounds: touch, read, write, allocate.

use model::operation::ROUND;

use super::memory::PAGE;
use super::simoop::{IoStep, IoThread, Round, RoundStep};
use super::task::Body;
use super::waits::Await;
use super::world::World;
use crate::observer::Operation;

/// Pages that are freed or copied in the time that one takes to be allocated, cleared and mapped.
pub(super) const CHEAPER: u64 = 8;

impl World<'_> {
    /// A worker's next step. `false`: it waits.
    pub(super) fn work(&mut self, tid: u32) -> bool {
        let Body::Worker(mut round) = self.task(tid).body else { return false };
        let more = self.round(tid, &mut round);
        // Threads that return count themselves out in the body.
        self.task(tid).body = Body::Worker(round);
        more
    }

    fn round(&mut self, tid: u32, round: &mut Round) -> bool {
        let now_ns = self.now_ns();
        match round.step {
            RoundStep::Touch => {
                (round.round_ns, round.step, round.writes) = (now_ns, RoundStep::Start, false);
                self.cpu(tid, self.setup.touch_ns);
                return false;
            }
            RoundStep::Start => {
                if round.started == 0 {
                    round.operation_ns = now_ns;
                }
                if !self.hold_space(tid, true) {
                    return false;
                }
                round.step = RoundStep::Started;
                self.cpu(tid, self.setup.map_change_ns);
                return false;
            }
            RoundStep::Started => self.start_next_io_thread(tid, round),
            RoundStep::Join if round.running > 0 => {
                self.wait(tid, Await::Join);
                return false;
            }
            RoundStep::Join => {
                let class = if round.writes { "write" } else { "read" };
                let bytes = u64::from(round.started) * self.setup.io_pages * PAGE;
                self.finish(tid, class, round.operation_ns, bytes);
                round.step = if round.writes { RoundStep::Map } else { RoundStep::Start };
                (round.writes, round.started) = (true, 0);
            }
            _ => return self.allocation(tid, round),
        }
        true
    }

    fn start_next_io_thread(&mut self, tid: u32, round: &mut Round) {
        self.release_space(tid);
        let thread = self.setup.workers + (tid - 1) * self.setup.subthreads + round.started + 1;
        round.started += 1;
        round.running += 1;
        self.start_io_thread(thread, round.writes);
        let all = round.started == self.setup.subthreads;
        round.step = if all { RoundStep::Join } else { RoundStep::Start };
    }

    /// The timed allocation: map, touch page by page, unmap.
    fn allocation(&mut self, tid: u32, round: &mut Round) -> bool {
        let chunk = round.left.min(self.setup.fault_pages);
        match round.step {
            RoundStep::Map | RoundStep::Unmap => return self.change_mapping(tid, round),
            RoundStep::Mapped => {
                self.release_space(tid);
                round.step = RoundStep::Fault;
            }
            RoundStep::Fault => {
                if !self.hold_space(tid, false) {
                    return false;
                }
                self.task(tid).need = chunk;
                round.step = RoundStep::Faulted;
            }
            RoundStep::Faulted => {
                round.step = RoundStep::Touched;
                self.cpu(tid, chunk * self.setup.page_fault_ns);
                return false;
            }
            RoundStep::Touched => {
                self.release_space(tid);
                round.left -= chunk;
                round.step = if round.left > 0 { RoundStep::Fault } else { RoundStep::Unmap };
            }
            _ => self.end_round_of(tid, round),
        }
        true
    }

    /// Maps or unmaps the allocation. Always false: the worker waits for mmap_sem, or uses CPU time.
    fn change_mapping(&mut self, tid: u32, round: &mut Round) -> bool {
        let now_ns = self.now_ns();
        if matches!(round.step, RoundStep::Map) && round.left == 0 {
            (round.operation_ns, round.left) = (now_ns, self.setup.allocation_pages);
        }
        if !self.hold_space(tid, true) {
            return false;
        }
        let maps = matches!(round.step, RoundStep::Map);
        round.step = if maps { RoundStep::Mapped } else { RoundStep::Unmapped };
        let freed_ns = self.setup.allocation_pages * self.setup.page_fault_ns / CHEAPER;
        self.cpu(tid, if maps { self.setup.map_change_ns } else { freed_ns });
        false
    }

    /// The allocation is unmapped: it and the round end.
    fn end_round_of(&mut self, tid: u32, round: &mut Round) {
        self.release_space(tid);
        let pages = std::mem::take(&mut self.task(tid).pages);
        self.memory.free_allocated(pages);
        self.finish(tid, "allocation", round.operation_ns, 0);
        self.finish(tid, ROUND, round.round_ns, 0);
        (round.step, round.started) = (RoundStep::Touch, 0);
    }

    fn finish(&mut self, tid: u32, class: &'static str, start_ns: u64, bytes: u64) {
        let end_ns = self.now_ns();
        self.moved += 1;
        self.tally.operation(class, end_ns - start_ns);
        self.observer.operation(Operation { class, tid, start_ns, end_ns, bytes });
    }

    fn start_io_thread(&mut self, tid: u32, writes: bool) {
        let fs = self.random.below(self.systems.len() as u64) as u8;
        let ino = self.random.below(u64::from(self.setup.files)) as u32;
        if let Body::Io(thread) = &mut self.task(tid).body {
            *thread = IoThread { step: IoStep::Fault, writes, fs, ino, done: 0, ..*thread };
        }
        self.wake(tid, None, None);
    }
}
