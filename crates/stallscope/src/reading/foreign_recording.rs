//! Recordings of other tools as text: ftrace's, and what a `perf.data`, a `trace.dat` and a trace of Perfetto hold.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use flate2::read::MultiGzDecoder;
use ingest::{HostKernel, KernelSymbols, PerfDataText, PerfettoText, TraceDatText};

use crate::ui::failure::Failure;

/// The most that is read of standard input, which is kept in memory: a recording is read several times.
const MOST_OF_INPUT: u64 = 1 << 30;
/// Begins of recordings that are no text.
const PERF: [&[u8]; 2] = [b"PERFILE2", b"2ELIFREP"];
const TRACE_CMD: &[u8] = b"\x17\x08Dtracing";
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// What is read to recognise a recording.
const BEGIN: u64 = 4096;
/// Stacks hold addresses; functions are named by the kernel that they are of.
const OTHER_KERNEL: &str = "this kernel is not the one that was recorded, or hides its addresses, so that functions \
                            have no names: on that machine, as root, \
                            'perf script | stallscope import -' names them";
const NO_FUNCTIONS: &str = "the recording has no addresses of the kernel's functions, so that stacks have no names: \
                            trace-cmd stores them as root";
/// Longer lines are no events.
const LONGEST: u64 = 64 << 10;

/// A recording, which is read several times.
pub struct ForeignRecording {
    name: String,
    bytes: Source,
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    PerfData,
    TraceDat,
    Perfetto,
}

impl Format {
    fn of(begin: &[u8]) -> Format {
        match () {
            () if PERF.iter().any(|magic| begin.starts_with(magic)) => Format::PerfData,
            () if begin.starts_with(TRACE_CMD) => Format::TraceDat,
            () if ingest::is_perfetto(begin) => Format::Perfetto,
            () => Format::Text,
        }
    }
}

enum Source {
    File(File),
    Memory(Arc<[u8]>),
}

/// What the readers of binary recordings need.
trait Bytes: Read + Seek + Send {}
impl<T: Read + Seek + Send> Bytes for T {}

impl ForeignRecording {
    /// Opens a file, or standard input (`-`).
    pub fn open(path: &Path) -> Result<ForeignRecording, Failure> {
        let name = path.display().to_string();
        let unreadable = |error| Failure::path(&error, format_args!("{name}: cannot read: {error}"));
        let bytes = if path == Path::new("-") {
            let bytes = read_at_most(std::io::stdin().lock()).map_err(unreadable)?;
            let too_long = "standard input has more than 1 GiB: write it to a file, and name that";
            Source::Memory(bytes.ok_or_else(|| Failure::usage(too_long))?)
        } else {
            Source::File(symbols::open(path).map_err(unreadable)?)
        };
        let mut recording = ForeignRecording { name, bytes, format: Format::Text };
        recording.expand()?;
        recording.format = Format::of(&recording.begin()?);
        Ok(recording)
    }

    /// A compressed recording is held decompressed.
    fn expand(&mut self) -> Result<(), Failure> {
        let begin = self.begin()?;
        let bytes = self.again()?;
        let bytes = match () {
            () if begin.starts_with(GZIP) => read_at_most(MultiGzDecoder::new(bytes)),
            () if begin.starts_with(ZSTD) => zstd::Decoder::new(bytes).and_then(read_at_most),
            () => return Ok(()),
        };
        let name = &self.name;
        let bytes =
            bytes.map_err(|error| Failure::path(&error, format_args!("{name}: cannot decompress it: {error}")))?;
        let too_long = || Failure::usage(format_args!("{name}: has more than 1 GiB decompressed: decompress it first"));
        self.bytes = Source::Memory(bytes.ok_or_else(too_long)?);
        Ok(())
    }

    /// Why its stacks have no names, if so.
    pub fn lacks_functions(&mut self) -> Result<Option<&'static str>, Failure> {
        Ok(match self.format {
            Format::Text => None,
            Format::PerfData => (!self.perf_data()?.names_functions()).then_some(OTHER_KERNEL),
            Format::TraceDat => (!self.trace_dat()?.names_functions()).then_some(NO_FUNCTIONS),
            // It has no stacks, which is said.
            Format::Perfetto => None,
        })
    }

    /// Its text, from the begin.
    pub fn text(&mut self) -> Result<Box<dyn Read + Send>, Failure> {
        Ok(match self.format {
            Format::Text => Box::new(self.again()?),
            Format::PerfData => Box::new(self.perf_data()?),
            Format::TraceDat => Box::new(self.trace_dat()?),
            Format::Perfetto => Box::new(self.perfetto()?),
        })
    }

    /// The lines of block events alone: the first may come after many others.
    pub fn block_lines(&mut self) -> Result<impl Read + Send + use<>, Failure> {
        Ok(BlockLines { source: BufReader::new(self.text()?), line: Vec::new(), at: 0 })
    }

    /// Whether a file is a recording that is no text.
    pub fn is_binary(path: &Path) -> bool {
        let mut begin = Vec::new();
        let file = symbols::open(path).and_then(|file| file.take(BEGIN).read_to_end(&mut begin));
        file.is_ok() && Format::of(&begin) != Format::Text
    }

    fn begin(&mut self) -> Result<Vec<u8>, Failure> {
        let mut begin = Vec::new();
        // What cannot be read is reported where it is needed.
        let _ = self.again()?.take(BEGIN).read_to_end(&mut begin);
        Ok(begin)
    }

    fn perf_data(&mut self) -> Result<PerfDataText<BufReader<Box<dyn Bytes>>>, Failure> {
        let bytes = BufReader::new(self.again()?);
        PerfDataText::open(bytes, host_kernel()).map_err(|error| self.failed("perf.data", &error))
    }

    fn trace_dat(&mut self) -> Result<TraceDatText<Box<dyn Bytes>>, Failure> {
        let bytes = self.again()?;
        TraceDatText::open(bytes).map_err(|error| self.failed("trace.dat", &error))
    }

    fn perfetto(&mut self) -> Result<PerfettoText<BufReader<Box<dyn Bytes>>>, Failure> {
        let bytes = BufReader::new(self.again()?);
        PerfettoText::open(bytes).map_err(|error| self.failed("trace of Perfetto", &error))
    }

    fn failed(&self, kind: &str, error: &std::io::Error) -> Failure {
        Failure::path(error, format_args!("{}: cannot read this {kind}: {error}", self.name))
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

/// `None`: it has more.
fn read_at_most(source: impl Read) -> std::io::Result<Option<Arc<[u8]>>> {
    let mut bytes = Vec::new();
    source.take(MOST_OF_INPUT + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MOST_OF_INPUT).then(|| bytes.into()))
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
            // Functions of stacks have such names, too.
            let is_frame = self.line.starts_with(b"\t") || self.line.starts_with(b"=>");
            let has = |words: &[u8]| self.line.windows(words.len()).any(|part| part == words);
            if is_frame || !has(b"block_") && !has(b"LOST ") && !has(b"EVENTS DROPPED]") {
                self.line.clear();
            }
        }
        let length = buffer.len().min(self.line.len() - self.at);
        buffer[..length].copy_from_slice(&self.line[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}
