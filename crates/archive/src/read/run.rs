//! A run, open for reading.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use model::event::RunEvent;
use model::metric::{Change, MetricDescriptor, SampleHeader};
use model::operation::{IntervalRecord, OperationRecord};
use model::run::{FORMAT_VERSION, RunDescription};
use model::stall::{RequestIntervalRecord, RequestRecord, StackRecord, StallRecord, TaskRecord};
use serde::Deserialize;

use super::inventory::Inventory;
use super::rows::Batches;
use crate::directory::{DESCRIPTION_FILE, JOURNAL_FILE};
use crate::error::ArchiveError;
use crate::table::{
    Descriptors, Intervals, Metrics, Operations, RequestIntervals, Requests, Samples, Stacks, Stalls, TRACED, Table,
    Tasks,
};

/// A run directory as it was when it was opened. What a live run gains later is seen by opening it again.
#[derive(Debug)]
pub struct Run {
    pub(super) dir: PathBuf,
    pub(super) description: RunDescription,
    pub(crate) inventory: Inventory,
}

impl Run {
    /// Opens a run: finished, cut off, or still being written.
    pub fn open(dir: &Path) -> Result<Run, ArchiveError> {
        let description = read_description(dir)?;
        if !dir.join(JOURNAL_FILE).exists() {
            return Err(ArchiveError::NotARun { path: dir.to_owned(), missing: JOURNAL_FILE });
        }
        Ok(Run { dir: dir.to_owned(), description, inventory: Inventory::take(dir)? })
    }

    /// Who, what, where.
    pub fn description(&self) -> &RunDescription {
        &self.description
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What happened to the run as a whole, in the order it was written.
    pub fn events(&self) -> &[RunEvent] {
        &self.inventory.events
    }

    /// Descriptions of the metrics.
    pub fn descriptors(&self) -> Batches<MetricDescriptor> {
        self.batches::<Descriptors>()
    }

    /// Samples, in the order they were taken.
    pub fn samples(&self) -> Batches<SampleHeader> {
        self.batches::<Samples>()
    }

    /// Changes of metrics. No sample is split over two batches unless the writer flushed in the middle of it, and later
    /// batches hold later samples; within a batch rows are ordered by metric and then by sample, or only by sample.
    pub fn changes(&self) -> Batches<Change> {
        self.batches::<Metrics>()
    }

    /// Operations summed by class and interval.
    pub fn intervals(&self) -> Batches<IntervalRecord> {
        self.batches::<Intervals>()
    }

    /// Operations kept one by one.
    pub fn operations(&self) -> Batches<OperationRecord> {
        self.batches::<Operations>()
    }

    /// Whether the run has the tables that a tracer fills, be they empty.
    pub fn has_trace(&self) -> bool {
        self.inventory.segments.iter().any(|segment| segment.entry.table == Stalls::NAME)
    }

    /// Bytes of what a tracer saw, as they are on disk.
    pub fn trace_bytes(&self) -> u64 {
        let batches = TRACED.iter().filter_map(|table| self.inventory.batches.get(*table)).flatten();
        batches.map(|batch| batch.length).sum()
    }

    /// Time that tasks were seen to lose.
    pub fn stalls(&self) -> Batches<StallRecord> {
        self.batches::<Stalls>()
    }

    /// Kernel stacks that the stalls refer to.
    pub fn stacks(&self) -> Batches<StackRecord> {
        self.batches::<Stacks>()
    }

    /// Block requests, one by one. There may be millions: one batch is in memory at a time.
    pub fn requests(&self) -> Batches<RequestRecord> {
        self.batches::<Requests>()
    }

    /// Block requests summed by device, kind and interval.
    pub fn request_intervals(&self) -> Batches<RequestIntervalRecord> {
        self.batches::<RequestIntervals>()
    }

    /// The threads that stalls and requests name by number.
    pub fn tasks(&self) -> Batches<TaskRecord> {
        self.batches::<Tasks>()
    }

    fn batches<T: Table>(&self) -> Batches<T::Row> {
        Batches::new::<T>(self.inventory.batches.get(T::NAME).cloned().unwrap_or_default())
    }
}

fn read_description(dir: &Path) -> Result<RunDescription, ArchiveError> {
    /// What every version of the description has.
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }

    let path = dir.join(DESCRIPTION_FILE);
    let text = fs::read_to_string(&path).map_err(|source| match source.kind() {
        ErrorKind::NotFound if dir.is_dir() => {
            ArchiveError::NotARun { path: dir.to_owned(), missing: DESCRIPTION_FILE }
        }
        _ => ArchiveError::Io { path: path.clone(), what: "read it", source },
    })?;
    let malformed = |source| ArchiveError::Description { path: path.clone(), source };
    let Version { format } = serde_json::from_str(&text).map_err(malformed)?;
    if format > FORMAT_VERSION {
        return Err(ArchiveError::Newer { path, found: format, supported: FORMAT_VERSION });
    }
    serde_json::from_str(&text).map_err(malformed)
}
