//! The kernel's histograms and counters, as `bpf/funclat.bpf.c` lays them out.

use std::collections::HashMap;
use std::os::fd::AsFd;

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Error, Map, MapCore, MapFlags, Object, OpenObject, Program};
use model::call_latency::{CallCounts, LatencyGroup, LatencyHistogram, LatencyUnit};
use model::stall::REQUEST_BUCKETS;

use super::cgroups::Cgroups;
use super::options::{FunclatOptions, GroupBy};
use crate::bytes::shown;
use crate::roots::Roots;

/// Group of the calls that had no histogram left.
const OTHERS: u64 = u64::MAX;
const COUNTERS: u32 = 7;
/// Count, sum, shortest, longest, and the buckets.
const HISTOGRAM_BYTES: usize = 8 * (4 + REQUEST_BUCKETS as usize);
/// Kernel memory that the histograms of all groups and CPUs may use.
const MEMORY_BYTES: usize = 64 << 20;

/// The counts since the timing began.
#[derive(Debug, Clone)]
pub struct CallReading {
    /// The groups, those with the most time first.
    pub groups: Vec<LatencyGroup>,
    /// The fate of begins and ends.
    pub counts: CallCounts,
}

/// Configures the BPF programs, and reads what they counted.
pub(super) struct Counts {
    options: FunclatOptions,
    cgroups: Option<Cgroups>,
    names: HashMap<u64, String>,
}

impl Counts {
    pub(super) fn new(roots: &Roots, options: &FunclatOptions) -> Counts {
        let cgroups = (options.by == Some(GroupBy::Cgroup)).then(|| Cgroups::find(roots));
        Counts { options: options.clone(), cgroups, names: HashMap::new() }
    }

    /// Settings and sizes, before the programs are loaded.
    pub(super) fn configure(&self, object: &mut OpenObject) -> Result<(), Error> {
        let groups = match self.options.by {
            None => 2,
            Some(_) => (MEMORY_BYTES / HISTOGRAM_BYTES / libbpf_rs::num_possible_cpus()?).clamp(64, 4096) as u32,
        };
        for mut map in object.maps_mut() {
            match map.name().to_str() {
                Some("histograms" | "names") => map.set_max_entries(groups)?,
                Some(name) if name.ends_with(".rodata") => map.set_initial_value(&self.settings())?,
                _ => {}
            }
        }
        Ok(())
    }

    /// `struct settings` of the programs.
    fn settings(&self) -> Vec<u8> {
        let (multiplier, divisor) = self.options.unit.scale();
        let group_by: u32 = match (self.options.by, &self.cgroups) {
            (None, _) => 0,
            (Some(GroupBy::Task), _) => 1,
            (Some(GroupBy::Cgroup), Some(cgroups)) if cgroups.is_unified() => 3,
            (Some(GroupBy::Cgroup), _) => 2,
        };
        let long = [self.options.above_ns, self.options.below_ns, multiplier, divisor];
        let short = [self.options.pid.unwrap_or(0), std::process::id(), group_by, 0];
        long.into_iter().flat_map(u64::to_ne_bytes).chain(short.into_iter().flat_map(u32::to_ne_bytes)).collect()
    }

    /// Creates the histogram that must exist before the programs run.
    pub(super) fn prepare(&self, object: &Object) -> Result<(), Error> {
        let empty = vec![vec![0; HISTOGRAM_BYTES]; libbpf_rs::num_possible_cpus()?];
        map(object, "histograms")?.update_percpu(&OTHERS.to_ne_bytes(), &empty, MapFlags::ANY)
    }

    /// Starts counting, after both programs are attached.
    pub(super) fn start(&self, object: &Object) -> Result<(), Error> {
        let found = object.maps().find(|map| map.name().to_str().is_some_and(|name| name.ends_with(".bss")));
        let flags = found.ok_or_else(|| Error::from_raw_os_error(libc::ENOENT))?;
        flags.update(&0u32.to_ne_bytes(), &1u32.to_ne_bytes(), MapFlags::ANY)
    }

    /// The counts until now.
    pub(super) fn read(&mut self, object: &Object) -> Result<CallReading, Error> {
        let histograms = map(object, "histograms")?;
        let mut groups = Vec::new();
        for key in histograms.keys() {
            let Some(values) = histograms.lookup_percpu(&key, MapFlags::ANY)? else { continue };
            let histogram = histogram(self.options.unit, &values);
            let group = key.try_into().map_or(OTHERS, u64::from_ne_bytes);
            if histogram.count > 0 {
                groups.push(LatencyGroup { name: self.name(object, group), histogram });
            }
        }
        groups.sort_by(|a, b| b.histogram.sum_ns.cmp(&a.histogram.sum_ns).then_with(|| a.name.cmp(&b.name)));
        Ok(CallReading { groups, counts: counters(object)? })
    }

