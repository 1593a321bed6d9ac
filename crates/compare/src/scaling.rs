//! One metric over the settings of many configurations: its scaling.

use std::collections::BTreeSet;

use super::figures::Group;

/// A metric by two settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Its name.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The setting of the rows; `configuration` where there is none.
    pub rows: String,
    /// The settings of the columns; empty for a single column.
    pub columns: String,
    /// Values of the row setting, in order.
    pub row_values: Vec<String>,
    /// Values of the column settings, in order.
    pub column_values: Vec<String>,
    /// Cells, row by row; `None` for a missing configuration, or one without the metric.
    pub cells: Vec<Vec<Option<Cell>>>,
}

/// The runs of one configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Runs with the metric.
    pub runs: usize,
    /// Median.
    pub median: f64,
    /// Interval of the median; `None` with fewer than six runs.
    pub interval: Option<(f64, f64)>,
}

/// The table of a metric; `None` where no run has it. The setting with the most values makes the rows.
pub fn scaling(groups: &[&Group], metric: &str) -> Option<Scaling> {
    let unit = groups.iter().flat_map(|group| &group.runs).flat_map(|run| &run.metrics);
    let unit = unit.clone().find(|figure| figure.name == metric)?.unit.clone();
    let varied = varied(groups);
    let rows =
        varied.iter().copied().max_by_key(|setting| (values(groups, setting).len(), is_numeric(groups, setting)));
    let columns: Vec<&str> = varied.iter().copied().filter(|setting| Some(*setting) != rows).collect();
    let row_of = |group: &Group| match rows {
        Some(setting) => group.settings.get(setting).cloned().unwrap_or_default(),
        None => group.name.clone(),
    };
    let column_of = |group: &Group| {
        let value = |setting: &&str| group.settings.get(*setting).cloned().unwrap_or_default();
        columns.iter().map(value).collect::<Vec<_>>().join(" ")
    };
    let (row_values, column_values) = (in_order(groups, row_of), in_order(groups, column_of));
    let cell = |row: &String, column: &String| {
        let fits = |group: &&&Group| row_of(group) == *row && column_of(group) == *column;
        let runs = groups.iter().filter(fits).flat_map(|group| &group.runs);
        let of_run = runs.filter_map(|run| run.metrics.iter().find(|figure| figure.name == metric)?.amount.value());
        of(of_run.collect())
    };
    let row = |row: &String| column_values.iter().map(|column| cell(row, column)).collect();
    Some(Scaling {
        metric: metric.to_owned(),
        unit,
        rows: rows.unwrap_or("configuration").to_owned(),
        columns: columns.join(" "),
        cells: row_values.iter().map(row).collect(),
        row_values,
        column_values,
    })
}

/// Settings with more than one value.
fn varied<'a>(groups: &[&'a Group]) -> Vec<&'a str> {
    let all: BTreeSet<&str> = groups.iter().flat_map(|group| group.settings.keys().map(String::as_str)).collect();
    all.into_iter().filter(|setting| values(groups, setting).len() > 1).collect()
}

fn values<'a>(groups: &[&'a Group], setting: &str) -> BTreeSet<Option<&'a str>> {
    groups.iter().map(|group| group.settings.get(setting).map(String::as_str)).collect()
}

fn is_numeric(groups: &[&Group], setting: &str) -> bool {
    values(groups, setting).iter().all(|value| value.is_some_and(|value| value.parse::<f64>().is_ok()))
}

/// Numbers by size; other values in the order of their groups.
fn in_order(groups: &[&Group], value_of: impl Fn(&Group) -> String) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for value in groups.iter().map(|group| value_of(group)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    if values.iter().all(|value| value.parse::<f64>().is_ok()) {
        let number = |value: &String| value.parse::<f64>().unwrap_or(0.0);
        values.sort_by(|x, y| number(x).total_cmp(&number(y)));
    }
    values
}

fn of(mut values: Vec<f64>) -> Option<Cell> {
    values.sort_by(f64::total_cmp);
    let runs = values.len();
    let median = 0.5 * (values.get(runs.checked_sub(1)? / 2)? + values.get(runs / 2)?);
    let interval = rank(runs).map(|below| (values[below], values[runs - 1 - below]));
    Some(Cell { runs, median, interval })
}

/// Number of smallest and of largest values outside the interval: the sign test's 95 % interval of the median, from the
/// binomial distribution. It assumes nothing about the distribution of the values.
fn rank(runs: usize) -> Option<usize> {
    let mut probability = 0.5_f64.powi(i32::try_from(runs).ok()?);
    let (mut sum, mut below) = (0.0, None);
    for heads in 0..runs {
        sum += probability;
        if sum > 0.025 {
            break;
        }
        below = Some(heads);
        probability *= (runs - heads) as f64 / (heads + 1) as f64;
    }
    below
}

#[cfg(test)]
mod tests {
    use super::{rank, scaling};
    use crate::{Amount, Better, Figure, Group, RunFigures};

    /// The ranks of the usual tables: of 6 runs the interval is from the smallest to the largest, of 10 from the second
    /// to the ninth, of 20 from the sixth to the fifteenth.
    #[test]
    fn the_interval_of_a_median() {
        assert_eq!([5, 6, 8, 9, 10, 20].map(rank), [None, Some(0), Some(0), Some(1), Some(1), Some(5)]);
        assert_eq!([0, 1].map(rank), [None, None]);
    }

    fn group(fs: &str, threads: &str, values: &[f64]) -> Group {
        let figure = |&value| Figure {
            name: "files_per_s".into(),
            unit: "/s".into(),
            better: Better::Higher,
            amount: Amount::Level(value),
        };
        let run = |value| RunFigures { metrics: vec![figure(value)], ..RunFigures::default() };
        let settings =
            [("fs", fs), ("threads", threads), ("same", "1")].map(|(what, value)| (what.into(), value.into()));
        Group {
            name: format!("{fs} {threads}"),
            settings: settings.into(),
            runs: values.iter().map(run).collect(),
            ..Group::default()
        }
    }

    #[test]
    fn threads_by_file_systems() {
        let rates = [20.0, 21.0, 19.0, 20.0, 20.5, 19.5];
        let groups = [
            group("xfs", "8", &[79.0]),
            group("xfs", "1", &rates),
            group("ext4", "1", &[39.0]),
            group("xfs", "2", &[35.0]),
            group("ext4", "8", &[]),
        ];
        let table = scaling(&groups.iter().collect::<Vec<_>>(), "files_per_s").unwrap();
        assert_eq!((table.rows.as_str(), table.columns.as_str()), ("threads", "fs"));
        assert_eq!((table.row_values.join(" "), table.column_values.join(" ")), ("1 2 8".into(), "xfs ext4".into()));
        let first = table.cells[0][0].as_ref().unwrap();
        assert_eq!((first.runs, first.median, first.interval), (6, 20.0, Some((19.0, 21.0))));
        assert_eq!(table.cells[0][1].as_ref().map(|cell| (cell.median, cell.interval)), Some((39.0, None)));
        assert_eq!((&table.cells[1][1], &table.cells[2][1]), (&None, &None));
        assert_eq!(scaling(&groups.iter().collect::<Vec<_>>(), "nosuch"), None);
    }
}
