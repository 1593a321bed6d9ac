//! What a `trace.dat` has before its events, whatever its version: formats, names, functions, the clock, and where the
//! events of each CPU are.

use std::collections::HashMap;

use super::codec::Codec;
use super::page::PageLayout;
use crate::event_formats::{EventFormats, Stored};
use crate::event_words::one_line;
use crate::kernel_symbols::KernelSymbols;

/// Tasks whose names are known.
const TASKS: usize = 1 << 20;
/// CPUs of all buffers together.
const MOST_CPUS: usize = 8192;
/// Clocks that count nanoseconds.
const NANOSECONDS: [&str; 8] = ["local", "global", "perf", "mono", "mono_raw", "boot", "tai", "tsc2nsec"];
const REMEDY: &str = "record with 'trace-cmd record -C mono'";

/// The events of a CPU in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuPart {
    pub(crate) cpu: u32,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) is_compressed: bool,
    pub(crate) page_bytes: u32,
}

/// Ticks of a clock that counts no nanoseconds, as trace-cmd converts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticks {
    pub(crate) factor: u32,
    pub(crate) shift: u32,
}

/// What comes before the events.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) is_big_endian: bool,
    pub(crate) page_bytes: u32,
    pub(crate) header_page: Vec<u8>,
    pub(crate) formats: EventFormats,
    pub(crate) symbols: KernelSymbols,
    pub(crate) names: HashMap<u32, String>,
    pub(crate) clock: Option<String>,
    pub(crate) ticks: Option<Ticks>,
    pub(crate) codec: Codec,
    pub(crate) cpus: Vec<CpuPart>,
}

impl Parts {
    pub(crate) fn layout(&self, page_bytes: u32) -> Option<PageLayout> {
        PageLayout::parse(&self.header_page, page_bytes as usize, self.is_big_endian)
    }

    /// Adds what a CPU has. `None`: there are too many.
    pub(crate) fn cpu(&mut self, part: CpuPart) -> Option<()> {
        if part.bytes > 0 {
            self.cpus.push(part);
        }
        (self.cpus.len() <= MOST_CPUS).then_some(())
    }

    /// A copy of `/proc/kallsyms`.
    pub(crate) fn functions(&mut self, kallsyms: &[u8]) {
        self.symbols = KernelSymbols::read(kallsyms).unwrap_or_default();
    }

    /// A copy of `saved_cmdlines`: `7 dd`.
    pub(crate) fn tasks(&mut self, saved: &[u8]) {
        let lines = saved.split(|byte| *byte == b'\n').take(TASKS);
        let name = |line: &[u8]| {
            let at = line.iter().position(|byte| *byte == b' ')?;
            let tid: u32 = std::str::from_utf8(&line[..at]).ok()?.parse().ok()?;
            Some((tid, one_line(&line[at + 1..])))
        };
        self.names.extend(lines.filter_map(name));
    }

    /// A copy of `trace_clock`: `[local] global counter`, or a name alone.
    pub(crate) fn clock(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(&*text, |(name, _)| name);
        let chosen = chosen.trim_matches(|letter: char| letter == '\0' || letter.is_whitespace());
        if !chosen.is_empty() {
            self.clock = Some(one_line(chosen.as_bytes()));
        }
    }

    /// How to make nanoseconds of ticks: a factor, a shift, and where they begin, which does not matter.
    pub(crate) fn ticks(&mut self, option: &mut Stored<'_>) -> Option<()> {
        let ticks = Ticks { factor: option.number(4)? as u32, shift: option.number(4)? as u32 };
        self.ticks = Some(ticks).filter(|ticks| ticks.factor > 0 && ticks.shift < 64);
        Some(())
    }

    /// Why its events cannot be read.
    pub(crate) fn refusal(&self) -> Option<String> {
        let clock = self.clock.as_deref().unwrap_or(NANOSECONDS[0]);
        if !NANOSECONDS.contains(&clock) && self.ticks.is_none() {
            return Some(format!("its clock, '{clock}', counts no nanoseconds; {REMEDY}"));
        }
        if let Codec::Unknown(name) = &self.codec {
            return Some(format!(
                "it is compressed with '{name}', which is not read; 'trace-cmd convert --compression none -i FILE -o \
                 NEW' makes one that is"
            ));
        }
        None
    }

    /// Nanoseconds of a time.
    pub(crate) fn nanoseconds(&self, at: u64) -> u64 {
        match self.ticks.filter(|_| !NANOSECONDS[..7].contains(&self.clock.as_deref().unwrap_or(NANOSECONDS[0]))) {
            Some(Ticks { factor, shift }) => ((u128::from(at) * u128::from(factor)) >> shift) as u64,
            None => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Parts, Ticks};
    use crate::trace_dat::codec::Codec;

    #[test]
    fn a_clock_counts_nanoseconds_or_is_converted() {
        let refusal = |clock: &[u8], ticks: Option<Ticks>| {
            let mut parts = Parts { ticks, ..Parts::default() };
            parts.clock(clock);
            parts.refusal()
        };
        assert_eq!(refusal(b"[local] global counter\n", None), None);
        assert_eq!(refusal(b"mono\0", None), None);
        assert!(refusal(b"local global [counter]", None).unwrap().contains("-C mono"));
        let ticks = Ticks { factor: 3 << 9, shift: 10 };
        assert_eq!(refusal(b"x86-tsc", Some(ticks)), None);
        let mut parts = Parts { ticks: Some(ticks), ..Parts::default() };
        assert_eq!(parts.nanoseconds(200), 200);
        parts.clock(b"x86-tsc");
        assert_eq!(parts.nanoseconds(200), 300);
        parts.codec = Codec::Unknown("lz4".into());
        assert!(parts.refusal().unwrap().contains("--compression none"));
    }

    #[test]
    fn names_of_tasks_may_have_blanks() {
        let mut parts = Parts::default();
        parts.tasks(b"7 a b\n8 c\nx y\n");
        assert_eq!((parts.names[&7].as_str(), parts.names[&8].as_str(), parts.names.len()), ("a b", "c", 2));
    }
}
