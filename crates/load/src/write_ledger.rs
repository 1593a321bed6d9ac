//! The write ledger: which generation of each block was issued last, and which was acknowledged as durable.
//!
//! ```text
//! 64-bit words                                   32-bit words, for each block of each file
//! ┌────────┬────────────────────────────────────┐ ┌────────┬──────────────┬────────┬───
//! │ header │ for each file: whether it is in use │ │ issued │ acknowledged │ issued │ ...
//! └────────┴────────────────────────────────────┘ └────────┴──────────────┴────────┴───
//! ```
//!
//! It is a memory-mapped file in the run directory, outside the file system under test. An entry costs a
//! store. Entries survive the death of the program and of the load at any moment, because the pages belong to the
//! kernel. They do *not* survive a power loss or a kernel crash: then pages are as old as the
//! last writeback of each. An acknowledgement is stored after the kernel gave it, so an old page claims less than
//! was promised, never more; but a block may then hold a later generation than the ledger lists as issued.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::data::FileId;
use crate::error::LoadError;
use crate::stamp::{BlockOwner, Expected};
use crate::sys::SharedMemory;

/// File name of the ledger in a run directory.
pub const LEDGER: &str = "ledger";

const MAGIC: u64 = u64::from_le_bytes(*b"stledgr1");
const STATE: usize = 1;
const SHAPE: usize = 2;
const SHAPE_WORDS: usize = 6;
const HEADER_WORDS: usize = SHAPE + SHAPE_WORDS;
const FILLED: u64 = 1;

/// Set in a block's issued generation after a failed write: its contents are unknown until the next write.
const DOUBT: u32 = 1 << 31;

/// The blocks that a ledger covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerShape {
    /// The run that owns the data.
    pub run: u64,
    /// Index of the file set.
    pub set: u64,
    /// Files, over all directories.
    pub files: u64,
    /// Directories; file number `n` is in directory `n % directories`.
    pub directories: u64,
    /// Blocks of each file.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
}

/// Block counts by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LedgerTotals {
    /// All.
    pub blocks: u64,
    /// Blocks with a write that was acknowledged as durable.
    pub acknowledged: u64,
    /// Blocks with a later write that was not acknowledged.
    pub open: u64,
}

/// The ledger of a run.
pub struct WriteLedger {
    memory: SharedMemory,
    shape: LedgerShape,
}

/// The ledger of one file.
#[derive(Clone, Copy)]
pub struct FileLedger<'a> {
    ledger: &'a WriteLedger,
    number: u64,
    blocks: &'a [AtomicU32],
}

impl LedgerShape {
    /// The identity of file number `number`.
    pub fn file(&self, number: u64) -> FileId {
        let directories = self.directories.max(1);
        FileId::new((number % directories) as usize, self.set as usize, number / directories)
    }

    fn words(&self) -> [u64; SHAPE_WORDS] {
        [self.run, self.set, self.files, self.directories, self.blocks, self.block_bytes]
    }

    fn from_words(words: [u64; SHAPE_WORDS]) -> LedgerShape {
        let [run, set, files, directories, blocks, block_bytes] = words;
        LedgerShape { run, set, files, directories, blocks, block_bytes }
    }

    /// Bytes of the words, and of the whole ledger; `None` on overflow.
    fn sizes(&self) -> Option<(usize, usize)> {
        let words = usize::try_from(self.files).ok()?.checked_add(HEADER_WORDS)?.checked_mul(8)?;
        let blocks = usize::try_from(self.files.checked_mul(self.blocks)?).ok()?.checked_mul(8)?;
        Some((words, words.checked_add(blocks)?))
    }
}

impl WriteLedger {
    /// Creates a ledger: in a file, or in memory without a path.
    pub fn create(path: Option<&Path>, shape: LedgerShape) -> Result<WriteLedger, LoadError> {
        let failed = |error: io::Error| match path {
            Some(path) => LoadError::data("create the ledger", path)(error),
            None => LoadError::process("create the ledger")(error),
        };
        let sizes = shape.sizes().ok_or_else(|| failed(io::ErrorKind::OutOfMemory.into()))?;
        let memory = match path {
            Some(path) => {
                let file = access::create_new(path).map_err(failed)?;
                SharedMemory::in_file(&file, sizes.0, sizes.1, true)
            }
            None => SharedMemory::create(sizes.0, sizes.1).map(|(_, memory)| memory),
        };
        let ledger = WriteLedger { memory: memory.map_err(failed)?, shape };
        for (index, word) in shape.words().into_iter().enumerate() {
            ledger.word(SHAPE + index, Some(word));
        }
        ledger.word(0, Some(MAGIC));
        Ok(ledger)
    }

