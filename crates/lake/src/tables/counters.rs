//! `counters`: a few counters and gauges, with the least, the mean and the largest value of each minute.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::columns::Columns;
use crate::table::Table;
use crate::time::MINUTE_NS;

/// One counter within a minute.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterRow {
    /// Begin of the minute.
    pub wall_ns: i64,
    /// The metric's name.
    pub name: String,
    /// Kernel name of the disk; empty for a metric of the machine.
    pub instance: String,
    /// Unit of the values; of a counter, per second.
    pub unit: String,
    /// Least value of a sample.
    pub min: f64,
    /// Mean of the samples.
    pub mean: f64,
    /// Largest value of a sample.
    pub max: f64,
    /// Samples.
    pub samples: u64,
}

/// The values of one metric by minute.
#[derive(Debug, Default)]
pub struct CounterMinutes {
    minutes: BTreeMap<i64, (f64, f64, f64, u64)>,
}

impl CounterMinutes {
    /// Adds the value of a sample.
    pub fn add(&mut self, wall_ns: i64, value: f64) {
        let minute = self.minutes.entry(wall_ns.div_euclid(MINUTE_NS)).or_insert((value, 0.0, value, 0));
        *minute = (minute.0.min(value), minute.1 + value, minute.2.max(value), minute.3 + 1);
    }

    /// A row for each minute with a sample.
    pub fn rows(&self, name: &str, instance: &str, unit: &str) -> impl Iterator<Item = CounterRow> {
        let row = |(&minute, &(min, sum, max, samples)): (&i64, &(f64, f64, f64, u64))| CounterRow {
            wall_ns: minute * MINUTE_NS,
            name: name.to_owned(),
            instance: instance.to_owned(),
            unit: unit.to_owned(),
            min,
            mean: sum / samples as f64,
            max,
            samples,
        };
        self.minutes.iter().map(row).collect::<Vec<_>>().into_iter()
    }
}

impl Table for CounterRow {
    const NAME: &'static str = "counters";

    fn wall_ns(&self) -> i64 {
        self.wall_ns
    }

    fn batch(_: &[CounterRow], begun: Columns<'_, CounterRow>) -> Result<RecordBatch, ArrowError> {
        begun
            .text("name", |row| Some(&row.name))
            .text("instance", |row| Some(&row.instance))
            .text("unit", |row| Some(&row.unit))
            .real("min", "the row's", |row| row.min)
            .real("mean", "the row's", |row| row.mean)
            .real("max", "the row's", |row| row.max)
            .number("samples", "count", |row| Some(row.samples))
            .batch()
    }
}

#[cfg(test)]
mod tests {
    use super::CounterMinutes;
    use crate::time::MINUTE_NS;

    #[test]
    fn each_minute_has_its_least_mean_and_largest_value() {
        let mut minutes = CounterMinutes::default();
        for (wall_ns, value) in [(0, 4.0), (MINUTE_NS - 1, 2.0), (MINUTE_NS, -1.0)] {
            minutes.add(wall_ns, value);
        }
        let rows: Vec<_> =
            minutes.rows("a", "", "count").map(|row| (row.min, row.mean, row.max, row.samples)).collect();
        assert_eq!(rows, [(2.0, 3.0, 4.0, 2), (-1.0, -1.0, -1.0, 1)]);
    }
}
