//! `perf.data` → the text that `perf script` makes of it, as far as importers need it: tracepoints with their kernel
//! stacks.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Read, Seek};
use std::sync::Arc;

use linux_perf_data::linux_perf_event_reader::{EventRecord, RawData, RecordType};
use linux_perf_data::{DsoKey, Endianness, Feature, PerfFile, PerfFileReader, PerfFileRecord, PerfRecordIter};

use crate::event_formats::EventFormats;
use crate::event_text::Event;
use crate::event_words::{UnreadText, one_line, write_line};
use crate::kernel_symbols::KernelSymbols;
use crate::perf_check::{check, damaged};
use crate::perf_sample::Sample;

/// Marks in a stack: from here on addresses are the kernel's, or others.
const KERNEL_FRAMES: u64 = -128_i64 as u64;
const OTHER_FRAMES: u64 = -4095_i64 as u64;
/// Records that are read.
const READ: [RecordType; 5] =
    [RecordType::SAMPLE, RecordType::COMM, RecordType::FORK, RecordType::LOST, RecordType::MMAP];
/// Functions of a stack.
const FRAMES: usize = 128;
/// Tasks whose names are known.
const TASKS: usize = 1 << 20;

/// The kernel of this machine, which names functions of recordings that were made here.
#[derive(Debug, Clone, Default)]
pub struct HostKernel {
    /// Its functions.
    pub symbols: KernelSymbols,
    /// Its build id, if known.
    pub build_id: Option<Vec<u8>>,
    /// Its release, as `uname -r` says.
    pub release: String,
}

/// A recording of perf as text, line by line.
pub struct PerfDataText<R: Read> {
    file: PerfFile,
    records: PerfRecordIter<R>,
    formats: EventFormats,
    /// `None`: it was recorded on another kernel.
    kernel: Option<Arc<HostKernel>>,
    /// What this kernel's code lies higher than it did then.
    shift: u64,
    is_big_endian: bool,
    names: HashMap<u32, String>,
    text: UnreadText,
}

impl<R: Read + Seek> PerfDataText<R> {
    /// Opens a recording.
    ///
    /// # Errors
    ///
    /// It cannot be read, or it is no whole `perf.data` with tracepoints.
    pub fn open(mut source: R, kernel: &Arc<HostKernel>) -> io::Result<PerfDataText<R>> {
        check(&mut source)?;
        let PerfFileReader { perf_file: file, record_iter: records } =
            PerfFileReader::parse_file(source).map_err(|error| damaged(error.to_string()))?;
        let stored = file.feature_section_data(Feature::TRACING_DATA);
        let Some(stored) = stored else {
            return Err(damaged(
                "has no tracepoints; record with 'perf record -a -g -e sched:sched_switch,sched:sched_waking,block:*'",
            ));
        };
        let formats = EventFormats::parse(stored).ok_or_else(|| damaged("the formats of its events are damaged"))?;
        let kernel = is_of(&file, kernel).then(|| kernel.clone());
        let (names, text) = (HashMap::from([(0, "swapper".to_owned())]), UnreadText::default());
        let is_big_endian = file.endian() == Endianness::BigEndian;
        Ok(PerfDataText { file, records, formats, kernel, shift: 0, is_big_endian, names, text })
    }

    /// Whether functions of the kernel can be named here.
    pub fn names_functions(&self) -> bool {
        self.kernel.as_ref().is_some_and(|kernel| kernel.symbols.text_begin().is_some())
    }
}

/// Whether a recording is of this kernel. Releases count where build ids are missing.
fn is_of(file: &PerfFile, kernel: &HostKernel) -> bool {
    let recorded = file.build_ids().ok().and_then(|ids| Some(ids.get(&DsoKey::Kernel)?.build_id.clone()));
    match (recorded.filter(|id| !id.is_empty()), &kernel.build_id) {
        // Padded with zeros.
        (Some(recorded), Some(own)) => recorded.starts_with(own) && recorded[own.len()..].iter().all(|byte| *byte == 0),
        // After its length.
        _ => file.feature_section_data(Feature::OSRELEASE).and_then(|text| text.get(4..)).is_some_and(|text| {
            text.strip_prefix(kernel.release.as_bytes()).is_some_and(|rest| rest.first().is_none_or(|byte| *byte == 0))
        }),
    }
}

