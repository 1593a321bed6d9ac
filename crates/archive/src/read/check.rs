//! Checks a run: reads and decodes every live byte.

use std::collections::BTreeMap;

use model::damage::Damage;
use model::event::RunEvent;
use serde::Serialize;

use super::lock::is_locked;
use super::run::Run;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Everything that was flushed reads back, and nothing is there that its writer cannot have left.
    pub whole: bool,
    /// The state of the run.
    pub state: RunState,
    /// Files that hold rows.
    pub segments: u64,
    /// Rows that read back, by table.
    pub rows: BTreeMap<String, u64>,
    /// Bytes that were being written when the writer died. No flush that returned is among them. In a closed run: bytes
    /// that no writer left.
    pub torn_bytes: u64,
    /// Flushed data that cannot be read, one sentence each.
    pub lost: Vec<String>,
    /// The same, as data.
    #[serde(skip)]
    pub damage: Vec<Damage>,
    /// Data that the writer dropped, one sentence each.
    pub left_out: Vec<String>,
    /// Moment of the last whole flush on the monotonic clock; `None` before the first.
    pub last_flush_ns: Option<u64>,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It is being written.
    Live,
    /// The writer closed it.
    Closed,
    /// The writer died.
    CutOff,
}

impl Run {
    /// The current state of the run: a run that was live when opened may have ended since.
    pub fn state(&self) -> RunState {
        match self.inventory.closed {
            true => RunState::Closed,
            false if is_locked(&self.dir) => RunState::Live,
            false => RunState::CutOff,
        }
    }

    /// Reads everything and reports what is whole and what is missing.
    pub fn check(&self) -> CheckReport {
        let state = self.state();
        let mut rows = BTreeMap::new();
        for segment in &self.inventory.segments {
            rows.insert(segment.entry.table.clone(), 0);
        }
        for batch in self.inventory.batches.values().flatten() {
            match batch.read() {
                Ok(columns) => *rows.entry(batch.schema.entry.table.clone()).or_default() += columns.num_rows() as u64,
                Err(why) => self.damage.add(batch.damage(&why)),
            }
        }
        self.verify_ends();
        let damage = self.damage();
        // What a live writer is appending is not torn.
        let torn_bytes =
            if state == RunState::Live { 0 } else { self.inventory.torn_bytes + self.torn_segment_bytes() };
        CheckReport {
            // A killed writer leaves unfinished bytes; one that closed the run leaves none.
            whole: damage.is_empty() && (torn_bytes == 0 || state == RunState::CutOff),
            state,
            segments: (self.inventory.segments.len() + self.inventory.recent_files) as u64,
            rows,
            torn_bytes,
            lost: damage.iter().map(ToString::to_string).collect(),
            damage,
            left_out: self.inventory.events.iter().filter_map(left_out).collect(),
            last_flush_ns: self.inventory.last_flush.map(|at| at.monotonic_ns),
        }
    }
}

fn left_out(event: &RunEvent) -> Option<String> {
    match event {
        RunEvent::TableDropped { table, why, .. } => Some(format!("{table}: no longer written: {why}")),
        RunEvent::Loss { what, count, .. } => Some(format!("{what}: {count}")),
        _ => None,
    }
}
