//! A thread of a worker: it reads or writes once.

use super::disk::Purpose;
use super::inodes::MODIFIED;
use super::memory::{Chunk, NONE, State};
use super::simoop::{Part, PartStep};
use super::task::Body;
use super::waits::Await;
use super::worker::CHEAPER;
use super::world::World;

const PAUSE_NS: u64 = 100_000_000;

impl World<'_> {
    /// The thread's next step. `false`: it waits, or has ended.
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

    /// The steps before and after the read or write: buffer and file.
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
                self.end_part(tid, part.parent);
                return false;
            }
        }
        true
    }

    fn end_part(&mut self, tid: u32, parent: u32) {
        self.release_space(tid);
        let pages = std::mem::take(&mut self.task(tid).pages);
        self.memory.free_allocated(pages);
        self.wait(tid, Await::Work);
        self.part_returned(tid, parent);
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
                self.submit(part.fs, tid, Purpose::Read, pages as u32, true);
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
