//! What a sleeping thread's system call waits on, from its arguments.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::system_call::{self, FileArgument, SystemCall, traits};

use super::semaphores::Semaphore;
use crate::bytes::{path_in_memory, read_text, shown};

/// Descriptors of a poll that are looked at.
const MOST: usize = 256;
/// What waiters of a contended mutex expect (glibc), and where its owner is, in 4-byte words.
const CONTENDED: u64 = 2;
const OWNER: usize = 2;
/// `FUTEX_PRIVATE_FLAG`.
const PRIVATE: u64 = 128;
/// `FUTEX_WAITERS` of robust and priority-inheriting mutexes, and the bits of the owner's id.
const WAITERS: u64 = 0x8000_0000;
const TID: u64 = 0x3fff_ffff;

/// What a call waits on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum On {
    /// One descriptor, in a call that reads or writes it.
    Descriptor(u32),
    /// One of several.
    Descriptors(Vec<u32>),
    /// A mutex of user space that this thread seems to hold; `private`: one of the same process.
    Mutex {
        owner: u32,
        private: bool,
    },
    /// Threads that share its memory.
    Futex,
    /// One child, or any.
    Child(Option<u32>),
    /// One that it takes.
    Semaphore(Semaphore),
    Timer,
    Signal,
    /// A file that it names.
    Path(String),
    Unknown,
}

/// A system call that has not returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InCall {
    pub(super) name: &'static str,
    pub(super) on: On,
}

/// From a line as `74 0x3 0x1 0x0 0x0 0x0 0x0 0x7ffc0f1d5a28 0x7f32c1b13e94`; the last two are its stack and
/// instruction pointers.
///
/// `blocked`: a thread of the process sleeps uninterruptibly. It may hold the lock that reads of the process's memory
/// take.
pub(super) fn read(thread: &Path, blocked: bool) -> Option<InCall> {
    let line = read_text(thread.join("syscall")).ok()?;
    let mut words = line.split_whitespace();
    let number: i32 = words.next()?.parse().ok()?;
    let values: Vec<u64> = words.map_while(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()).collect();
    let arguments: [u64; 6] = values.get(..6)?.try_into().ok()?;
    // A 32-bit program numbers its calls differently, and a kernel thread has none.
    let known =
        values.get(6).filter(|stack| **stack > u64::from(u32::MAX)).and_then(|_| system_call::numbered(number))?;
    let memory = Memory(if blocked { None } else { File::open(thread.join("mem")).ok() });
    Some(InCall { name: known.name, on: on(known, &arguments, &memory, thread) })
}

fn on(call: &SystemCall, arguments: &[u64; 6], memory: &Memory, thread: &Path) -> On {
    let descriptor = |value: u64| u32::try_from(value & u64::from(u32::MAX)).unwrap_or_default();
    match call.name {
        "poll" | "ppoll" => On::Descriptors(memory.polled(arguments[0], arguments[1])),
        "select" | "pselect6" => On::Descriptors(memory.selected(arguments)),
        "epoll_wait" | "epoll_pwait" | "epoll_pwait2" => {
            let info = read_text(thread.join(format!("fdinfo/{}", descriptor(arguments[0]))));
            On::Descriptors(targets(&info.unwrap_or_default()))
        }
        "futex" => {
            let private = arguments[1] & PRIVATE != 0;
            memory.owner(arguments[0], arguments[2]).map_or(On::Futex, |owner| On::Mutex { owner, private })
        }
        "semop" | "semtimedop" => {
            let set = descriptor(arguments[0]).cast_signed();
            let taken = memory.words::<1>(arguments[1]).and_then(|word| Semaphore::taken_by_call(set, word));
            taken.map_or(On::Unknown, On::Semaphore)
        }
        "wait4" => On::Child(i32::try_from(arguments[0] as i64).ok().filter(|pid| *pid > 0).map(i32::cast_unsigned)),
        "waitid" => On::Child((arguments[0] == 1).then(|| descriptor(arguments[1]))),
        "pause" | "rt_sigsuspend" | "rt_sigtimedwait" => On::Signal,
        _ if call.traits.has(traits::SLEEPS) => On::Timer,
        _ => match call.file {
            FileArgument::First | FileArgument::Program => memory.path(arguments[0]).map_or(On::Unknown, On::Path),
            FileArgument::Second | FileArgument::Result | FileArgument::At => {
                memory.path(arguments[1]).map_or(On::Unknown, On::Path)
            }
            FileArgument::Descriptor | FileArgument::Closed | FileArgument::Other => {
                On::Descriptor(descriptor(arguments[0]))
            }
            FileArgument::Nothing | FileArgument::Context => On::Unknown,
        },
    }
}

