//! A thread of a worker: it reads or writes once.

use super::disk::Purpose;
use super::inodes::MODIFIED;
use super::memory::{Chunk, NONE, State};
use super::simoop::{IoStep, IoThread};
use super::task::Body;
use super::waits::Await;
use super::worker::CHEAPER;
use super::world::World;

const PAUSE_NS: u64 = 100_000_000;

impl World<'_> {
    /// The thread's next step. `false`: it waits, or has ended.
    pub(super) fn io_thread(&mut self, tid: u32) -> bool {
        let Body::Io(mut thread) = self.task(tid).body else { return false };
        let before = thread.step;
        let more = match thread.step {
            IoStep::Read | IoStep::Submit | IoStep::Got => self.read_step(tid, &mut thread),
            IoStep::Throttle | IoStep::Write | IoStep::Copied => self.write_step(tid, &mut thread),
            _ => self.frame_step(tid, &mut thread),
        };
        if before != IoStep::Unmapped {
            self.task(tid).body = Body::Io(thread);
        }
        more
    }

    /// The steps before and after the read or write: buffer and file.
    fn frame_step(&mut self, tid: u32, thread: &mut IoThread) -> bool {
        match thread.step {
            IoStep::Fault => {
                if !self.hold_space(tid, false) {
                    return false;
                }
                self.task(tid).need = self.setup.buffer_pages;
                thread.step = IoStep::Faulted;
            }
            IoStep::Faulted => {
                thread.step = IoStep::Touched;
                self.cpu(tid, self.setup.buffer_pages * self.setup.page_fault_ns);
                return false;
            }
            IoStep::Touched => {
                self.release_space(tid);
                thread.step = IoStep::Open;
            }
            IoStep::Open => {
                if !self.open(tid, thread.fs, thread.ino) {
                    return false;
                }
                thread.step = if thread.writes { IoStep::Throttle } else { IoStep::Read };
            }
            IoStep::Unmap => {
                if !self.hold_space(tid, true) {
                    return false;
                }
                thread.step = IoStep::Unmapped;
                self.cpu(tid, self.setup.map_change_ns);
                return false;
            }
            _ => {
                self.end_io_thread(tid, thread.parent);
                return false;
            }
        }
        true
    }

    fn end_io_thread(&mut self, tid: u32, parent: u32) {
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

    fn read_step(&mut self, tid: u32, thread: &mut IoThread) -> bool {
        let pages = self.setup.request_pages.min(self.setup.io_pages - thread.done);
        match thread.step {
            IoStep::Read => {
                self.task(tid).need = pages;
                thread.step = IoStep::Submit;
            }
            IoStep::Submit => {
                thread.step = IoStep::Got;
                self.wait(tid, Await::Read(thread.fs));
                self.submit(thread.fs, tid, Purpose::Read, pages as u32, true);
                return false;
            }
            _ => {
                self.cache(tid, thread, pages, State::Clean);
                thread.done += pages;
                thread.step = IoStep::Read;
                if thread.done == self.setup.io_pages {
                    let system = &mut self.systems[usize::from(thread.fs)];
                    // relatime: the first read after a write.
                    if system.inodes[thread.ino as usize].is(MODIFIED) {
                        system.inode(thread.ino).clear(MODIFIED);
                        system.log_inode(thread.ino);
                    }
                    system.inode(thread.ino).users -= 1;
                    thread.step = IoStep::Unmap;
                }
            }
        }
        true
    }

    fn write_step(&mut self, tid: u32, thread: &mut IoThread) -> bool {
        let pages = self.setup.io_pages;
        match thread.step {
            IoStep::Throttle => {
                if self.memory.dirty() + self.memory.writeback() > self.dirty_limits().1 {
                    self.wait_at_most(tid, Await::Throttle, PAUSE_NS);
                    return false;
                }
                self.task(tid).need = pages;
                thread.step = IoStep::Write;
            }
            IoStep::Write => {
                thread.step = IoStep::Copied;
                self.cpu(tid, pages * self.setup.page_fault_ns / CHEAPER);
                return false;
            }
            _ => {
                let chunk = self.cache(tid, thread, pages, State::Dirty);
                let now_ns = self.now_ns();
                let system = &mut self.systems[usize::from(thread.fs)];
                system.dirty.push_back((now_ns, chunk));
                system.log_inode(thread.ino);
                system.inode(thread.ino).set(MODIFIED);
                system.inode(thread.ino).users -= 1;
                thread.step = IoStep::Unmap;
                self.write_back(thread.fs, false);
            }
        }
        true
    }

    fn cache(&mut self, tid: u32, thread: &IoThread, pages: u64, state: State) -> u32 {
        self.task(tid).pages -= pages;
        let chunk = Chunk { fs: thread.fs, inode: thread.ino, pages: pages as u32, state, next: NONE };
        let id = self.memory.cache(chunk);
        self.systems[usize::from(thread.fs)].add_chunk(&mut self.memory, thread.ino, id);
        id
    }
}
