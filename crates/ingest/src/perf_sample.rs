//! A sample of perf: what importers need of it. The library's own parser trusts the lengths in it.

use linux_perf_data::linux_perf_event_reader::{ReadFormat, RecordParseInfo, SampleFormat};

use crate::event_formats::number;

/// `PERF_FORMAT_LOST`, which the library does not know.
const READ_LOST: u64 = 1 << 4;

/// A sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample<'a> {
    pub(crate) at_ns: u64,
    /// `u32::MAX`: the task has ended.
    pub(crate) tid: u32,
    pub(crate) cpu: u32,
    /// Addresses, and marks of whose they are.
    pub(crate) chain: Vec<u64>,
    /// The event as the kernel's formats describe it.
    pub(crate) raw: &'a [u8],
}

impl<'a> Sample<'a> {
    /// `None`: it is damaged, or no tracepoint with time, task and CPU.
    pub(crate) fn parse(bytes: &'a [u8], format: &RecordParseInfo, is_big_endian: bool) -> Option<Sample<'a>> {
        let has = |part: SampleFormat| format.sample_format.contains(part);
        let mut rest = Numbers { rest: bytes, is_big_endian };
        if has(SampleFormat::IDENTIFIER) {
            rest.next(8)?;
        }
        if has(SampleFormat::IP) {
            rest.next(8)?;
        }
        has(SampleFormat::TID | SampleFormat::TIME | SampleFormat::CPU | SampleFormat::RAW).then_some(())?;
        rest.next(4)?;
        let tid = rest.next(4)? as u32;
        let at_ns = rest.next(8)?;
        for part in [SampleFormat::ADDR, SampleFormat::ID, SampleFormat::STREAM_ID] {
            if has(part) {
                rest.next(8)?;
            }
        }
        let cpu = rest.next(4)? as u32;
        rest.next(4)?;
        if has(SampleFormat::PERIOD) {
            rest.next(8)?;
        }
        if has(SampleFormat::READ) {
            rest.counters(format.read_format)?;
        }
        let chain = if has(SampleFormat::CALLCHAIN) { rest.chain()? } else { Vec::new() };
        let length = rest.next(4)? as usize;
        Some(Sample { at_ns, tid, cpu, chain, raw: rest.rest.get(..length)? })
    }
}

struct Numbers<'a> {
    rest: &'a [u8],
    is_big_endian: bool,
}

impl Numbers<'_> {
    fn next(&mut self, size: usize) -> Option<u64> {
        let (bytes, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        Some(number(bytes, self.is_big_endian))
    }

    fn chain(&mut self) -> Option<Vec<u64>> {
        let count = usize::try_from(self.next(8)?).ok()?;
        let (bytes, rest) = self.rest.split_at_checked(count.checked_mul(8)?)?;
        self.rest = rest;
        Some(bytes.chunks_exact(8).map(|address| number(address, self.is_big_endian)).collect())
    }

    /// Values of counters, which a tracepoint has none of interest of.
    fn counters(&mut self, format: ReadFormat) -> Option<()> {
        let has = |part: ReadFormat| u64::from(format.contains(part));
        let times = has(ReadFormat::TOTAL_TIME_ENABLED) + has(ReadFormat::TOTAL_TIME_RUNNING);
        let each = 1 + has(ReadFormat::ID) + u64::from(format.bits() & READ_LOST != 0);
        let words =
            if format.contains(ReadFormat::GROUP) { times + self.next(8)?.checked_mul(each)? } else { times + each };
        self.rest = self.rest.get(usize::try_from(words.checked_mul(8)?).ok()?..)?;
        Some(())
    }
}