/// Lines as `tfd:        5 events:       19 data:        5 pos:0 ino:2b sdev:f`.
fn targets(info: &str) -> Vec<u32> {
    let lines = info.lines().filter_map(|line| line.strip_prefix("tfd:"));
    lines.filter_map(|line| line.split_whitespace().next()?.parse().ok()).take(MOST).collect()
}

/// The memory of a process.
struct Memory(Option<File>);

impl Memory {
    fn words<const COUNT: usize>(&self, at: u64) -> Option<[u32; COUNT]> {
        let mut bytes = vec![0; 4 * COUNT];
        self.0.as_ref()?.read_exact_at(&mut bytes, at).ok()?;
        let mut words = bytes.chunks_exact(4).filter_map(|word| Some(u32::from_ne_bytes(word.try_into().ok()?)));
        Some(std::array::from_fn(|_| words.next().unwrap_or_default()))
    }

    /// Of each `struct pollfd` the descriptor; one that is negative is left out.
    fn polled(&self, at: u64, count: u64) -> Vec<u32> {
        let each = (0..count.min(MOST as u64)).map_while(|number| self.words::<2>(at.checked_add(number * 8)?));
        each.map(|[descriptor, _]| descriptor).filter(|descriptor| *descriptor <= i32::MAX as u32).collect()
    }

    /// Those that are to be read or written, of the first so many.
    fn selected(&self, arguments: &[u64; 6]) -> Vec<u32> {
        let count = u32::try_from(arguments[0]).unwrap_or(0).min(1024);
        let sets: Vec<[u32; 32]> =
            arguments[1..3].iter().filter(|at| **at != 0).filter_map(|at| self.set(*at, count)).collect();
        let is_set = |number: &u32| sets.iter().any(|set| set[*number as usize / 32] >> (number % 32) & 1 == 1);
        (0..count).filter(is_set).take(MOST).collect()
    }

    fn set(&self, at: u64, count: u32) -> Option<[u32; 32]> {
        let mut set = [0; 32];
        for (number, word) in (0..count.div_ceil(32)).zip(&mut set) {
            [*word] = self.words(at.checked_add(u64::from(number) * 4)?)?;
        }
        Some(set)
    }

    /// The thread that holds a mutex, by the value that its waiters expect.
    fn owner(&self, at: u64, expected: u64) -> Option<u32> {
        let expected = expected & u64::from(u32::MAX);
        let words: [u32; OWNER + 1] = self.words(at)?;
        let owner = match expected {
            CONTENDED => words[OWNER],
            _ if expected & WAITERS != 0 && expected != u64::from(u32::MAX) => words[0] & TID as u32,
            _ => 0,
        };
        (owner != 0).then_some(owner)
    }

    fn path(&self, at: u64) -> Option<String> {
        path_in_memory(self.0.as_ref()?, at).map(shown)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::{Memory, targets};

    #[test]
    fn an_epoll_has_its_descriptors() {
        let info = "pos:\t0\nflags:\t02\nmnt_id:\t16\ntfd:        5 events:       19 data: 5  pos:0 ino:2b \
                    sdev:f\ntfd: x\n\
                    tfd:       11 events:       19 data: b\n";
        assert_eq!(targets(info), [5, 11]);
    }

    #[test]
    fn descriptors_and_owners_are_read_from_memory() {
        let memory = Memory(Some(File::open("/proc/self/mem").unwrap()));
        let at = |words: &[u32]| words.as_ptr() as u64;
        let polled: [u32; 6] = [4, 1, u32::MAX, 1, 9, 1];
        assert_eq!(memory.polled(at(&polled), 3), [4, 9]);
        let set: [u32; 2] = [1 << 3, 1 << 1];
        assert_eq!(memory.selected(&[64, at(&set), 0, 0, 0, 0]), [3, 33]);
        let mutex: [u32; 3] = [2, 1, 4711];
        assert_eq!((memory.owner(at(&mutex), 2), memory.owner(at(&mutex), 1)), (Some(4711), None));
        let robust: [u32; 3] = [0x8000_0000 | 4712, 0, 0];
        assert_eq!(memory.owner(at(&robust), 0x8000_1268), Some(4712));
        let name = b"/a/fifo\0";
        assert_eq!(memory.path(name.as_ptr() as u64).as_deref(), Some("/a/fifo"));
        assert_eq!((memory.polled(8, 3), memory.owner(8, 2), memory.path(8)), (vec![], None, None));
    }
}
