//! The figures of each period, from the rows of a run.

use compare::Better;
use explain::series::{Series, SeriesSet};
use model::event::RunEvent;
use model::metric::MetricDescriptor;
use model::stall::stall_flags::WATCHED;
use model::stall::{StallKind, StallRecord};
use model::trial::{TrialPeriod, TrialPlan};

const SECTOR_BYTES: f64 = 512.0;
const SECTORS: [&str; 2] = ["diskstats.read_sectors", "diskstats.write_sectors"];
const PRESSURES: [(&str, &str); 2] = [("psi.io", "pressure.io.some"), ("psi.memory", "pressure.memory.some")];

/// Whether a metric is needed for the figures.
pub fn wanted_metric(metric: &MetricDescriptor) -> bool {
    let is_pressure = PRESSURES.iter().any(|(_, name)| metric.name == *name) && metric.instance.is_empty();
    is_pressure || SECTORS.contains(&metric.name.as_str())
}

/// A figure of a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FigureKind {
    /// Time of slow operations within the period, per second.
    StallTime,
    /// Slow operations that ended in the period, per second.
    SlowOperations,
    /// A percentile of their durations.
    Percentile(u8),
    /// The longest.
    Longest,
    /// Bytes that a device transferred, per second.
    DeviceBytes,
    /// Share of the time in which some task waited: `psi.io`, `psi.memory`.
    Pressure(&'static str),
    /// The mean of what the command printed, by the user's name.
    Printed(String),
}

impl FigureKind {
    /// The name, also in JSON.
    pub fn name(&self) -> String {
        match self {
            FigureKind::StallTime => "stall_time".into(),
            FigureKind::SlowOperations => "slow_per_s".into(),
            FigureKind::Percentile(percent) => format!("slow.p{percent}"),
            FigureKind::Longest => "slow.max".into(),
            FigureKind::DeviceBytes => "bytes_per_s".into(),
            FigureKind::Pressure(name) => (*name).into(),
            FigureKind::Printed(name) => name.clone(),
        }
    }

    /// The unit, as in a comparison.
    pub fn unit(&self) -> &'static str {
        match self {
            FigureKind::StallTime => "ns/s",
            FigureKind::SlowOperations => "/s",
            FigureKind::Percentile(_) | FigureKind::Longest => "ns",
            FigureKind::DeviceBytes => "bytes/s",
            FigureKind::Pressure(_) => "share",
            FigureKind::Printed(_) => "",
        }
    }

    /// Which direction is better. Percentiles are those of slow operations alone: where fewer operations are slow, the
    /// rest of them may be slower, and that is not worse.
    pub fn better(&self) -> Better {
        match self {
            FigureKind::StallTime | FigureKind::SlowOperations | FigureKind::Longest => Better::Lower,
            FigureKind::Pressure(_) => Better::Lower,
            FigureKind::DeviceBytes => Better::Higher,
            FigureKind::Percentile(_) | FigureKind::Printed(_) => Better::Neither,
        }
    }
}

/// A period with its figures, in the order of [`FigureTable::kinds`]; `None` where unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct PeriodFigures {
    /// The period.
    pub period: TrialPeriod,
    /// Of all that counts.
    pub whole: Vec<Option<f64>>,
    /// Of its first and second half.
    pub halves: [Vec<Option<f64>>; 2],
}

/// All figures of all periods.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FigureTable {
    /// The columns.
    pub kinds: Vec<FigureKind>,
    /// The rows, in order of time.
    pub periods: Vec<PeriodFigures>,
    /// Kernel name of the device whose bytes are counted.
    pub device: Option<String>,
}

/// Collects the rows of a run.
#[derive(Debug, Default)]
pub struct Measurements {
    plan: TrialPlan,
    periods: Vec<TrialPeriod>,
    /// Start and end of each slow operation.
    operations: Vec<(u64, u64)>,
    printed: Vec<(String, u64, f64)>,
}

impl Measurements {
    /// Adds an event of the journal.
    pub fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::TrialBegan { plan, .. } => self.plan = plan.clone(),
            RunEvent::TrialPeriod { period } => self.periods.push(*period),
            RunEvent::Figure { at_ns, name, value } => self.printed.push((name.clone(), *at_ns, *value)),
            _ => {}
        }
    }

    /// Adds rows of the tracer, after all events.
    pub fn stalls(&mut self, rows: &[StallRecord]) {
        let slow = rows.iter().filter(|row| matches!(row.kind, StallKind::SystemCall | StallKind::Asynchronous));
        let is_of_command = |row: &&StallRecord| row.flags.is_some_and(|flags| flags & WATCHED != 0);
        let slow = slow.filter(|row| !self.plan.of_command || is_of_command(row));
        self.operations.extend(slow.map(|row| (row.start_ns, row.end_ns())));
    }

    /// The plan; that of no trial without one.
    pub fn plan(&self) -> &TrialPlan {
        &self.plan
    }

    /// The figures. Without a trace nothing is known of slow operations.
    pub fn finish(mut self, series: &SeriesSet, has_trace: bool) -> FigureTable {
        self.operations.sort_unstable_by_key(|(_, end_ns)| *end_ns);
        let device = self.plan.device.clone().or_else(|| busiest(series));
        let kinds = self.kinds(series, has_trace, device.is_some());
        let reader = WindowReader { rows: &self, series, device: device.as_deref() };
        let row = |period: &TrialPeriod| {
            let (from_ns, to_ns) = (period.counted_from_ns, period.ended_ns);
            let middle_ns = from_ns + to_ns.saturating_sub(from_ns) / 2;
            let of = |from_ns, to_ns| reader.figures(&kinds, from_ns, to_ns);
            PeriodFigures {
                period: *period,
                whole: of(from_ns, to_ns),
                halves: [of(from_ns, middle_ns), of(middle_ns, to_ns)],
            }
        };
        let periods = self.periods.iter().map(row).collect();
        FigureTable { kinds, periods, device }
    }

    fn kinds(&self, series: &SeriesSet, has_trace: bool, has_device: bool) -> Vec<FigureKind> {
        use FigureKind::{DeviceBytes, Longest, Percentile, Pressure, Printed, SlowOperations, StallTime};
        let slow = [StallTime, SlowOperations, Percentile(50), Percentile(99), Longest];
        let mut kinds: Vec<FigureKind> = slow.into_iter().filter(|_| has_trace).collect();
        kinds.extend(has_device.then_some(DeviceBytes));
        let known = PRESSURES.iter().filter(|(_, metric)| series.named(metric).next().is_some());
        kinds.extend(known.map(|(name, _)| Pressure(name)));
        let mut names: Vec<&String> = self.printed.iter().map(|(name, ..)| name).collect();
        names.sort();
        names.dedup();
        kinds.extend(names.into_iter().cloned().map(Printed));
        kinds
    }
}

