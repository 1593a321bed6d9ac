//! Recordings of other tools as text: ftrace's, and what `perf.data` holds.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ingest::{HostKernel, KernelSymbols, PerfDataText};

use crate::ui::failure::Failure;

/// The most that is read of standard input, which is kept in memory: a recording is read several times.
const MOST_OF_INPUT: u64 = 1 << 30;
/// Begins of recordings that are no text.
const PERF: [&[u8]; 2] = [b"PERFILE2", b"2ELIFREP"];
const TRACE_CMD: &[u8] = b"\x17\x08Dtracing";
/// What makes text of the latter.
const OF_TRACE_CMD: &str =
    "is a binary recording of trace-cmd; make text of it: trace-cmd report FILE | stallscope import -";
/// Longer lines are no events.
const LONGEST: u64 = 64 << 10;

/// A recording, which is read several times.
pub struct ForeignRecording {
    name: String,
    bytes: Source,
    is_perf_data: bool,
}

enum Source {
    File(File),
    Memory(Arc<[u8]>),
}

/// What the reader of a `perf.data` needs.
trait Bytes: Read + Seek + Send {}
impl<T: Read + Seek + Send> Bytes for T {}

impl ForeignRecording {
    /// Opens a file, or standard input (`-`).
    pub fn open(path: &Path) -> Result<ForeignRecording, Failure> {
        let name = path.display().to_string();
        let unreadable = |error| Failure::path(&error, format_args!("{name}: cannot read: {error}"));
        let bytes = if path == Path::new("-") {
            let mut bytes = Vec::new();
            std::io::stdin().lock().take(MOST_OF_INPUT + 1).read_to_end(&mut bytes).map_err(unreadable)?;
            if bytes.len() as u64 > MOST_OF_INPUT {
                return Err(Failure::usage("standard input has more than 1 GiB: write it to a file, and name that"));
            }
            Source::Memory(bytes.into())
        } else {
            Source::File(symbols::open(path).map_err(unreadable)?)
        };
        let mut recording = ForeignRecording { name, bytes, is_perf_data: false };
        let begin = recording.begin()?;
        if begin.starts_with(TRACE_CMD) {
            return Err(Failure::usage(format_args!("{}: {OF_TRACE_CMD}", recording.name)));
        }
        recording.is_perf_data = PERF.iter().any(|magic| begin.starts_with(magic));
        Ok(recording)
    }

    /// Whether its stacks have no names: functions of another kernel are not known here.
    pub fn lacks_functions(&mut self) -> Result<bool, Failure> {
        Ok(self.is_perf_data && !self.perf_data()?.names_functions())
    }

    /// Its text, from the begin.
    pub fn text(&mut self) -> Result<Box<dyn Read + Send>, Failure> {
        match self.is_perf_data {
            true => Ok(Box::new(self.perf_data()?)),
            false => Ok(Box::new(self.again()?)),
        }
    }

    /// The lines of block events alone: the first may come after many others.
    pub fn block_lines(&mut self) -> Result<impl Read + Send + use<>, Failure> {
        Ok(BlockLines { source: BufReader::new(self.text()?), line: Vec::new(), at: 0 })
    }

    /// Whether a file is a recording that [`ForeignRecording::open`] takes, or refuses with what makes text of it.
    pub fn is_binary(path: &Path) -> bool {
        let mut begin = [0; 8];
        let file = symbols::open(path).and_then(|mut file| file.read_exact(&mut begin));
        file.is_ok() && (PERF.iter().any(|magic| **magic == begin) || begin == TRACE_CMD[..8])
    }

    fn begin(&mut self) -> Result<[u8; 16], Failure> {
        let mut begin = [0; 16];
        let mut bytes = self.again()?;
        // A shorter source is neither.
        let _ = bytes.read_exact(&mut begin);
        Ok(begin)
    }

    fn perf_data(&mut self) -> Result<PerfDataText<BufReader<Box<dyn Bytes>>>, Failure> {
        let bytes = BufReader::new(self.again()?);
        let failed = |error| Failure::path(&error, format_args!("{}: cannot read this perf.data: {error}", self.name));
        PerfDataText::open(bytes, host_kernel()).map_err(failed)
    }

    fn again(&mut self) -> Result<Box<dyn Bytes>, Failure> {
        match &mut self.bytes {
            Source::File(file) => {
                let again = file.rewind().and_then(|()| file.try_clone());
                Ok(Box::new(again.map_err(|error| Failure::machine(format_args!("cannot read it again: {error}")))?))
            }
            Source::Memory(bytes) => Ok(Box::new(Cursor::new(bytes.clone()))),
        }
    }
}

/// The kernel's symbols. Whether they have addresses depends on the privileges of the process that opens them.
static SYMBOLS: OnceLock<File> = OnceLock::new();

/// Opens the kernel's symbols, before privileges are given up.
pub fn open_symbols() {
    if let Ok(file) = File::open("/proc/kallsyms") {
        let _ = SYMBOLS.set(file);
    }
}

/// This machine's kernel, read once.
fn host_kernel() -> &'static Arc<HostKernel> {
    static KERNEL: OnceLock<Arc<HostKernel>> = OnceLock::new();
    KERNEL.get_or_init(|| {
        let symbols = SYMBOLS.get().map(|file| KernelSymbols::read(BufReader::new(file)).unwrap_or_default());
        let notes = std::fs::read("/sys/kernel/notes").unwrap_or_default();
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        Arc::new(HostKernel { symbols: symbols.unwrap_or_default(), build_id: ingest::build_id(&notes), release })
    })
}

struct BlockLines<R> {
    source: BufReader<R>,
    line: Vec<u8>,
    at: usize,
}

impl<R: Read> Read for BlockLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.at == self.line.len() {
            (self.at, self.line) = (0, std::mem::take(&mut self.line));
            self.line.clear();
            if Read::take(&mut self.source, LONGEST).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(0);
            }
            let is_of_block =
                self.line.windows(6).any(|part| part == b"block_") || self.line.windows(5).any(|part| part == b"LOST ");
            if !is_of_block {
                self.line.clear();
            }
        }
        let length = buffer.len().min(self.line.len() - self.at);
        buffer[..length].copy_from_slice(&self.line[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}
