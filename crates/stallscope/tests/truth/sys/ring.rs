//! One operation at a time on an io_uring: submitted with one system call, reaped with another.

use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;

use io_uring::types::{Fd, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::event::EventfdFlags;

pub struct Ring {
    ring: IoUring,
    /// Its buffer is registered.
    fixed: bool,
    /// Receives each completion.
    event: Option<File>,
}

impl Ring {
    /// `sqpoll`: a thread of the kernel submits. `eventfd`: completions are awaited by a read.
    pub fn new(how: &[&str]) -> Ring {
        let mut builder = IoUring::builder();
        let mut event = None;
        for word in how {
            match *word {
                "sqpoll" => drop(builder.setup_sqpoll(2000)),
                "eventfd" => event = Some(File::from(rustix::event::eventfd(0, EventfdFlags::empty()).unwrap())),
                word => panic!("no such ring: {word}"),
            }
        }
        let ring = builder.build(8).unwrap();
        event.iter().for_each(|event| ring.submitter().register_eventfd(event.as_raw_fd()).unwrap());
        Ring { ring, fixed: false, event }
    }

    /// Operations use this memory, which must outlive the ring.
    pub fn register(&mut self, memory: &mut [u8]) {
        let vector = libc::iovec { iov_base: memory.as_mut_ptr().cast(), iov_len: memory.len() };
        // SAFETY: the actor's memory is not freed before its ring, and grows no more.
        unsafe { self.ring.submitter().register_buffers(&[vector]) }.unwrap();
        self.fixed = true;
    }

    pub fn read(&mut self, file: &File, memory: &mut [u8], offset: u64) -> i32 {
        let (fd, bytes) = (Fd(file.as_raw_fd()), memory.len() as u32);
        let entry = match self.fixed {
            true => opcode::ReadFixed::new(fd, memory.as_mut_ptr(), bytes, 0).offset(offset).build(),
            false => opcode::Read::new(fd, memory.as_mut_ptr(), bytes).offset(offset).build(),
        };
        self.run(&entry)
    }

    pub fn write(&mut self, file: &File, memory: &mut [u8], offset: u64) -> i32 {
        let (fd, bytes) = (Fd(file.as_raw_fd()), memory.len() as u32);
        let entry = match self.fixed {
            true => opcode::WriteFixed::new(fd, memory.as_ptr(), bytes, 0).offset(offset).build(),
            false => opcode::Write::new(fd, memory.as_ptr(), bytes).offset(offset).build(),
        };
        self.run(&entry)
    }

    /// The second half begins when the first one is written.
    pub fn write_linked(&mut self, file: &File, memory: &mut [u8], offset: u64) {
        let (fd, half) = (Fd(file.as_raw_fd()), memory.len() / 2);
        let write =
            |at: usize| opcode::Write::new(fd, memory[at..].as_ptr(), half as u32).offset(offset + at as u64).build();
        // SAFETY: this waits for both.
        unsafe { self.ring.submission().push_multiple(&[write(0).flags(squeue::Flags::IO_LINK), write(half)]) }
            .unwrap();
        self.ring.submit_and_wait(2).unwrap();
        assert!(self.ring.completion().all(|completion| completion.result() == half as i32), "linked writes");
    }

    pub fn fsync(&mut self, file: &File) -> i32 {
        self.run(&opcode::Fsync::new(Fd(file.as_raw_fd())).build())
    }

    pub fn create(&mut self, path: &str) -> i32 {
        let path = CString::new(path).unwrap();
        let open = opcode::OpenAt::new(Fd(libc::AT_FDCWD), path.as_ptr()).flags(libc::O_CREAT | libc::O_WRONLY);
        self.run(&open.mode(0o600).build())
    }

    pub fn timer(&mut self, ms: u64) {
        let time = Timespec::new().sec(ms / 1000).nsec((ms % 1000 * 1_000_000) as u32);
        self.run(&opcode::Timeout::new(&time).build());
    }

    /// What the entry refers to lives until the operation is complete: this waits for it.
    fn run(&mut self, entry: &squeue::Entry) -> i32 {
        // SAFETY: see above.
        unsafe { self.ring.submission().push(entry) }.unwrap();
        self.ring.submit().unwrap();
        match &mut self.event {
            Some(event) => event.read_exact(&mut [0; 8]).unwrap(),
            None => _ = self.ring.submit_and_wait(1).unwrap(),
        }
        self.ring.completion().next().expect("a completion").result()
    }
}