impl<R: Read> PerfDataText<R> {
    /// Makes the lines of the next record. `false`: there is none.
    fn next(&mut self) -> io::Result<bool> {
        let record = self.records.next_record(&mut self.file).map_err(|error| damaged(error.to_string()))?;
        let Some(record) = record else { return Ok(false) };
        let PerfFileRecord::EventRecord { record, .. } = record else { return Ok(true) };
        // The library asserts what records of other types hold, which a damaged file may not.
        if !READ.contains(&record.record_type) {
            return Ok(true);
        }
        if record.record_type == RecordType::SAMPLE {
            let writer = Lines { formats: &self.formats, kernel: self.kernel.as_deref(), shift: self.shift };
            let bytes = record.data.as_slice();
            if let Some(sample) = Sample::parse(&bytes, &record.parse_info, self.is_big_endian) {
                writer.sample(&sample, &self.names, &mut self.text.text);
            }
            return Ok(true);
        }
        match record.parse().map_err(|error| damaged(error.to_string()))? {
            EventRecord::Comm(comm) if self.names.len() < TASKS => {
                self.names.insert(comm.tid as u32, one_line(&bytes(comm.name)));
            }
            EventRecord::Fork(fork) => {
                let of = self.names.get(&(fork.ptid as u32)).cloned();
                if let Some(name) = of.filter(|_| self.names.len() < TASKS) {
                    self.names.insert(fork.tid as u32, name);
                }
            }
            EventRecord::Lost(lost) => {
                let _ = writeln!(self.text.text, "LOST {} events!", lost.count);
            }
            EventRecord::Mmap(map) if is_kernels(&bytes(map.path)) => {
                let own = self.kernel.as_ref().and_then(|kernel| kernel.symbols.text_begin());
                self.shift = own.map_or(0, |own| own.wrapping_sub(map.page_offset));
            }
            _ => {}
        }
        Ok(true)
    }
}

/// `[kernel.kallsyms]_text`: its offset is the address of that symbol.
fn is_kernels(path: &[u8]) -> bool {
    path.starts_with(b"[kernel.kallsyms]_")
}

fn bytes(data: RawData<'_>) -> Vec<u8> {
    let bytes = data.as_slice();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes[..end].to_vec()
}

struct Lines<'a> {
    formats: &'a EventFormats,
    kernel: Option<&'a HostKernel>,
    shift: u64,
}

impl Lines<'_> {
    /// The line of an event, and its stack below it.
    fn sample(&self, sample: &Sample<'_>, names: &HashMap<u32, String>, text: &mut String) {
        let Some(event) = Event::new(sample.raw, self.formats) else { return };
        let name = names.get(&sample.tid).map_or(":-1", String::as_str);
        if write_line(text, name, sample.tid as i32, sample.cpu, sample.at_ns, &event).is_none() {
            return;
        }
        let Some(kernel) = self.kernel else { return };
        let mut is_kernel = false;
        for address in sample.chain.iter().copied().take(FRAMES) {
            if address >= OTHER_FRAMES {
                is_kernel = address == KERNEL_FRAMES;
                continue;
            }
            if let Some((function, offset)) = kernel.symbols.function(address, self.shift).filter(|_| is_kernel) {
                let _ = writeln!(text, "\t{address:016x} {function}+{offset:#x} ([kernel.kallsyms])");
            }
        }
    }
}

impl<R: Read> Read for PerfDataText<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.text.is_read() {
            self.text.clear();
            if !self.next()? {
                return Ok(0);
            }
        }
        Ok(self.text.read(buffer))
    }
}
