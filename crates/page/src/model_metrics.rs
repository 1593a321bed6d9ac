//! Metrics that a model defines itself: the page does not know them beforehand and draws each gauge and counter.

use std::collections::BTreeMap;

use explain::series::Series;
use model::metric::{Semantics, Unit as MetricUnit};
use serde_json::Value;

use crate::chart::{ChartUnit, lines};
use crate::counters::SampledCounters;

/// Lines of one chart have similar values: the ratio of the largest to the smallest is at most this.
const SPREAD: f64 = 30.0;
/// Maximum lines of a chart.
const LINES: usize = 6;

struct Line<'a> {
    series: &'a Series,
    values: Vec<Option<f64>>,
    largest: f64,
}

impl SampledCounters<'_> {
    /// The charts of a simulated run's metrics: one chart for metrics of one source and unit with similar values.
    pub(crate) fn of_model(&self) -> Vec<Value> {
        let mut kinds: BTreeMap<(&str, &str, &str), Vec<Line<'_>>> = BTreeMap::new();
        for series in self.series.prefixed("") {
            let about = &series.descriptor;
            let source = about.name.split_once('.').map_or(about.name.as_str(), |(source, _)| source);
            let factor = if about.unit == MetricUnit::Kibibytes { 1024.0 } else { 1.0 };
            let values = match about.semantics {
                Semantics::Counter => self.rate(&[series], factor),
                Semantics::Gauge => self.level(series, factor),
            };
            let Some(largest) = values.iter().copied().flatten().reduce(f64::max) else { continue };
            let kind = (source, about.unit.name(), about.semantics.name());
            kinds.entry(kind).or_default().push(Line { series, values, largest });
        }
        kinds.into_values().flat_map(|kind| self.of_one_kind(kind)).collect()
    }

    fn of_one_kind(&self, mut left: Vec<Line<'_>>) -> Vec<Value> {
        left.sort_by(|a, b| b.largest.total_cmp(&a.largest).then_with(|| name(a.series).cmp(&name(b.series))));
        let mut charts = Vec::new();
        while let Some(first) = left.first() {
            let least = first.largest / SPREAD;
            let together = left.iter().take(LINES).take_while(|line| line.largest >= least).count();
            let rest = left.split_off(together);
            charts.push(self.chart_of(&std::mem::replace(&mut left, rest)));
        }
        charts
    }

    fn chart_of(&self, together: &[Line<'_>]) -> Value {
        let first = &together[0].series.descriptor;
        let per_s = if first.semantics == Semantics::Counter { "/s" } else { "" };
        let names: Vec<String> = together.iter().map(|line| name(line.series)).collect();
        let title = format!("Model metrics: {} ({}{per_s})", names.join(", "), first.unit.name());
        let series = together.iter().zip(&names).filter_map(|(line, name)| self.line(name, &line.values));
        let id = format!("own.{}", names[0]);
        let why = "Absent from every sample.";
        lines(&id, &title, unit(first.unit, first.semantics), "samples", series.collect(), why)
    }
}

fn name(series: &Series) -> String {
    let about = &series.descriptor;
    let field = about.name.split_once('.').map_or(about.name.as_str(), |(_, field)| field);
    if about.instance.is_empty() { field.to_owned() } else { format!("{field} {}", about.instance) }
}

fn unit(unit: MetricUnit, semantics: Semantics) -> ChartUnit {
    match (unit, semantics) {
        (MetricUnit::Bytes | MetricUnit::Kibibytes, Semantics::Gauge) => ChartUnit::Bytes,
        (MetricUnit::Bytes | MetricUnit::Kibibytes, Semantics::Counter) => ChartUnit::BytesPerS,
        (MetricUnit::Nanoseconds, Semantics::Gauge) => ChartUnit::Ns,
        (_, Semantics::Counter) => ChartUnit::PerS,
        (_, Semantics::Gauge) => ChartUnit::Count,
    }
}
