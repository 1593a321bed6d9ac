//! Downsampling of long series that keeps their extremes.

use serde_json::{Value, json};

use crate::number::{column, deltas};

/// Maximum points of a line: more than a screen has columns, and an hour at 1 s unmerged.
pub(crate) const MOST_POINTS: usize = 4_000;

/// How points of one step are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    /// Their mean, beside the smallest and the largest.
    Mean,
    /// The largest.
    Largest,
}

/// The times of a series' points.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChartAxis {
    /// Since the run's start, ascending.
    pub(crate) at_ns: Vec<u64>,
}

impl ChartAxis {
    /// Points per step.
    fn group(&self) -> usize {
        self.at_ns.len().div_ceil(MOST_POINTS).max(1)
    }

    /// The last moment of each step, ms.
    pub(crate) fn to_value(&self) -> Value {
        let last = |group: &[u64]| group.last().map_or(0, |ns| ns / 1_000_000);
        json!({ "t": deltas(self.at_ns.chunks(self.group()).map(last)), "points": self.group() })
    }

    /// A series of this axis: one value for each of its points.
    pub(crate) fn line(&self, name: &str, values: &[Option<f64>], join: Join) -> Value {
        let group = self.group();
        if group == 1 {
            return json!({ "name": name, "v": column(values) });
        }
        let fold = |pick: &dyn Fn(&[f64]) -> f64| -> Vec<Option<f64>> {
            let one = |values: &[Option<f64>]| {
                let there: Vec<f64> = values.iter().copied().flatten().collect();
                (!there.is_empty()).then(|| pick(&there))
            };
            values.chunks(group).map(one).collect()
        };
        let largest = fold(&|values| values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        if join == Join::Largest {
            return json!({ "name": name, "v": column(&largest) });
        }
        let smallest = fold(&|values| values.iter().copied().fold(f64::INFINITY, f64::min));
        let mean = fold(&|values| values.iter().sum::<f64>() / values.len() as f64);
        json!({ "name": name, "v": column(&mean), "lo": column(&smallest), "hi": column(&largest) })
    }
}
