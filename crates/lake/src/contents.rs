//! The rows of one run, by directory of the lake.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::partition::Partition;
use crate::table::{RunKey, Table};
use crate::tables::counters::CounterRow;
use crate::tables::intervals::IntervalMinutes;
use crate::tables::runs::RunRow;
use crate::tables::stalls::StallRow;
use crate::time::date_of;

/// What a lake gets of a run.
#[derive(Debug, Clone)]
pub struct Contents {
    /// Facts that its rows repeat.
    pub(crate) key: RunKey,
    /// Its row in `runs`.
    pub(crate) run: (Partition, RecordBatch),
    /// Its rows in the other tables.
    pub(crate) rows: Vec<(Partition, RecordBatch)>,
}

impl Contents {
    /// The contents of a run.
    pub fn new(
        key: RunKey,
        run: RunRow,
        stalls: Vec<StallRow>,
        intervals: IntervalMinutes,
        counters: Vec<CounterRow>,
    ) -> Result<Contents, ArrowError> {
        let mut rows = by_day(&key, stalls)?;
        rows.extend(by_day(&key, intervals.into_rows())?);
        rows.extend(by_day(&key, counters)?);
        let partition = Partition { table: RunRow::NAME, date: date_of(run.wall_ns()), host: key.host.clone() };
        let run = (partition, RunRow::batch_of(&key, &[run])?);
        Ok(Contents { key, run, rows })
    }

    /// Rows of all tables.
    pub fn rows(&self) -> usize {
        self.rows.iter().map(|(_, batch)| batch.num_rows()).sum::<usize>() + self.run.1.num_rows()
    }
}

fn by_day<Row: Table>(key: &RunKey, rows: Vec<Row>) -> Result<Vec<(Partition, RecordBatch)>, ArrowError> {
    let mut days: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    rows.into_iter().for_each(|row| days.entry(date_of(row.wall_ns())).or_default().push(row));
    let batch = |(date, rows): (String, Vec<Row>)| {
        Ok((Partition { table: Row::NAME, date, host: key.host.clone() }, Row::batch_of(key, &rows)?))
    };
    days.into_iter().map(batch).collect()
}
