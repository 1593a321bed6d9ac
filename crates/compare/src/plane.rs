//! One metric over two settings, as a plane.

use std::collections::BTreeSet;

use super::figures::Group;

/// A metric over two settings, for each combination of the other settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Plane {
    /// Its name.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The setting on the x axis.
    pub x: String,
    /// The setting on the y axis.
    pub y: String,
    /// Values of x, in order.
    pub x_values: Vec<String>,
    /// Values of y, in order.
    pub y_values: Vec<String>,
    /// The planes.
    pub panels: Vec<Panel>,
    /// All runs are simulated.
    pub simulated: bool,
}

/// The plane of one combination of the other settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Their values; empty where nothing else was varied.
    pub name: String,
    /// By `y_values`, then by `x_values`; `None` for a missing configuration, or one without the metric.
    pub cells: Vec<Vec<Option<Point>>>,
}

/// The runs of one configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Runs with the metric.
    pub runs: usize,
    /// Mean.
    pub mean: f64,
    /// Minimum.
    pub least: f64,
    /// Maximum.
    pub most: f64,
}

/// The plane of a metric; an error lists the available settings or metrics.
pub fn plane(groups: &[&Group], metric: &str, x: &str, y: &str) -> Result<Plane, String> {
    let settings: BTreeSet<&str> = groups.iter().flat_map(|group| group.settings.keys().map(String::as_str)).collect();
    for setting in [x, y] {
        if !settings.contains(setting) {
            let available = settings.iter().copied().collect::<Vec<_>>().join(", ");
            return Err(format!("no setting '{setting}' was varied; available: {available}"));
        }
    }
    let figures = || groups.iter().flat_map(|group| &group.runs).flat_map(|run| &run.metrics);
    let Some(known) = figures().find(|figure| figure.name == metric) else {
        let available: BTreeSet<&str> = figures().map(|figure| figure.name.as_str()).collect();
        let available = available.into_iter().collect::<Vec<_>>().join(", ");
        return Err(format!("no run has the metric '{metric}'; available: {available}"));
    };
    let value = |group: &Group, setting: &str| group.settings.get(setting).cloned().unwrap_or_default();
    let others: Vec<&str> = settings
        .into_iter()
        .filter(|setting| *setting != x && *setting != y)
        .filter(|setting| groups.iter().map(|group| value(group, setting)).collect::<BTreeSet<_>>().len() > 1)
        .collect();
    let panel_of = |group: &Group| others.iter().map(|other| value(group, other)).collect::<Vec<_>>().join(" ");
    let (x_values, y_values) = (in_order(groups, |group| value(group, x)), in_order(groups, |group| value(group, y)));
    let point = |panel: &str, at_x: &str, at_y: &str| {
        let fits = |group: &&&Group| panel_of(group) == panel && value(group, x) == at_x && value(group, y) == at_y;
        let runs = groups.iter().filter(fits).flat_map(|group| &group.runs);
        of(runs.filter_map(|run| run.metrics.iter().find(|figure| figure.name == metric)?.amount.value()).collect())
    };
    let panel = |name: String| Panel {
        cells: y_values.iter().map(|y| x_values.iter().map(|x| point(&name, x, y)).collect()).collect(),
        name,
    };
    let panels = in_order(groups, panel_of).into_iter().map(panel).collect();
    let simulated = groups.iter().flat_map(|group| &group.runs).all(|run| run.simulated.is_some());
    let (metric, unit) = (metric.to_owned(), known.unit.clone());
    Ok(Plane { metric, unit, x: x.to_owned(), y: y.to_owned(), x_values, y_values, panels, simulated })
}

fn of(values: Vec<f64>) -> Option<Point> {
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    Some(Point { runs: values.len(), mean: values.iter().sum::<f64>() / values.len() as f64, least, most })
}

/// Numbers by size, sizes and durations as what they mean; other values in the order of their groups.
fn in_order(groups: &[&Group], value_of: impl Fn(&Group) -> String) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for value in groups.iter().map(|group| value_of(group)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let known: Option<Vec<f64>> = values.iter().map(|value| number(value)).collect();
    if let Some(known) = known {
        let mut both: Vec<(f64, String)> = known.into_iter().zip(values).collect();
        both.sort_by(|one, other| one.0.total_cmp(&other.0));
        return both.into_iter().map(|(_, value)| value).collect();
    }
    values
}

fn number(text: &str) -> Option<f64> {
    let size = || model::quantity::parse_size(text).ok().map(|bytes| bytes as f64);
    let duration = || model::quantity::parse_duration(text).ok().map(|ns| ns as f64);
    text.parse().ok().or_else(size).or_else(duration)
}

#[cfg(test)]
mod tests {
    use super::plane;
    use crate::{Amount, Better, Figure, Group, RunFigures};

    fn group(policy: &str, writers: &str, size: &str, values: &[f64]) -> Group {
        let figure = |&value| Figure {
            name: "rate".into(),
            unit: "/s".into(),
            better: Better::Higher,
            amount: Amount::Level(value),
        };
        let run = |value| RunFigures { metrics: vec![figure(value)], ..RunFigures::default() };
        let settings = [("policy", policy), ("writers", writers), ("size", size), ("same", "1")];
        let settings = settings.map(|(what, value)| (what.into(), value.into())).into();
        Group { settings, runs: values.iter().map(run).collect(), ..Group::default() }
    }

    #[test]
    fn a_plane_for_each_policy_with_its_axes_in_order() {
        let groups = [
            group("old", "16", "512k", &[1.0, 3.0]),
            group("old", "2", "4m", &[5.0]),
            group("new", "2", "64k", &[7.0]),
            group("new", "16", "4m", &[]),
        ];
        let groups: Vec<&Group> = groups.iter().collect();
        let found = plane(&groups, "rate", "writers", "size").unwrap();
        assert_eq!((found.x_values.join(" "), found.y_values.join(" ")), ("2 16".into(), "64k 512k 4m".into()));
        assert_eq!(found.panels.iter().map(|panel| panel.name.as_str()).collect::<Vec<_>>(), ["old", "new"]);
        let point = found.panels[0].cells[1][1].unwrap();
        assert_eq!((point.runs, point.mean, point.least, point.most), (2, 2.0, 1.0, 3.0));
        assert_eq!(found.panels[1].cells[2][1], None);
        assert!(plane(&groups, "rate", "writers", "seize").unwrap_err().contains("size"));
        assert!(plane(&groups, "ratio", "writers", "size").unwrap_err().contains("available: rate"));
    }
}
