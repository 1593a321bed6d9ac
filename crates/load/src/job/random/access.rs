//! The job's values, resolved from a recipe's keys.

use serde::{Deserialize, Serialize};

use crate::engine::{EngineKind, SyncMethod};
use crate::error::LoadError;
use crate::job::values::JobValues;
use crate::stamp;
use crate::write_ledger::LedgerShape;

/// Maximum block size; a larger one would delay a stop.
const MAX_BLOCK_BYTES: u64 = 16 << 20;
const MAX_DEPTH: u64 = 4096;
/// The smallest logical block size of any device.
const LEAST_SECTOR_BYTES: u64 = 512;

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RandomJob {
    pub(super) set: usize,
    pub(super) block_bytes: u64,
    /// Blocks of each file.
    pub(super) blocks: u64,
    /// ThreadShare of reads.
    pub(super) reads: f64,
    pub(super) engine: EngineKind,
    pub(super) depth: usize,
    pub(super) direct: bool,
    pub(super) sync: Option<SyncMethod>,
    /// Writes between two sync calls; 0: no sync calls.
    pub(super) sync_every: u64,
    pub(super) verify: bool,
    pub(super) read_class: Option<usize>,
    pub(super) write_class: Option<usize>,
    pub(super) sync_class: Option<usize>,
}

impl RandomJob {
    pub(crate) fn resolve(values: &mut JobValues<'_, '_>) -> Result<RandomJob, LoadError> {
        let set = values.set("set").unwrap_or(0);
        let block_bytes = values.whole_or("block", 4096, 1)?;
        let reads = values.number("reads")?.unwrap_or(1.0);
        let every = values.whole("every")?.unwrap_or(0);
        let sync = sync_kind(values.word("sync")?.as_deref(), every);
        let writes = reads < 1.0;
        let sync_class = sync.and_then(SyncMethod::class).filter(|_| writes);
        let job = RandomJob {
            set,
            block_bytes,
            blocks: values.sets()[set].size_bytes / block_bytes,
            reads,
            engine: match values.word("engine")?.as_deref() {
                Some("io_uring") => EngineKind::IoUring,
                Some("null") => EngineKind::Null,
                _ => EngineKind::Sync,
            },
            depth: values.whole_or("depth", 1, 1)?.min(MAX_DEPTH + 1) as usize,
            direct: values.flag("direct")?,
            sync,
            sync_every: if sync_class.is_some() { every.max(1) } else { 0 },
            verify: values.flag("verify")?,
            read_class: if reads > 0.0 { Some(values.class("read")?) } else { None },
            write_class: if writes { Some(values.class("write")?) } else { None },
            sync_class: sync_class.map(|class| values.class(class)).transpose()?,
        };
        job.check_limits(values)?;
        Ok(job)
    }

    fn check_limits(&self, values: &JobValues<'_, '_>) -> Result<(), LoadError> {
        let block = self.block_bytes;
        let refuse = |key: &str, why: String| Err(values.refuse(key, why));
        if block > MAX_BLOCK_BYTES {
            return refuse("block", format!("a block is at most {MAX_BLOCK_BYTES} bytes"));
        }
        if self.blocks == 0 {
            let size = values.sets()[self.set].size_bytes;
            return refuse("block", format!("a block of {block} bytes does not fit into files of {size}"));
        }
        if self.direct && !block.is_multiple_of(LEAST_SECTOR_BYTES) {
            return refuse("block", format!("direct I/O requires multiples of 512 bytes, and {block} is not one"));
        }
        if self.depth as u64 > MAX_DEPTH {
            return refuse("depth", format!("at most {MAX_DEPTH} operations can be in flight"));
        }
        if self.depth > 1 && self.engine != EngineKind::IoUring {
            return refuse("depth", "only the engine io_uring supports several operations in flight".to_owned());
        }
        if self.verify && !stamp::fits(block) {
            return refuse("block", format!("verified blocks require multiples of 512 bytes, and {block} is not one"));
        }
        if self.verify && self.engine == EngineKind::Null {
            return refuse("verify", "the engine null writes nothing to verify".to_owned());
        }
        if self.verify && !values.sets()[self.set].stamped {
            return refuse("verify", "files that are verified need 'stamped'".to_owned());
        }
        Ok(())
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.block_bytes.saturating_mul(self.depth.max(2) as u64)
    }

    /// The block size, if it uses direct I/O.
    pub(crate) fn direct_bytes(&self) -> Option<[u64; 2]> {
        (self.direct && self.engine != EngineKind::Null).then_some([self.block_bytes, 0])
    }

    /// Maximum operations in flight.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The blocks of a ledger for `threads` threads, if their writes are verified.
    pub(crate) fn ledger_shape(&self, run: u64, threads: u64, directories: u64) -> Option<LedgerShape> {
        let (set, blocks, block_bytes) = (self.set as u64, self.blocks, self.block_bytes);
        self.verify.then_some(LedgerShape { run, set, files: threads, directories, blocks, block_bytes })
    }
}

/// `--sync` and `--fsync` together: a number alone means fsync.
fn sync_kind(word: Option<&str>, every: u64) -> Option<SyncMethod> {
    match word {
        Some("o_sync") => Some(SyncMethod::OSync),
        Some("o_dsync") => Some(SyncMethod::ODsync),
        Some("fsync") => Some(SyncMethod::Fsync),
        Some("fdatasync") => Some(SyncMethod::Fdatasync),
        Some("sync_file_range") => Some(SyncMethod::SyncFileRange),
        _ => (every > 0).then_some(SyncMethod::Fsync),
    }
}
