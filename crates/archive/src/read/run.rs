//! A run, open for reading.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use model::damage::Damage;
use model::event::RunEvent;
use model::lost::Lost;
use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::operation::{IntervalRecord, OperationRecord};
use model::run::{FORMAT_VERSION, RunDescription};
use model::stall::{RequestIntervalRecord, RequestRecord, StackRecord, StallRecord, TaskRecord};
use model::time::Moment;
use model::usage::UsageRecord;
use model::user_stack::{UserFrameRecord, UserStackRecord};
use serde::Deserialize;

use super::batch::schema_message;
use super::damage_log::DamageLog;
use super::inventory::Inventory;
use super::lock::is_locked;
use super::rows::Batches;
use crate::directory::{DESCRIPTION_FILE, JOURNAL_FILE};
use crate::error::ArchiveError;
use crate::input::{MAX_DESCRIPTION_BYTES, open, read_whole};
use crate::table::{
    DescriptorTable, IntervalTable, MetricTable, OperationTable, RequestIntervalTable, RequestTable, SampleTable,
    StackTable, StallTable, TRACED, Table, TaskTable, UsageTable, UserFrameTable, UserStackTable,
};

/// A run directory at the moment it was opened. Open a live run again to see newer rows.
#[derive(Debug)]
pub struct Run {
    pub(super) dir: PathBuf,
    pub(super) description: RunDescription,
    pub(crate) inventory: Inventory,
    pub(super) damage: DamageLog,
    /// Whether its writer died before it was opened.
    is_cut_off: bool,
}

impl Run {
    /// Opens a run: finished, cut off, or still being written.
    pub fn open(dir: &Path) -> Result<Run, ArchiveError> {
        let (description, text) = read_description(dir)?;
        if !dir.join(JOURNAL_FILE).exists() {
            return Err(ArchiveError::NoJournal { path: dir.to_owned() });
        }
        // First: a writer that ends meanwhile has closed the run by the time that the journal is read.
        let is_live = is_locked(dir);
        let inventory = Inventory::take(dir, text.as_bytes())?;
        // A run that was joined lacks what its parts lacked.
        let joined = inventory.events.iter().filter_map(|event| match event {
            RunEvent::Damaged { damage } => Some(damage.clone()),
            _ => None,
        });
        let damage = DamageLog::new(inventory.damage.iter().cloned().chain(joined).collect());
        let is_cut_off = !is_live && !inventory.closed;
        Ok(Run { dir: dir.to_owned(), description, inventory, damage, is_cut_off })
    }

    /// Compares all live bytes with their checksums, without decoding them: what [`Run::damage`] then returns is all
    /// that the run lacks, also of tables that the caller does not read.
    pub fn verify(&self) {
        for batch in self.inventory.batches.values().flatten() {
            if let Err(why) = batch.verify() {
                self.damage.add(batch.damage(&why));
            }
        }
        for segment in &self.inventory.segments {
            if let Err(why) = schema_message(segment) {
                self.damage.add(Damage {
                    table: Some(segment.entry.table.clone()),
                    offset: Some(0),
                    ..Damage::of_file(&segment.entry.file, why)
                });
            }
        }
        self.verify_ends();
    }

    /// What is known to be damaged or missing: found when the run was opened, by [`Run::verify`], and by reading. What
    /// a killed writer did not finish is not damage.
    pub fn damage(&self) -> Vec<Damage> {
        self.damage.all()
    }

    /// What the recording lost before it was written. A run that was cut off lacks its end, whatever else was left of
    /// it.
    pub fn lost(&self) -> Vec<Lost> {
        let mut lost = Lost::of(self.events());
        lost.extend(self.is_cut_off.then(|| Lost::end(self.last_flush().monotonic_ns)));
        lost
    }

    /// When rows were written last; the begin where none were.
    pub fn last_flush(&self) -> Moment {
        self.inventory.last_flush.unwrap_or(self.description.started)
    }

