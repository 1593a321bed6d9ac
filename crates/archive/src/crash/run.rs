//! A small run that does all that a writer does: begins, flushes, consolidates, writes a burst directly, notes events,
//! closes.

use std::path::Path;

use model::event::RunEvent;
use model::metric::{MetricChange, MetricId, SampleHeader};
use model::operation::{OperationKind, OperationRecord};
use model::run::RunDescription;
use model::time::Moment;

use super::reading::Promise;
use crate::disk::record;
use crate::options::{FlushState, WriterOptions};
use crate::writer::Writer;

/// Tables with rows: these.
pub(super) const TABLES: usize = NAMES.len();
const NAMES: [&str; 3] = ["samples", "metrics", "operations"];
const OPERATIONS: usize = 2;
/// The flush with a burst of operations, and their number.
const BURST: (u32, u32) = (3, 40);

/// Rows of a table that a flush writes.
pub(super) fn rows_of(table: usize, step: u32) -> u32 {
    if table == OPERATIONS && step == BURST.0 { BURST.1 } else { 1 }
}

fn moment(step: u32) -> Moment {
    Moment { monotonic_ns: u64::from(step + 1) * 1_000_000_000, wall_ns: 1_700_000_000_000_000_000 }
}

fn operation(step: u32, number: u32) -> OperationRecord {
    OperationRecord {
        kind: OperationKind::Slow,
        class: "read".into(),
        tid: step,
        start_ns: number.into(),
        duration_ns: 40_000_000,
        bytes: Some(65536),
        errno: None,
        path: None,
        offset_bytes: None,
        fault: None,
    }
}

/// Writes the run, and records each promise before what follows it.
pub(super) fn write(dir: &Path, flushes: u32) -> Vec<Promise> {
    let mut promises = Vec::new();
    let mut promise = |given: &Promise| {
        record::promise(promises.len());
        promises.push(given.clone());
    };
    let mut given = Promise::default();
    promise(&given);
    let options = WriterOptions {
        reserve_bytes: 64 << 10,
        consolidate_after_flushes: 2,
        direct_after_bytes: 2000,
        ..WriterOptions::default()
    };
    let Ok(mut writer) = Writer::create(dir, &RunDescription::new("crash", moment(0)), options) else {
        return promises;
    };
    given.has_begun = true;
    promise(&given);
    for step in 0..flushes {
        add(&mut writer, step);
        let state = writer.flush(moment(step));
        given.flushed(step, &state);
        promise(&given);
    }
    if writer.close(moment(flushes)).is_ok() {
        given.is_closed = true;
        promise(&given);
    }
    promises
}

fn add(writer: &mut Writer, step: u32) {
    let header = SampleHeader { sample: step, at: moment(step), late_ns: 0, cpu_ns: 1, took_ns: 1 };
    writer.sample(header, &[MetricChange { sample: step, metric: MetricId(0), value: Some(step.into()) }]);
    writer.operations((0..rows_of(OPERATIONS, step)).map(|number| operation(step, number)));
    writer.event(RunEvent::Note { at_ns: moment(step).monotonic_ns, text: step.to_string() });
}

impl Promise {
    fn flushed(&mut self, step: u32, state: &FlushState) {
        let is_dropped = |table: &str| match state {
            FlushState::Whole => false,
            FlushState::Degraded { dropped, .. } => dropped.contains(&table),
            FlushState::Full { .. } => true,
        };
        for (flushes, table) in self.flushes.iter_mut().zip(NAMES) {
            *flushes = if is_dropped(table) { *flushes } else { step + 1 };
        }
        self.events = if *state == FlushState::Whole { step + 1 } else { self.events };
    }
}
