//! The run directory of a trial → its figures and what it found.

use std::path::Path;

use archive::Run;
use model::trial::TrialPlan;
use trial::{FigureTable, Measurements, Outcome, wanted_metric};

use crate::reading::archived_run;
use crate::reading::explanation::explanation;
use crate::reading::integrity::Integrity;
use crate::reading::summary;
use crate::ui::failure::Failure;

/// A trial, as read back from disk: what cannot be read back is not shown.
pub(super) struct Evaluation {
    pub(super) plan: TrialPlan,
    pub(super) table: FigureTable,
    pub(super) outcome: Outcome,
    pub(super) integrity: Integrity,
}

pub(super) fn evaluate(directory: &Path, margin: f64, warn: impl Fn(&str)) -> Result<Evaluation, Failure> {
    let run = archived_run::open(directory)?;
    let mut measurements = Measurements::default();
    run.events().iter().for_each(|event| measurements.event(event));
    let stalls = run.stalls().filter_map(|batch| batch.map_err(|error| warn(&error.to_string())).ok());
    stalls.for_each(|rows| measurements.stalls(&rows));
    let series = summary::summary_and_series(&run, wanted_metric, |_| {}, &warn).1;
    let plan = measurements.plan().clone();
    let table = measurements.finish(&series, Run::has_trace(&run));
    let unfinished_ns = match Run::has_trace(&run) {
        true => explanation(&run, None, 0, &warn).unfinished.longest_ns,
        false => 0,
    };
    let outcome = Outcome::of(&table, margin).with_unfinished(&table, unfinished_ns);
    Ok(Evaluation { plan, table, outcome, integrity: Integrity::of(&run) })
}
