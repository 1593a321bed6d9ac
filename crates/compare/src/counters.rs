//! Kernel counters per unit of work: pages scanned, requests and log waits per round of work.

use model::metric::{MetricDescriptor, Semantics, Unit};
use model::run::{RunDescription, mount_of};

use super::figures::{Amount, Better, Figure};
use explain::series::{Series, SeriesSet};

/// Prefixes of counters of memory, disks, file systems and waiting.
const WANTED: [&str; 22] = [
    "vmstat.allocstall",
    "vmstat.pgscan",
    "vmstat.pgsteal",
    "vmstat.pgpg",
    "vmstat.pgfault",
    "vmstat.pgmajfault",
    "vmstat.pswp",
    "vmstat.nr_dirtied",
    "vmstat.nr_written",
    "vmstat.workingset_refault",
    "vmstat.workingset_activate",
    "vmstat.compact_",
    "vmstat.slabs_scanned",
    "diskstats.",
    "stat.ctxt",
    "stat.cpu.",
    "xfs.",
    "ext4.",
    "jbd2.",
    "cgroup.",
    "pressure.",
    "tracepoint.",
];
const OF_DISKS: &str = "diskstats.";

/// Whether a comparison needs a metric's values.
pub fn wanted_counter(descriptor: &MetricDescriptor) -> bool {
    descriptor.semantics == Semantics::Counter && WANTED.iter().any(|prefix| descriptor.name.starts_with(prefix))
}

/// Growth within a time on the monotonic clock, divided by the work done in it.
pub(super) fn per_work(
    series: &SeriesSet,
    run: &RunDescription,
    (from_ns, to_ns): (u64, u64),
    (work, unit): (f64, &str),
) -> Vec<Figure> {
    let first = series.sample_at(from_ns).or_else(|| series.headers().first().map(|header| header.sample));
    let (Some(first), Some(last)) = (first, series.sample_at(to_ns)) else { return Vec::new() };
    if last <= first || work <= 0.0 {
        return Vec::new();
    }
    let figure = |(name, counters): (&str, Vec<&Series>)| {
        // If the kernel has a total, ignore its parts.
        let whole = counters.iter().find(|counter| counter.descriptor.instance.is_empty());
        let grown = match whole {
            Some(whole) => whole.growth(first, last)?,
            None => counters.iter().filter_map(|counter| counter.growth(first, last)).reduce(|a, b| a + b)?,
        };
        let counted = match counters.first()?.descriptor.unit {
            Unit::Count => String::new(),
            unit => unit.name().replace('_', " "),
        };
        Some(Figure {
            name: name.to_owned(),
            unit: format!("{counted}/{unit}"),
            better: Better::Neither,
            amount: Amount::Level(grown as f64 / work),
        })
    };
    by_name(series, &disks_under_test(run)).into_iter().filter_map(figure).collect()
}

/// Counters of all disks under test, by name.
fn by_name<'a>(series: &'a SeriesSet, disks: &[&str]) -> Vec<(&'a str, Vec<&'a Series>)> {
    let mut named: Vec<(&str, Vec<&Series>)> = Vec::new();
    for counter in series.prefixed("").filter(|counter| wanted_counter(&counter.descriptor)) {
        let (name, instance) = (counter.descriptor.name.as_str(), counter.descriptor.instance.as_str());
        if name.starts_with(OF_DISKS) && !disks.contains(&instance) {
            continue;
        }
        match named.iter_mut().find(|(counted, _)| *counted == name) {
            Some((_, counters)) => counters.push(counter),
            None => named.push((name, vec![counter])),
        }
    }
    named
}

/// Identities of the disks below the load's directories; without a load, of all disks except loop devices, because a
/// loop device and the disk below it move the same bytes.
fn disks_under_test(run: &RunDescription) -> Vec<&str> {
    let below = |directory: &String| mount_of(&run.mounts, directory).map(|mount| mount.device.as_str());
    let numbers: Option<Vec<&str>> =
        run.recipe.as_ref().map(|recipe| recipe.directories.iter().filter_map(below).collect());
    let is_wanted = |number: &str, name: &str| match &numbers {
        Some(numbers) => numbers.contains(&number),
        None => !name.starts_with("loop"),
    };
    let disks = run.devices.iter().filter(|device| is_wanted(&device.number, &device.name));
    disks.map(|device| device.identity.as_str()).collect()
}
