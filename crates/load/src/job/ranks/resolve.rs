//! The job's values, resolved from a recipe's keys.

use serde::{Deserialize, Serialize};

use super::layout::RankLayout;
use crate::error::LoadError;
use crate::job::values::JobValues;
use crate::stamp;

/// Minimum alignment of direct I/O.
const DIRECT_BYTES: u64 = 512;
/// Maximum transfers of a rank in random order, whose order is kept in memory.
const MOST_AT_RANDOM: u64 = 1 << 28;

/// What the ranks do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RankAction {
    /// Write.
    Write,
    /// Read.
    Read,
    /// Read and verify.
    Check,
}

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RanksJob {
    pub(super) set: usize,
    pub(super) action: RankAction,
    pub(super) layout: RankLayout,
    /// Each rank takes the part of the rank with a number this much higher.
    pub(super) shift: u64,
    /// Whether a rank makes its transfers in random order.
    pub(super) random: bool,
    /// Whether a rank's separate file is truncated on open.
    pub(super) truncate: bool,
    pub(super) direct: bool,
    /// fsync at the end, and after each transfer.
    pub(super) fsync: bool,
    pub(super) sync_each: bool,
    /// Whether the data carries its location and run.
    pub(super) stamped: bool,
    pub(super) signature: u64,
    /// Time limit of the share; 0: none.
    pub(super) time_ns: u64,
    pub(super) class: usize,
    pub(super) open: usize,
    pub(super) fsync_class: Option<usize>,
    pub(super) close: usize,
}

impl RanksJob {
    pub(crate) fn resolve(values: &mut JobValues<'_, '_>) -> Result<RanksJob, LoadError> {
        let word = values.word("action")?.unwrap_or_default();
        let action = match word.as_str() {
            "read" => RankAction::Read,
            "check" => RankAction::Check,
            _ => RankAction::Write,
        };
        let shared = values.flag("shared")?;
        let (fsync, sync_each) = (values.flag("fsync")?, values.flag("sync_each")?);
        let ranks = RanksJob {
            set: set(values, shared)?,
            action,
            layout: RankLayout {
                transfer_bytes: values.whole_or("transfer", 256 << 10, 1)?,
                block_bytes: values.whole_or("block", 1 << 20, 1)?,
                segments: values.whole_or("segments", 1, 1)?,
                shared,
            },
            shift: values.whole("shift")?.unwrap_or(0),
            random: values.flag("random")?,
            truncate: values.flag("truncate")?,
            direct: values.flag("direct")?,
            fsync,
            sync_each,
            stamped: values.flag("stamped")?,
            signature: values.whole("signature")?.unwrap_or(0),
            time_ns: values.whole("time")?.unwrap_or(0),
            class: values.class(&word)?,
            open: values.class("open")?,
            fsync_class: if fsync || sync_each { Some(values.class("fsync")?) } else { None },
            close: values.class("close")?,
        };
        ranks.check(values)?;
        Ok(ranks)
    }

    fn check(&self, values: &JobValues<'_, '_>) -> Result<(), LoadError> {
        let RankLayout { transfer_bytes, block_bytes, .. } = self.layout;
        if !block_bytes.is_multiple_of(transfer_bytes) {
            let message =
                format!("a block of {block_bytes} bytes is not a multiple of a transfer of {transfer_bytes} bytes");
            return Err(values.refuse("block", message));
        }
        if self.stamped && !stamp::fits(transfer_bytes) {
            let message = format!("to be verified, a transfer must be a multiple of {} bytes", stamp::UNIT_BYTES);
            return Err(values.refuse("transfer", message));
        }
        if self.direct && !transfer_bytes.is_multiple_of(DIRECT_BYTES) {
            let message = format!("direct I/O requires a transfer that is a multiple of {DIRECT_BYTES} bytes");
            return Err(values.refuse("transfer", message));
        }
        if self.random && self.layout.transfers() > MOST_AT_RANDOM {
            return Err(
                values.refuse("transfer", format!("at most {MOST_AT_RANDOM} transfers can be made in random order"))
            );
        }
        Ok(())
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let order = if self.random { 2 * self.layout.transfers() * size_of::<u32>() as u64 } else { 0 };
        self.layout.transfer_bytes + order
    }

    /// The transfer size, if it uses direct I/O.
    pub(crate) fn direct_bytes(&self) -> Option<[u64; 2]> {
        self.direct.then_some([self.layout.transfer_bytes, 0])
    }

    /// Whether ranks write until a time limit instead of a size.
    pub(crate) fn writes_for_a_time(&self) -> bool {
        self.action == RankAction::Write && self.time_ns > 0
    }
}

/// The file set of the ranks: shared, or per rank in the same or separate directories.
fn set(values: &JobValues<'_, '_>, shared: bool) -> Result<usize, LoadError> {
    let key = match shared {
        true => "shared_set",
        false if values.flag("apart")? => "apart_set",
        false => "set",
    };
    values.set(key).or(values.set("set")).ok_or_else(|| values.refuse("set", "'ranks' needs 'set'"))
}
