//! OpenMetrics: the samplers' metrics as text with timestamps, as Prometheus' `promtool tsdb create-blocks-from
//! openmetrics` reads it.
//!
//! The format requires all values of a family together, while a run has them by time. Families are written in groups
//! whose values fit into memory; each group takes one pass over the run.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::run::RunDescription;
use model::simulation::Origin;

/// Maximum changes in memory at once: 64 MiB.
pub const CHANGES_HELD: u64 = 4 << 20;

/// An unchanged value is repeated at this interval: Prometheus drops a series after five minutes.
const REPEAT_NS: u64 = 60_000_000_000;

/// Metrics of one name, type and unit, which differ by their instance.
#[derive(Debug)]
pub struct Family {
    name: String,
    unit: Option<&'static str>,
    semantics: Semantics,
    metrics: Vec<MetricDescriptor>,
}

impl Family {
    /// The metrics in it.
    pub fn metrics(&self) -> impl Iterator<Item = MetricId> {
        self.metrics.iter().map(|metric| metric.id)
    }
}

/// Sorts metrics into families, and families into groups that hold at most [`CHANGES_HELD`] changes, or one family.
/// `changes` is the number of changes of each metric.
pub fn groups(metrics: Vec<MetricDescriptor>, changes: &HashMap<MetricId, u64>) -> Vec<Vec<Family>> {
    let mut groups: Vec<Vec<Family>> = Vec::new();
    let mut held = 0;
    let mut last_name = String::new();
    for mut family in families(metrics).into_values() {
        if family.name == last_name {
            // A counter and a gauge of one name.
            family.name = format!("{}_{}", family.name, family.semantics.name());
            family.unit = None;
        }
        last_name.clone_from(&family.name);
        let more: u64 = family.metrics().map(|metric| changes.get(&metric).copied().unwrap_or(0)).sum();
        match groups.last_mut() {
            Some(group) if held + more <= CHANGES_HELD => group.push(family),
            _ => {
                groups.push(vec![family]);
                held = 0;
            }
        }
        held += more;
    }
    groups
}

/// Metrics by name and type.
fn families(metrics: Vec<MetricDescriptor>) -> BTreeMap<(String, &'static str), Family> {
    let mut families = BTreeMap::<(String, &str), Family>::new();
    for metric in metrics {
        let unit = (metric.unit != Unit::Count).then(|| metric.unit.name());
        let name = family_name(&metric.name, unit);
        let family = families.entry((name.clone(), metric.semantics.name())).or_insert_with(|| Family {
            name,
            unit,
            semantics: metric.semantics,
            metrics: Vec::new(),
        });
        family.metrics.push(metric);
    }
    families
}

fn family_name(metric: &str, unit: Option<&str>) -> String {
    let mut name = format!("stallscope_{metric}");
    name = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if let Some(unit) = unit.filter(|unit| !name.ends_with(&format!("_{unit}"))) {
        name = format!("{name}_{unit}");
    }
    // The suffix of a counter's values must not end a family's name.
    name.strip_suffix("_total").unwrap_or(&name).to_owned()
}

/// A text being written.
pub struct OpenMetrics<W: Write> {
    sink: W,
    /// The wall clock at the monotonic clock's 0, from the start of the run: later steps of the wall clock are ignored.
    zero_wall_ns: i128,
    /// Number and moment of each sample, in order.
    samples: Vec<(u32, u64)>,
    /// The model that made a simulated run; each family names it.
    made_by: Option<Origin>,
}

impl<W: Write> OpenMetrics<W> {
    /// Begins a text of a run with these samples.
    pub fn new(sink: W, description: &RunDescription, samples: &[SampleHeader]) -> OpenMetrics<W> {
        let started = description.started;
        let mut samples: Vec<_> = samples.iter().map(|header| (header.sample, header.at.monotonic_ns)).collect();
        samples.sort_unstable();
        let zero_wall_ns = i128::from(started.wall_ns) - i128::from(started.monotonic_ns);
        OpenMetrics { sink, zero_wall_ns, samples, made_by: description.origin() }
    }

    /// Adds a group of families with all their changes.
    pub fn group(&mut self, group: &[Family], changes: &[MetricChange]) -> io::Result<u64> {
        let mut of_metric = HashMap::<MetricId, Vec<MetricChange>>::new();
        changes.iter().for_each(|change| of_metric.entry(change.metric).or_default().push(*change));
        let mut values = 0;
        for family in group {
            let (name, kind) = (&family.name, family.semantics.name());
            writeln!(self.sink, "# TYPE {name} {kind}")?;
            if let Some(unit) = family.unit {
                writeln!(self.sink, "# UNIT {name} {unit}")?;
            }
            if let Some(Origin { model, policy, .. }) = &self.made_by {
                let words = format!("SIMULATED by the model '{model}', policy '{policy}'");
                let words: String = words.chars().filter(|c| !c.is_control() && *c != '\\' && *c != '"').collect();
                writeln!(self.sink, "# HELP {name} {words}")?;
            }
            let suffix = if family.semantics == Semantics::Counter { "_total" } else { "" };
            for metric in &family.metrics {
                let mut changes = of_metric.remove(&metric.id).unwrap_or_default();
                // A stable sort: the later of two values in a sample counts.
                changes.sort_by_key(|change| change.sample);
                let series = format!("{name}{suffix}{}", labels(metric));
                values += self.series(&series, &changes)?;
            }
        }
        Ok(values)
    }

