//! The threads of the machine and their states, from /proc, at minimal cost: a recorder that is always on reads them
//! every second or so.

use std::fmt::Write;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, RawDir, openat};

use crate::bytes::read_text;

const LISTING_BYTES: usize = 32 << 10;
/// Longer than any `stat` file: some fifty numbers and a name of 64 bytes.
const STAT_BYTES: usize = 2048;
/// The field of `/proc/PID/stat` that counts a process's threads, counted after the name (proc_pid_stat(5)).
const THREADS_FIELD: usize = 17;

/// A thread as its `stat` file shows it.
pub(super) struct Thread<'a> {
    /// Its process.
    pub(super) pid: u32,
    /// Kernel thread id.
    pub(super) tid: u32,
    /// Its name, in bytes as the kernel has them.
    pub(super) name: &'a [u8],
    /// One letter.
    pub(super) state: u8,
}

/// The process of a thread; `None` if there is no such thread.
pub(super) fn process_of(proc: &Path, tid: u32) -> Option<u32> {
    number_in_status(proc, tid, "Tgid:")
}

/// The process that started another one, or took it over; `None` if there is none such.
pub(super) fn parent_of(proc: &Path, pid: u32) -> Option<u32> {
    number_in_status(proc, pid, "PPid:")
}

fn number_in_status(proc: &Path, tid: u32, key: &str) -> Option<u32> {
    let status = read_text(proc.join(format!("{tid}/status"))).ok()?;
    status.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
}

/// Visits all threads except those of one process. Threads that exit in between are skipped.
pub(super) fn each_thread(proc: &Path, except_pid: u32, mut visit: impl FnMut(Thread<'_>)) {
    let Ok(proc) = rustix::fs::open(proc, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) else {
        return;
    };
    let (mut processes, mut tasks) = (Vec::with_capacity(LISTING_BYTES), Vec::with_capacity(LISTING_BYTES));
    let (mut path, mut stat) = (String::new(), [0; STAT_BYTES]);
    each_number(&proc, &mut processes, |pid| {
        if pid == except_pid {
            return;
        }
        let length = read(proc.as_fd(), named(&mut path, format_args!("{pid}/stat")), &mut stat);
        // Most processes have one thread: this one.
        if let Some((name, state, 1)) = parse(&stat[..length]) {
            return visit(Thread { pid, tid: pid, name, state });
        }
        let folder = named(&mut path, format_args!("{pid}/task"));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(folder) = openat(&proc, folder, flags, Mode::empty()) else { return };
        each_number(&folder, &mut tasks, |tid| {
            let length = read(folder.as_fd(), named(&mut path, format_args!("{tid}/stat")), &mut stat);
            if let Some((name, state, _)) = parse(&stat[..length]) {
                visit(Thread { pid, tid, name, state });
            }
        });
    });
}

/// The entries of a folder that are numbers.
fn each_number(folder: &OwnedFd, listing: &mut Vec<u8>, mut visit: impl FnMut(u32)) {
    let mut listing = RawDir::new(folder, listing.spare_capacity_mut());
    while let Some(Ok(entry)) = listing.next() {
        if let Some(number) = entry.file_name().to_str().ok().and_then(|name| name.parse().ok()) {
            visit(number);
        }
    }
}

fn named<'a>(path: &'a mut String, name: std::fmt::Arguments<'_>) -> &'a str {
    path.clear();
    let _ = path.write_fmt(name);
    path
}

/// Reads a small file. Returns its length, 0 if it cannot be read.
fn read(folder: BorrowedFd<'_>, name: &str, buffer: &mut [u8]) -> usize {
    let file = openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    file.and_then(|file| rustix::io::read(&file, buffer)).unwrap_or(0)
}

/// The state in a line of `stat`; `None` if that is none.
pub(super) fn state_of(stat: &[u8]) -> Option<u8> {
    parse(stat).map(|(_, state, _)| state)
}

/// From `12 (a name) D 1 ...`: name, state, and how many threads. A name may hold blanks and brackets.
fn parse(stat: &[u8]) -> Option<(&[u8], u8, u32)> {
    let begin = stat.iter().position(|byte| *byte == b'(')? + 1;
    let end = stat.windows(2).rposition(|pair| pair == b") ")?;
    let name = stat.get(begin..end)?;
    let mut fields = stat[end + 2..].split(|byte| *byte == b' ');
    let state = *fields.next()?.first()?;
    let threads = fields.nth(THREADS_FIELD - 1).and_then(|field| std::str::from_utf8(field).ok()?.parse().ok());
    Some((name, state, threads.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::{each_thread, parse};

    #[test]
    fn a_stat_line_is_parsed_whatever_the_name() {
        let line = b"12 (a) b (c) D 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 3 18 19\n";
        assert_eq!(parse(line), Some((&b"a) b (c"[..], b'D', 3)));
        assert_eq!(parse(b"8 (x) D 1 1"), Some((&b"x"[..], b'D', 0)));
        for broken in [&b""[..], b"12", b"12 (x", b"12 (x)", b"12 (x) ", b") ("] {
            assert_eq!(parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn all_threads_of_this_machine_are_visited() {
        let stop = std::sync::Barrier::new(3);
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let (sender, stop) = (sender.clone(), &stop);
                scope.spawn(move || {
                    sender.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
                    stop.wait();
                });
            }
            let own = [receiver.recv().unwrap(), receiver.recv().unwrap()];
            let mut seen = Vec::new();
            let pid = std::process::id();
            each_thread("/proc".as_ref(), 0, |thread| seen.push((thread.pid, thread.tid)));
            assert!(own.iter().all(|tid| seen.contains(&(pid, *tid))), "{own:?} in {seen:?}");
            assert!(seen.contains(&(1, 1)));
            seen.clear();
            each_thread("/proc".as_ref(), pid, |thread| seen.push((thread.pid, thread.tid)));
            assert!(!seen.is_empty() && seen.iter().all(|thread| thread.0 != pid));
            stop.wait();
        });
    }
}
