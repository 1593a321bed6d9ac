//! An event of a user stack: `struct user_stack` of `bpf/event.h`.

use symbols::Registers;

/// `enum kind`.
const USER_STACK: u32 = 16;
/// `STACK_FRAMES`.
const FRAMES: usize = 40;

/// Where a program was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::trace) struct UserStackEvent {
    pub(super) tid: u32,
    pub(super) pid: u32,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Address of the process's `mm_struct`: another one after exec.
    pub(super) memory: u64,
    pub(super) registers: Registers,
    /// Its task sleeps, and its stack is still to be read.
    pub(super) is_asleep: bool,
    /// Addresses by frame pointers, the innermost first.
    pub(super) frames: Vec<u64>,
    /// The stack from its pointer on.
    pub(super) words: Vec<u64>,
}

impl UserStackEvent {
    /// The event in these bytes; `None` if they are another one, or too few.
    pub(in crate::trace) fn parse(bytes: &[u8]) -> Option<UserStackEvent> {
        let number = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        let word = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        if number(0)? != USER_STACK {
            return None;
        }
        let words = |at: usize, count: u32| {
            let bytes = bytes.get(at..).unwrap_or_default().as_chunks::<8>().0;
            bytes.iter().take(count as usize).map(|word| u64::from_ne_bytes(*word)).collect::<Vec<u64>>()
        };
        const STACK_AT: usize = 72;
        let frames = number(12)?.min(FRAMES as u32);
        Some(UserStackEvent {
            tid: number(4)?,
            pid: number(8)?,
            start_ns: word(16)?,
            end_ns: word(24)?,
            memory: word(32)?,
            registers: Registers { instruction: word(40)?, stack: word(48)?, frame: word(56)? },
            is_asleep: number(68)? != 0,
            frames: words(STACK_AT, frames),
            words: words(STACK_AT + FRAMES * 8, number(64)?),
        })
    }

    /// A word of the stack.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.registers.stack)?;
        (offset % 8 == 0).then(|| self.words.get((offset / 8) as usize).copied()).flatten()
    }
}

/// Whether `/proc/PID/task/TID/syscall` shows a task that is blocked at these registers.
pub(super) fn is_at(text: &str, registers: Registers) -> bool {
    let mut words = text.split_ascii_whitespace().rev();
    let mut address = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    (address(), address()) == (Some(registers.instruction), Some(registers.stack))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Registers = Registers { instruction: 0x7f12, stack: 0x7ffd_0008, frame: 0x7ffd_0040 };

    #[test]
    fn an_event_is_parsed() {
        let mut bytes = Vec::new();
        for number in [USER_STACK, 12, 11, 2] {
            bytes.extend(number.to_ne_bytes());
        }
        for word in [100, 200, 0xffff_8880, AT.instruction, AT.stack, AT.frame] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend([3u32, 1].into_iter().flat_map(u32::to_ne_bytes));
        let words = (0..FRAMES as u64).chain(1000..1256);
        bytes.extend(words.flat_map(u64::to_ne_bytes));
        let event = UserStackEvent::parse(&bytes).unwrap();
        assert_eq!((event.tid, event.pid, event.start_ns, event.end_ns), (12, 11, 100, 200));
        assert_eq!((event.memory, event.registers, event.is_asleep), (0xffff_8880, AT, true));
        assert_eq!((event.frames.as_slice(), event.words.as_slice()), (&[0, 1][..], &[1000, 1001, 1002][..]));
        let words = [0, 8, 16, 24, 1].map(|offset| event.word(AT.stack + offset));
        assert_eq!(words, [Some(1000), Some(1001), Some(1002), None, None]);
        assert_eq!(event.word(8), None);
        assert_eq!(UserStackEvent::parse(&bytes[..60]), None);
        bytes[0] = 1;
        assert_eq!(UserStackEvent::parse(&bytes), None);
    }

    #[test]
    fn a_task_that_moved_is_not_at_its_registers() {
        assert!(is_at("73 0x3 0x2 0x0 0x0 0x0 0x0 0x7ffd0008 0x7f12\n", AT));
        assert!(is_at("-1 0x7ffd0008 0x7f12\n", AT));
        assert!(!is_at("73 0x3 0x2 0x0 0x0 0x0 0x0 0x7ffd0010 0x7f12\n", AT));
        assert!(!is_at("running\n", AT));
        assert!(!is_at("", AT));
    }
}