    /// Ends the text and returns the sink.
    pub fn finish(mut self) -> io::Result<W> {
        self.sink.write_all(b"# EOF\n")?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    /// The values of one metric: at each change, and once a minute; none while the metric is absent.
    fn series(&mut self, series: &str, changes: &[MetricChange]) -> io::Result<u64> {
        let (mut next, mut value, mut written_ns, mut values) = (0, None, None::<u64>, 0);
        for (sample, at_ns) in &self.samples {
            let before = next;
            while let Some(change) = changes.get(next).filter(|change| change.sample <= *sample) {
                value = change.value;
                next += 1;
            }
            let is_due = written_ns.is_none_or(|written_ns| at_ns.saturating_sub(written_ns) >= REPEAT_NS);
            if let Some(value) = value.filter(|_| next > before || is_due) {
                let wall_ns = (self.zero_wall_ns + i128::from(*at_ns)).max(0);
                let (seconds, ms) = (wall_ns / 1_000_000_000, wall_ns / 1_000_000 % 1_000);
                writeln!(self.sink, "{series} {value} {seconds}.{ms:03}")?;
                written_ns = Some(*at_ns);
                values += 1;
            }
        }
        Ok(values)
    }
}

/// The instance as the label `of`, and the kernel name of its device as `device`; escaped.
fn labels(metric: &MetricDescriptor) -> String {
    let label = |name: &str, value: &str| {
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{escaped}\"")
    };
    match (metric.instance.as_str(), &metric.device) {
        ("", _) => String::new(),
        (instance, None) => format!("{{{}}}", label("of", instance)),
        (instance, Some(device)) => format!("{{{},{}}}", label("of", instance), label("device", device)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
    use model::run::RunDescription;
    use model::time::Moment;

    use super::{CHANGES_HELD, OpenMetrics, groups};

    fn metric(id: u32, name: &str, instance: &str, unit: Unit, semantics: Semantics) -> MetricDescriptor {
        MetricDescriptor {
            id: MetricId(id),
            name: name.into(),
            instance: instance.into(),
            unit,
            semantics,
            device: None,
        }
    }

    #[test]
    fn values_come_by_family_with_units_last_and_absent_ones_are_left_out() {
        let metrics = vec![
            metric(0, "diskstats.read_sectors", "a\"b\\", Unit::Sectors, Semantics::Counter),
            metric(1, "meminfo.Active(anon)", "", Unit::Kibibytes, Semantics::Gauge),
            MetricDescriptor {
                device: Some("vdc".into()),
                ..metric(2, "diskstats.read_sectors", "c", Unit::Sectors, Semantics::Counter)
            },
        ];
        let at = |seconds: u64| Moment { monotonic_ns: seconds * 1_000_000_000, wall_ns: 0 };
        let header = |sample, seconds| SampleHeader { sample, at: at(seconds), late_ns: 0, cpu_ns: 0, took_ns: 0 };
        let description = RunDescription::new("x", Moment { wall_ns: 100_500_000_000, ..at(1) });
        let samples = [header(0, 1), header(1, 2), header(2, 61), header(3, 62)];
        let mut text = OpenMetrics::new(Vec::new(), &description, &samples);
        let change = |sample, metric, value| MetricChange { sample, metric: MetricId(metric), value };
        let changes = [change(0, 0, Some(5)), change(1, 0, None), change(0, 1, Some(-7)), change(2, 2, Some(9))];
        let groups = groups(metrics, &HashMap::new());
        assert_eq!(groups.len(), 1);
        assert_eq!(text.group(&groups[0], &changes).unwrap(), 4);
        let expected = "# TYPE stallscope_diskstats_read_sectors counter\n\
            # UNIT stallscope_diskstats_read_sectors sectors\n\
            stallscope_diskstats_read_sectors_total{of=\"a\\\"b\\\\\"} 5 100.500\n\
            stallscope_diskstats_read_sectors_total{of=\"c\",device=\"vdc\"} 9 160.500\n\
            # TYPE stallscope_meminfo_Active_anon__kibibytes gauge\n\
            # UNIT stallscope_meminfo_Active_anon__kibibytes kibibytes\n\
            stallscope_meminfo_Active_anon__kibibytes -7 100.500\n\
            stallscope_meminfo_Active_anon__kibibytes -7 160.500\n\
            # EOF\n";
        assert_eq!(String::from_utf8(text.finish().unwrap()).unwrap(), expected);
    }

    #[test]
    fn a_group_holds_no_more_than_fits_and_names_stay_apart() {
        let metrics = vec![
            metric(0, "a.x", "", Unit::Count, Semantics::Counter),
            metric(1, "a.x", "", Unit::Count, Semantics::Gauge),
            metric(2, "a.y_total", "", Unit::Count, Semantics::Counter),
        ];
        let changes = HashMap::from([(MetricId(0), CHANGES_HELD), (MetricId(1), 1), (MetricId(2), 1)]);
        let groups = groups(metrics, &changes);
        let names: Vec<Vec<&str>> =
            groups.iter().map(|group| group.iter().map(|family| family.name.as_str()).collect()).collect();
        assert_eq!(names, [vec!["stallscope_a_x"], vec!["stallscope_a_x_gauge", "stallscope_a_y"]]);
    }
}