    /// The description of the run.
    pub fn description(&self) -> &RunDescription {
        &self.description
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Events of the run as a whole, in the order of writing.
    pub fn events(&self) -> &[RunEvent] {
        &self.inventory.events
    }

    /// Descriptions of the metrics.
    pub fn descriptors(&self) -> Batches<MetricDescriptor> {
        self.batches::<DescriptorTable>()
    }

    /// Samples, in the order they were taken.
    pub fn samples(&self) -> Batches<SampleHeader> {
        self.batches::<SampleTable>()
    }

    /// Changes of metrics. No sample is split over two batches unless the writer flushed in the middle of it, and later
    /// batches hold later samples; within a batch rows are ordered by metric and then by sample, or only by sample.
    pub fn changes(&self) -> Batches<MetricChange> {
        self.batches::<MetricTable>()
    }

    /// Operations summed by class and interval.
    pub fn intervals(&self) -> Batches<IntervalRecord> {
        self.batches::<IntervalTable>()
    }

    /// Operations recorded individually.
    pub fn operations(&self) -> Batches<OperationRecord> {
        self.batches::<OperationTable>()
    }

    /// Whether the run was traced: whether it has the tables of a tracer, empty or not, or lacks them by damage.
    pub fn has_trace(&self) -> bool {
        self.description.trace.is_some()
            || self.inventory.segments.iter().any(|segment| segment.entry.table == StallTable::NAME)
    }

    /// Size of the tracer's tables on disk.
    pub fn trace_bytes(&self) -> u64 {
        let batches = TRACED.iter().filter_map(|table| self.inventory.batches.get(*table)).flatten();
        batches.map(|batch| batch.length).sum()
    }

    /// Time that tasks lost.
    pub fn stalls(&self) -> Batches<StallRecord> {
        self.batches::<StallTable>()
    }

    /// Kernel stacks that the stalls refer to.
    pub fn stacks(&self) -> Batches<StackRecord> {
        self.batches::<StackTable>()
    }

    /// Individual block requests. There may be millions: one batch is in memory at a time.
    pub fn requests(&self) -> Batches<RequestRecord> {
        self.batches::<RequestTable>()
    }

    /// Block requests summed by device, kind and interval.
    pub fn request_intervals(&self) -> Batches<RequestIntervalRecord> {
        self.batches::<RequestIntervalTable>()
    }

    /// The threads that stalls and requests refer to.
    pub fn tasks(&self) -> Batches<TaskRecord> {
        self.batches::<TaskTable>()
    }

    /// Who used what.
    pub fn usage(&self) -> Batches<UsageRecord> {
        self.batches::<UsageTable>()
    }

    /// Where programs were in their own code.
    pub fn user_stacks(&self) -> Batches<UserStackRecord> {
        self.batches::<UserStackTable>()
    }

    /// The places that these refer to. A place whose names were found has a second row.
    pub fn user_frames(&self) -> Batches<UserFrameRecord> {
        self.batches::<UserFrameTable>()
    }

    fn batches<T: Table>(&self) -> Batches<T::Row> {
        let batches = self.inventory.batches.get(T::NAME).cloned().unwrap_or_default();
        Batches::new::<T>(batches, self.damage.clone())
    }
}

/// The description, and its text.
fn read_description(dir: &Path) -> Result<(RunDescription, String), ArchiveError> {
    /// The part of the description that every version has.
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }

    let path = dir.join(DESCRIPTION_FILE);
    let read = || {
        let bytes = read_whole(&open(dir, DESCRIPTION_FILE)?.file, MAX_DESCRIPTION_BYTES)?;
        String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    };
    let text = read().map_err(|source| match source.kind() {
        ErrorKind::NotFound if dir.is_dir() => {
            ArchiveError::NotARun { path: dir.to_owned(), missing: DESCRIPTION_FILE }
        }
        _ => ArchiveError::Io { path: path.clone(), what: "read", source },
    })?;
    let malformed = |source| ArchiveError::Description { path: path.clone(), source };
    let Version { format } = serde_json::from_str(&text).map_err(malformed)?;
    if format > FORMAT_VERSION {
        return Err(ArchiveError::Newer { path, found: format, supported: FORMAT_VERSION });
    }
    let description = serde_json::from_str(&text).map_err(malformed)?;
    Ok((description, text))
}
