//! Metrics of several slices under one numbering, each value written once.

use std::collections::HashMap;
use std::mem;

use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};

/// Metrics are the same if all but their number is, and but the name that a device has for now.
#[derive(PartialEq, Eq, Hash)]
struct Identity {
    name: String,
    instance: String,
    unit: Unit,
    semantics: Semantics,
}

/// The samples and values written so far.
#[derive(Default)]
pub(super) struct Joined {
    numbers: HashMap<Identity, MetricId>,
    values: Vec<Option<i64>>,
    /// Ordinal of the next slice's first sample.
    next_sample: u32,
    slice: Slice,
}

/// The slice that is being copied.
#[derive(Default)]
struct Slice {
    /// Its metrics' numbers: slice → joined run.
    numbers: HashMap<MetricId, MetricId>,
    /// Ordinals of its first and last sample in the slice; `None` before samples came.
    samples: Option<(u32, u32)>,
    /// Ordinal of its first sample in the joined run.
    base: u32,
    /// Which metrics have a value at its first sample; `None` once decided.
    present_at_first: Option<Vec<bool>>,
    undescribed: u64,
}

/// Remaining rows at the end of a slice.
pub(super) struct Rest {
    /// Metrics that the slice does not contain.
    pub(super) changes: Vec<MetricChange>,
    /// Rows of metrics without a description.
    pub(super) undescribed: u64,
}

impl Joined {
    /// Takes a slice's metrics and returns the new ones.
    pub(super) fn describe(&mut self, descriptors: Vec<MetricDescriptor>) -> Vec<MetricDescriptor> {
        let mut new = Vec::new();
        for MetricDescriptor { id: there, name, instance, unit, semantics, device } in descriptors {
            let identity = Identity { name, instance, unit, semantics };
            let known = self.numbers.get(&identity).copied();
            let id = known.unwrap_or(MetricId(self.values.len() as u32));
            if known.is_none() {
                let (name, instance) = (identity.name.clone(), identity.instance.clone());
                new.push(MetricDescriptor { id, name, instance, unit, semantics, device });
                self.numbers.insert(identity, id);
                self.values.push(None);
            }
            self.slice.numbers.insert(there, id);
        }
        new
    }

    /// Takes all of a slice's samples and returns them with their numbers in the joined run.
    pub(super) fn begin_slice(&mut self, headers: Vec<SampleHeader>) -> impl Iterator<Item = SampleHeader> {
        let first = headers.iter().map(|header| header.sample).min();
        let last = headers.iter().map(|header| header.sample).max();
        self.slice.samples = first.zip(last);
        self.slice.base = self.next_sample;
        self.slice.present_at_first = Some(vec![false; self.values.len()]);
        if let Some((first, last)) = self.slice.samples {
            self.next_sample += last - first + 1;
        }
        let base = self.slice.base;
        headers
            .into_iter()
            .map(move |header| SampleHeader { sample: base + (header.sample - first.unwrap_or(0)), ..header })
    }

    /// The number of a slice's sample in the joined run.
    pub(super) fn sample(&self, there: u32) -> u32 {
        let (first, last) = self.slice.samples.unwrap_or((there, there));
        self.slice.base + (there.clamp(first, last) - first)
    }

    /// Takes a batch of a slice's changes and returns those that change a value. Each slice repeats all values at its
    /// first sample: a metric with a value that is not among them has become absent between the slices.
    pub(super) fn changes(&mut self, there: Vec<MetricChange>) -> Vec<MetricChange> {
        let mut here = Vec::with_capacity(there.len());
        for change in there {
            match self.slice.numbers.get(&change.metric) {
                Some(&metric) => {
                    here.push(MetricChange { sample: self.sample(change.sample), metric, value: change.value })
                }
                None => self.slice.undescribed += 1,
            }
        }
        let mut joined = self.absent_since_the_last_slice(&here);
        for change in here {
            let value = &mut self.values[change.metric.0 as usize];
            if *value != change.value {
                *value = change.value;
                joined.push(change);
            }
        }
        joined
    }

    /// Ends a slice.
    pub(super) fn end_slice(&mut self) -> Rest {
        let changes = self.absent_since_the_last_slice(&[]);
        Rest { changes, undescribed: mem::take(&mut self.slice).undescribed }
    }

    /// The first batch of changes holds the whole first sample: a metric that is not in it is absent.
    fn absent_since_the_last_slice(&mut self, first_batch: &[MetricChange]) -> Vec<MetricChange> {
        let Some(mut present) = self.slice.present_at_first.take() else { return Vec::new() };
        if self.slice.samples.is_none() {
            return Vec::new();
        }
        let sample = self.slice.base;
        for change in first_batch.iter().filter(|change| change.sample == sample) {
            present[change.metric.0 as usize] = true;
        }
        let mut absent = Vec::new();
        for (index, value) in self.values.iter_mut().enumerate() {
            if value.is_some() && !present[index] {
                *value = None;
                absent.push(MetricChange { sample, metric: MetricId(index as u32), value: None });
            }
        }
        absent
    }
}