    /// Opens the ledger of an earlier run.
    pub fn open(path: &Path) -> Result<WriteLedger, LoadError> {
        let refuse = |why: &str| LoadError::NoLedger { path: path.to_owned(), why: why.to_owned() };
        let mut file = File::options().read(true).write(true).open(path).map_err(LoadError::data("open", path))?;
        let mut header = [0; HEADER_WORDS * 8];
        file.read_exact(&mut header).map_err(|_| refuse("it is too short for a ledger"))?;
        let word = |index: usize| u64::from_le_bytes(header[index * 8..][..8].try_into().expect("eight bytes"));
        if word(0) != MAGIC {
            return Err(refuse("it is not a ledger, or was truncated"));
        }
        let shape = LedgerShape::from_words(std::array::from_fn(|index| word(SHAPE + index)));
        let length = file.metadata().map_err(LoadError::data("inspect", path))?.len();
        let sizes = shape.sizes().filter(|sizes| sizes.1 as u64 == length && shape.block_bytes > 0);
        let sizes = sizes.ok_or_else(|| refuse("its size does not match its header"))?;
        let memory = SharedMemory::in_file(&file, sizes.0, sizes.1, false).map_err(LoadError::data("map", path))?;
        Ok(WriteLedger { memory, shape })
    }

    /// The blocks that it covers.
    pub fn shape(&self) -> LedgerShape {
        self.shape
    }

    /// Marks all files as created and durable: generation 0 of every block is acknowledged.
    pub(crate) fn set_filled(&self) {
        self.word(STATE, Some(FILLED));
    }

    /// Whether all files were created.
    pub fn is_filled(&self) -> bool {
        self.word(STATE, None) == FILLED
    }

    /// The ledger of file number `number`.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn file_ledger(&self, number: u64) -> FileLedger<'_> {
        let length = 2 * self.shape.blocks as usize;
        let start = number as usize * length;
        FileLedger { ledger: self, number, blocks: &self.memory.halves()[start..start + length] }
    }

    /// Counts blocks.
    pub fn totals(&self) -> LedgerTotals {
        let mut totals = LedgerTotals { blocks: self.shape.files * self.shape.blocks, ..LedgerTotals::default() };
        for number in 0..self.shape.files {
            let account = self.file_ledger(number);
            for block in 0..self.shape.blocks {
                let issued = account.issued(block).load(Ordering::Relaxed) & !DOUBT;
                let acknowledged = account.acknowledged(block).load(Ordering::Relaxed);
                totals.acknowledged += u64::from(acknowledged > 0);
                totals.open += u64::from(issued > acknowledged);
            }
        }
        totals
    }

    fn word(&self, index: usize, value: Option<u64>) -> u64 {
        let word = &self.memory.words()[index];
        if let Some(value) = value {
            word.store(value, Ordering::Release);
        }
        word.load(Ordering::Acquire)
    }
}

impl FileLedger<'_> {
    /// Its file.
    pub fn owner(&self) -> BlockOwner {
        BlockOwner { run: self.ledger.shape.run, file: self.ledger.shape.file(self.number) }
    }

    /// Marks whether a thread works on the file, which excludes verifiers.
    pub(crate) fn set_in_use(&self, is_in_use: bool) {
        self.ledger.word(HEADER_WORDS + self.number as usize, Some(u64::from(is_in_use)));
    }

    /// Whether a thread of this run works on the file.
    pub(crate) fn is_in_use(&self) -> bool {
        self.ledger.word(HEADER_WORDS + self.number as usize, None) != 0
    }

    fn issued(&self, block: u64) -> &AtomicU32 {
        &self.blocks[2 * block as usize]
    }

    fn acknowledged(&self, block: u64) -> &AtomicU32 {
        &self.blocks[2 * block as usize + 1]
    }

    /// Assigns the generation of a block's next write. Stored before the write, so that a file never holds a generation
    /// that the ledger does not list.
    pub fn issue(&self, block: u64) -> u64 {
        let issued = self.issued(block);
        let generation = ((issued.load(Ordering::Relaxed) & !DOUBT) + 1) & !DOUBT;
        issued.store(generation, Ordering::Release);
        u64::from(generation)
    }

    /// A write of a block failed: its contents are unknown.
    pub(crate) fn doubt(&self, block: u64) {
        self.issued(block).fetch_or(DOUBT, Ordering::Release);
    }

    /// The kernel promised that a generation is durable.
    pub(crate) fn acknowledge(&self, block: u64, generation: u64) {
        self.acknowledged(block).fetch_max(generation as u32, Ordering::Release);
    }

    /// What a read must return in this run, with no write of the block in flight; `None`: unknown.
    pub(crate) fn expected_now(&self, block: u64) -> Option<Expected> {
        let issued = self.issued(block).load(Ordering::Acquire);
        let generation = u64::from(issued);
        (issued & DOUBT == 0).then(|| Expected {
            owner: self.owner(),
            least: generation,
            most: generation,
            whole: true,
        })
    }

    /// What a read must return after a crash. An unacknowledged write may be present, absent or partial.
    pub fn expected_after_crash(&self, block: u64) -> Expected {
        let issued = u64::from(self.issued(block).load(Ordering::Acquire) & !DOUBT);
        let acknowledged = u64::from(self.acknowledged(block).load(Ordering::Acquire));
        Expected {
            owner: self.owner(),
            least: acknowledged,
            most: issued.max(acknowledged),
            whole: issued <= acknowledged,
        }
    }
}
