//! simoop: workers in rounds, and their threads.

use super::disk::What;
use super::inodes::MODIFIED;
use super::memory::{Chunk, NONE, State};
use super::waits::Await;
use super::world::{Body, World};
use crate::observer::Operation;

/// A worker's round: touch, read, write, allocate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    step: RoundStep,
    /// The operation under way is a write, not a read.
    writes: bool,
    /// Threads started, and not yet returned.
    started: u32,
    pub(super) running: u32,
    operation_ns: u64,
    round_ns: u64,
    /// Pages still to be touched.
    left: u64,
}

#[derive(Debug, Clone, Copy)]
enum RoundStep {
    Touch,
    Start,
    Started,
    Join,
    Map,
    Mapped,
    Fault,
    Faulted,
    Touched,
    Unmap,
    Unmapped,
}

/// A thread that reads or writes once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    step: PartStep,
    pub(super) parent: u32,
    writes: bool,
    fs: u8,
    ino: u32,
    /// Pages done.
    done: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartStep {
    Fault,
    Faulted,
    Touched,
    Open,
    Read,
    Submit,
    Got,
    Throttle,
    Write,
    Copied,
    Unmap,
    Unmapped,
}

const PAUSE_NS: u64 = 100_000_000;

/// Pages that are freed, or copied, in the time that one takes to be got, cleared and mapped.
const CHEAPER: u64 = 8;

impl Round {
    pub(super) fn new() -> Round {
        let step = RoundStep::Touch;
        Round { step, writes: false, started: 0, running: 0, operation_ns: 0, round_ns: 0, left: 0 }
    }
}

impl Part {
    pub(super) fn new(parent: u32) -> Part {
        Part { step: PartStep::Fault, parent, writes: false, fs: 0, ino: 0, done: 0 }
    }

    /// The pages that it needs are for the page cache.
    pub(super) fn fills_cache(self) -> bool {
        matches!(self.step, PartStep::Submit | PartStep::Write)
    }

    /// Where it waits for the address space, it is for a page fault.
    pub(super) fn faults(self) -> bool {
        self.step == PartStep::Fault
    }
}