    fn name(&mut self, object: &Object, group: u64) -> Option<String> {
        let by = self.options.by?;
        if group == OTHERS {
            return Some("all others".to_owned());
        }
        if let Some(name) = self.names.get(&group) {
            return Some(name.clone());
        }
        let name = match (by, &self.cgroups) {
            (GroupBy::Cgroup, Some(cgroups)) => {
                cgroups.path(group).unwrap_or_else(|| format!("cgroup {group} (removed)"))
            }
            _ => format!("{}/{group}", thread_name(object, group).unwrap_or_else(|| "?".to_owned())),
        };
        self.names.insert(group, name.clone());
        Some(name)
    }
}

fn map<'a>(object: &'a Object, name: &str) -> Result<Map<'a>, Error> {
    let found = object.maps().find(|map| map.name() == name);
    found.ok_or_else(|| Error::from_raw_os_error(libc::ENOENT))
}

fn thread_name(object: &Object, tid: u64) -> Option<String> {
    let bytes = map(object, "names").ok()?.lookup(&tid.to_ne_bytes(), MapFlags::ANY).ok()??;
    let name = bytes.split(|byte| *byte == 0).next()?;
    Some(shown(name))
}

/// Sums the counts of the CPUs.
fn histogram(unit: LatencyUnit, values: &[Vec<u8>]) -> LatencyHistogram {
    let mut sum = LatencyHistogram::new(unit);
    for value in values {
        let mut fields = numbers(value);
        let mut next = || fields.next().unwrap_or(0);
        let (count, sum_ns, min_ns, max_ns) = (next(), next(), next(), next());
        if count > 0 {
            let buckets = fields.collect();
            let (min_ns, max_ns) = (Some(min_ns), Some(max_ns));
            sum.merge(&LatencyHistogram { unit, count, sum_ns, min_ns, max_ns, buckets });
        }
    }
    sum
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_ne_bytes(*word))
}

fn counters(object: &Object) -> Result<CallCounts, Error> {
    let map = map(object, "counters")?;
    let mut sums = [0; COUNTERS as usize];
    for (key, sum) in (0..COUNTERS).zip(&mut sums) {
        let values = map.lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
        *sum = values.iter().flat_map(|value| numbers(value)).sum();
    }
    let [begun, ended, filtered, ends_alone, forgotten, no_room, no_group] = sums;
    Ok(CallCounts { begun, ended, filtered, ends_alone, forgotten, no_room, no_group, missed: missed(object) })
}

/// How often the kernel skipped a program because one of them was running on that CPU. `None`: the kernel does not
/// count it.
fn missed(object: &Object) -> Option<u64> {
    let loaded = object.progs().filter(Program::autoload);
    let ids: Vec<u32> = loaded.filter_map(|program| Program::id_from_fd(program.as_fd()).ok()).collect();
    let ours: Vec<u64> = ProgInfoIter::default()
        .filter(|program| ids.contains(&program.id))
        .map(|program| program.recursion_misses)
        .collect();
    (!ids.is_empty() && ours.len() == ids.len()).then(|| ours.iter().sum())
}

#[cfg(test)]
mod tests {
    use model::call_latency::LatencyUnit;
    use model::stall::REQUEST_BUCKETS;

    use super::{HISTOGRAM_BYTES, histogram};

    /// The counts of one CPU, as bytes.
    fn value(head: [u64; 4], bucket: usize) -> Vec<u8> {
        let mut words = head.to_vec();
        words.extend((0..REQUEST_BUCKETS as usize).map(|index| if index == bucket { head[0] } else { 0 }));
        words.into_iter().flat_map(u64::to_ne_bytes).collect()
    }

    #[test]
    fn the_cpus_add_up_and_an_idle_one_is_no_minimum() {
        let values = [value([2, 300, 100, 200], 50), vec![0; HISTOGRAM_BYTES], value([1, 70, 70, 70], 51)];
        let sum = histogram(LatencyUnit::Microseconds, &values);
        assert_eq!((sum.count, sum.sum_ns, sum.min_ns, sum.max_ns), (3, 370, Some(70), Some(200)));
        assert_eq!((sum.buckets[50], sum.buckets[51], sum.buckets.len()), (2, 1, REQUEST_BUCKETS as usize));
    }
}
