//! `probe`: one large read, write or sync at intervals, whose latency shows how responsive a machine is.

use std::fs::File;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::cold;
use super::home::HomeDirectory;
use super::values::JobValues;
use crate::block;
use crate::clock;
use crate::data::FileId;
use crate::error::LoadError;
use crate::io_failure::IoFailure;
use crate::sys;
use crate::work::Worker;

const USUAL_BLOCK_BYTES: u64 = 1 << 20;

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ProbeAction {
    /// Reads of a file whose pages are dropped before each pass.
    Read,
    /// Writes, each followed by `sync_file_range`.
    Write,
    /// sync(2), which is system-wide.
    Sync,
}

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeJob {
    action: ProbeAction,
    set: usize,
    block_bytes: u64,
    files: u64,
    /// Blocks in a file.
    blocks: u64,
    random: bool,
    class: usize,
}

impl ProbeJob {
    pub(super) fn resolve(values: &mut JobValues<'_, '_>) -> Result<ProbeJob, LoadError> {
        let set = values.set("set").unwrap_or(0);
        let (action, class) = match values.word("action")?.as_deref() {
            Some("write") => (ProbeAction::Write, "write"),
            Some("sync") => (ProbeAction::Sync, "sync"),
            _ => (ProbeAction::Read, "read"),
        };
        let (files, size_bytes) = (values.sets()[set].files, values.sets()[set].size_bytes);
        let block_bytes = values.whole_or("block", USUAL_BLOCK_BYTES, 1)?;
        let blocks = size_bytes / block_bytes;
        if blocks == 0 {
            let why = format!("a file of {size_bytes} bytes has no block of {block_bytes} bytes");
            return Err(values.refuse("block", why));
        }
        let random = values.flag("random")?;
        Ok(ProbeJob { action, set, files, block_bytes, blocks, random, class: values.class(class)? })
    }

    pub(super) fn remark(&self) -> Option<&'static str> {
        (self.action == ProbeAction::Sync)
            .then_some("calls sync(2), which writes back the dirty data of the whole machine")
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.block_bytes
    }

    pub(super) fn longest_write(&self) -> u64 {
        self.block_bytes
    }

    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        let home = HomeDirectory::of(worker);
        let id = FileId::new(home.directory, self.set, home.first % self.files);
        let mut buffer = vec![0; if self.action == ProbeAction::Read { self.block_bytes as usize } else { 0 }];
        let mut file = None;
        for round in 0.. {
            if self.action == ProbeAction::Read && round % self.blocks == 0 {
                file = worker.place(id).and_then(|place| place.read()).inspect(cold::drop_pages).ok();
            }
            let Some(start_ns) = worker.next_start_ns() else { return };
            let start_ns = start_ns.unwrap_or_else(clock::now_ns);
            let block = if self.random { worker.random.below(self.blocks) } else { round % self.blocks };
            let place = worker.place(id);
            let salt = worker.random.bits();
            let bytes = &worker.load.bytes;
            let act = || {
                if self.action == ProbeAction::Sync {
                    rustix::fs::sync();
                    return Ok(0);
                }
                let file = match &mut file {
                    Some(file) => file,
                    empty => empty.insert(place?.open(match self.action {
                        ProbeAction::Write => OFlags::RDWR,
                        _ => OFlags::RDONLY,
                    })?),
                };
                self.act(file, block, &mut buffer, |length| bytes.slice(salt, length))
            };
            match worker.time_from(start_ns, self.class, Some(id), act) {
                Ok(_) => worker.done(1),
                Err(_) => {
                    file = None;
                    worker.back_off();
                }
            }
        }
    }

    fn act<'b>(
        &self,
        file: &File,
        block: u64,
        buffer: &mut [u8],
        bytes: impl Fn(usize) -> &'b [u8],
    ) -> Result<u64, IoFailure> {
        let offset = block * self.block_bytes;
        match self.action {
            ProbeAction::Read => block::read(file, buffer, offset)?,
            ProbeAction::Write => {
                block::write(file, bytes(self.block_bytes as usize), offset)?;
                sys::sync_file_range(file, offset, self.block_bytes)
                    .map_err(|error| IoFailure { offset_bytes: Some(offset), ..IoFailure::from(error) })?;
            }
            ProbeAction::Sync => {}
        }
        Ok(self.block_bytes)
    }
}