/// The device that transferred most.
fn busiest(series: &SeriesSet) -> Option<String> {
    let last = series.headers().last()?.sample;
    let first = series.headers().first()?.sample;
    let moved = |one: &Series| {
        let of = |name| series.named(name).find(|other| other.descriptor.instance == one.descriptor.instance);
        SECTORS.into_iter().filter_map(|name| of(name)?.growth(first, last)).sum::<u64>()
    };
    let found = series.named(SECTORS[0]).max_by_key(|one| moved(one))?;
    Some(found.descriptor.device.clone().unwrap_or_else(|| found.descriptor.instance.clone()))
}

/// Reads the figures of a stretch of time.
struct WindowReader<'a> {
    rows: &'a Measurements,
    series: &'a SeriesSet,
    device: Option<&'a str>,
}

impl WindowReader<'_> {
    fn figures(&self, kinds: &[FigureKind], from_ns: u64, to_ns: u64) -> Vec<Option<f64>> {
        let seconds = to_ns.saturating_sub(from_ns) as f64 / 1e9;
        if seconds <= 0.0 {
            return vec![None; kinds.len()];
        }
        let operations = &self.rows.operations;
        let end_of = |at_ns: u64| operations.partition_point(|(_, end_ns)| *end_ns < at_ns);
        let (first, after) = (end_of(from_ns), end_of(to_ns));
        let mut durations: Vec<u64> = operations[first..after].iter().map(|(start, end)| end - start).collect();
        durations.sort_unstable();
        let within = |(start_ns, end_ns): &(u64, u64)| (*end_ns).min(to_ns).saturating_sub((*start_ns).max(from_ns));
        let figure = |kind: &FigureKind| match kind {
            FigureKind::StallTime => Some(operations[first..].iter().map(within).sum::<u64>() as f64 / seconds),
            FigureKind::SlowOperations => Some(durations.len() as f64 / seconds),
            FigureKind::Percentile(percent) => percentile(&durations, *percent),
            FigureKind::Longest => durations.last().map(|ns| *ns as f64),
            FigureKind::DeviceBytes => self.device_bytes(from_ns, to_ns),
            FigureKind::Pressure(name) => self.pressure(name, from_ns, to_ns),
            FigureKind::Printed(name) => self.printed(name, from_ns, to_ns),
        };
        kinds.iter().map(figure).collect()
    }

    /// The samples that lie within.
    fn samples(&self, from_ns: u64, to_ns: u64) -> Option<(u32, u32)> {
        let headers = self.series.headers();
        let first = headers.partition_point(|header| header.at.monotonic_ns < from_ns);
        let last = self.series.sample_at(to_ns)?;
        headers.get(first).map(|header| (header.sample, last)).filter(|(first, last)| first < last)
    }

    fn device_bytes(&self, from_ns: u64, to_ns: u64) -> Option<f64> {
        let (first, last) = self.samples(from_ns, to_ns)?;
        let device = self.device?;
        let counters = SECTORS.into_iter().flat_map(|name| self.series.named(name));
        let own = counters.filter(|series| series.descriptor.is_instance(device));
        Some(self.series.rate_per_s(own, first, last)? * SECTOR_BYTES)
    }

    /// The totals of /proc/pressure are microseconds.
    fn pressure(&self, name: &str, from_ns: u64, to_ns: u64) -> Option<f64> {
        let (first, last) = self.samples(from_ns, to_ns)?;
        let (_, metric) = PRESSURES.iter().find(|(figure, _)| *figure == name)?;
        let whole = self.series.named(metric).filter(|series| series.descriptor.instance.is_empty());
        Some(self.series.rate_per_s(whole, first, last)? / 1e6)
    }

    fn printed(&self, name: &str, from_ns: u64, to_ns: u64) -> Option<f64> {
        let is_within = |(of, at_ns, _): &&(String, u64, f64)| of == name && (from_ns..to_ns).contains(at_ns);
        let values: Vec<f64> = self.rows.printed.iter().filter(is_within).map(|(.., value)| *value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// The nearest rank; `None` with less than one value beyond it.
fn percentile(sorted: &[u64], percent: u8) -> Option<f64> {
    let beyond = sorted.len() * usize::from(100 - percent) / 100;
    (beyond >= 1).then(|| sorted[sorted.len() - 1 - beyond] as f64)
}