impl World<'_> {
    /// A worker's next step; `false`: it waits.
    pub(super) fn work(&mut self, tid: u32) -> bool {
        let Body::Worker(mut round) = self.task(tid).body else { return false };
        let more = self.round(tid, &mut round);
        // Threads that were started count themselves out in the body.
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
            RoundStep::Started => {
                self.release_space(tid);
                let part = self.setup.workers + (tid - 1) * self.setup.subthreads + round.started + 1;
                round.started += 1;
                round.running += 1;
                self.start_part(part, round.writes);
                let all = round.started == self.setup.subthreads;
                round.step = if all { RoundStep::Join } else { RoundStep::Start };
            }
            RoundStep::Join if round.running > 0 => {
                self.wait(tid, Await::Join);
                return false;
            }
            RoundStep::Join => {
                let class = if round.writes { "write" } else { "read" };
                let bytes = u64::from(round.started) * self.setup.io_pages * super::parameters::PAGE;
                self.finish(tid, class, round.operation_ns, bytes);
                round.step = if round.writes { RoundStep::Map } else { RoundStep::Start };
                (round.writes, round.started) = (true, 0);
            }
            _ => return self.allocation(tid, round),
        }
        true
    }

    /// The timed allocation: mapped, touched page by page, freed.
    fn allocation(&mut self, tid: u32, round: &mut Round) -> bool {
        let now_ns = self.now_ns();
        let chunk = round.left.min(self.setup.fault_pages);
        match round.step {
            RoundStep::Map | RoundStep::Unmap => {
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
                return false;
            }
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
            _ => {
                self.release_space(tid);
                let pages = std::mem::take(&mut self.task(tid).pages);
                self.memory.free_allocated(pages);
                self.finish(tid, "allocation", round.operation_ns, 0);
                self.finish(tid, "round", round.round_ns, 0);
                (round.step, round.started) = (RoundStep::Touch, 0);
            }
        }
        true
    }

    fn finish(&mut self, tid: u32, class: &'static str, start_ns: u64, bytes: u64) {
        let end_ns = self.now_ns();
        self.moved += 1;
        self.tally.operation(class, end_ns - start_ns);
        self.observer.operation(Operation { class, tid, start_ns, end_ns, bytes });
    }

    fn start_part(&mut self, tid: u32, writes: bool) {
        let fs = self.random.below(self.systems.len() as u64) as u8;
        let ino = self.random.below(u64::from(self.setup.files)) as u32;
        if let Body::Part(part) = &mut self.task(tid).body {
            *part = Part { step: PartStep::Fault, writes, fs, ino, done: 0, ..*part };
        }
        self.wake(tid, None, None);
    }

    /// The next step of a thread that reads or writes; `false`: it waits, or is over.
    pub(super) fn part(&mut self, tid: u32) -> bool {
        let Body::Part(mut part) = self.task(tid).body else { return false };
        let before = part.step;
        let more = match part.step {
            PartStep::Read | PartStep::Submit | PartStep::Got => self.read_step(tid, &mut part),
            PartStep::Throttle | PartStep::Write | PartStep::Copied => self.write_step(tid, &mut part),
            _ => self.frame_step(tid, &mut part),
        };
        if before != PartStep::Unmapped {
            self.task(tid).body = Body::Part(part);
        }
        more
    }

    /// Before and after the reading or writing: its buffer, its file.
    fn frame_step(&mut self, tid: u32, part: &mut Part) -> bool {
        match part.step {
            PartStep::Fault => {
                if !self.hold_space(tid, false) {
                    return false;
                }
                self.task(tid).need = self.setup.buffer_pages;
                part.step = PartStep::Faulted;
            }
            PartStep::Faulted => {
                part.step = PartStep::Touched;
                self.cpu(tid, self.setup.buffer_pages * self.setup.page_fault_ns);
                return false;
            }
            PartStep::Touched => {
                self.release_space(tid);
                part.step = PartStep::Open;
            }
            PartStep::Open => {
                if !self.open(tid, part.fs, part.ino) {
                    return false;
                }
                part.step = if part.writes { PartStep::Throttle } else { PartStep::Read };
            }
            PartStep::Unmap => {
                if !self.hold_space(tid, true) {
                    return false;
                }
                part.step = PartStep::Unmapped;
                self.cpu(tid, self.setup.map_change_ns);
                return false;
            }
            _ => {
                self.release_space(tid);
                let pages = std::mem::take(&mut self.task(tid).pages);
                self.memory.free_allocated(pages);
                self.wait(tid, Await::Work);
                self.part_returned(tid, part.parent);
                return false;
            }
        }
        true
    }

    fn part_returned(&mut self, tid: u32, parent: u32) {
        let Body::Worker(round) = &mut self.task(parent).body else { return };
        round.running -= 1;
        if round.running == 0 && matches!(self.task(parent).waits, Some((Await::Join, _))) {
            self.wake(parent, Some(tid), None);
        }
    }

    fn read_step(&mut self, tid: u32, part: &mut Part) -> bool {
        let pages = self.setup.request_pages.min(self.setup.io_pages - part.done);
        match part.step {
            PartStep::Read => {
                self.task(tid).need = pages;
                part.step = PartStep::Submit;
            }
            PartStep::Submit => {
                part.step = PartStep::Got;
                self.wait(tid, Await::Read(part.fs));
                self.submit(part.fs, tid, What::Read, pages as u32, true);
                return false;
            }
            _ => {
                self.cache(tid, part, pages, State::Clean);
                part.done += pages;
                part.step = PartStep::Read;
                if part.done == self.setup.io_pages {
                    let system = &mut self.systems[usize::from(part.fs)];
                    // relatime: the first read after a write.
                    if system.inodes[part.ino as usize].is(MODIFIED) {
                        system.inode(part.ino).clear(MODIFIED);
                        system.log_inode(part.ino);
                    }
                    system.inode(part.ino).users -= 1;
                    part.step = PartStep::Unmap;
                }
            }
        }
        true
    }

    fn write_step(&mut self, tid: u32, part: &mut Part) -> bool {
        let pages = self.setup.io_pages;
        match part.step {
            PartStep::Throttle => {
                if self.memory.dirty() + self.memory.writeback() > self.dirty_limits().1 {
                    self.wait_at_most(tid, Await::Throttle, PAUSE_NS);
                    return false;
                }
                self.task(tid).need = pages;
                part.step = PartStep::Write;
            }
            PartStep::Write => {
                part.step = PartStep::Copied;
                self.cpu(tid, pages * self.setup.page_fault_ns / CHEAPER);
                return false;
            }
            _ => {
                let chunk = self.cache(tid, part, pages, State::Dirty);
                let now_ns = self.now_ns();
                let system = &mut self.systems[usize::from(part.fs)];
                system.dirty.push_back((now_ns, chunk));
                system.log_inode(part.ino);
                system.inode(part.ino).set(MODIFIED);
                system.inode(part.ino).users -= 1;
                part.step = PartStep::Unmap;
                self.write_back(part.fs, false);
            }
        }
        true
    }

    fn cache(&mut self, tid: u32, part: &Part, pages: u64, state: State) -> u32 {
        self.task(tid).pages -= pages;
        let chunk = Chunk { fs: part.fs, inode: part.ino, pages: pages as u32, state, next: NONE };
        let id = self.memory.cache(chunk);
        self.systems[usize::from(part.fs)].add_chunk(&mut self.memory, part.ino, id);
        id
    }
}
