//! The last value of every metric: only changes are passed on.

use std::collections::HashMap;

use model::metric::{MetricChange, MetricDescriptor, MetricId, Semantics, Unit};

use crate::device::Devices;

/// The result of one sample. Pass it in again to reuse its buffers.
#[derive(Debug, Default)]
pub struct Sample {
    /// Metrics that appeared for the first time.
    pub new_descriptors: Vec<MetricDescriptor>,
    /// Values that differ from the sample before; of new metrics, the first ones.
    pub changes: Vec<MetricChange>,
    /// Sources that stopped working, or began to exceed their budget, at this sample. Each is reported once.
    pub failures: Vec<SourceFailure>,
}

impl Sample {
    pub(crate) fn clear(&mut self) {
        self.new_descriptors.clear();
        self.changes.clear();
        self.failures.clear();
    }
}

/// A source that could not be read as planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFailure {
    /// The source: `slabinfo`, `cgroup`, ...
    pub source: &'static str,
    /// What happened and its effect, in one sentence.
    pub why: String,
}

/// Numbers of the metrics, and their values at the last sample.
#[derive(Default)]
pub(crate) struct LastValues {
    numbers: HashMap<(String, String), MetricId>,
    values: Vec<Option<i64>>,
    /// Which source a metric belongs to.
    owners: Vec<u16>,
    kinds: Vec<(Unit, Semantics)>,
    /// Kernel names of the instances' devices.
    devices: Vec<Option<String>>,
    /// Whether a metric was described since all were last emitted.
    described: Vec<bool>,
}

impl LastValues {
    /// Metrics described so far.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Metrics that have a value now.
    pub(crate) fn present(&self) -> usize {
        self.values.iter().filter(|value| value.is_some()).count()
    }

    /// Makes a sample readable without those before: it has all metrics that have a value, and the values.
    /// Metrics without a value are described when they get one.
    pub(crate) fn emit_all(&mut self, sample: u32, out: &mut Sample) {
        out.new_descriptors.clear();
        out.changes.clear();
        for ((name, instance), &id) in &self.numbers {
            let value = self.values[id.0 as usize];
            self.described[id.0 as usize] = value.is_some();
            if value.is_some() {
                out.new_descriptors.push(self.descriptor(id, name.clone(), instance.clone()));
                out.changes.push(MetricChange { sample, metric: id, value });
            }
        }
        out.new_descriptors.sort_by_key(|descriptor| descriptor.id);
        out.changes.sort_by_key(|change| change.metric);
    }

    /// Describes a metric that was described long ago. Rare enough to search for its name.
    fn describe_again(&self, id: MetricId) -> MetricDescriptor {
        let found = self.numbers.iter().find(|(_, number)| **number == id);
        let (name, instance) = found.expect("every number was given to a name").0.clone();
        self.descriptor(id, name, instance)
    }

    fn descriptor(&self, id: MetricId, name: String, instance: String) -> MetricDescriptor {
        let (unit, semantics) = self.kinds[id.0 as usize];
        MetricDescriptor { id, name, instance, unit, semantics, device: self.devices[id.0 as usize].clone() }
    }
}

/// A metric, and the word after the row's key that holds its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) word: u32,
    pub(crate) id: MetricId,
}

/// Takes the values of a source during one sample.
pub(crate) struct SampleWriter<'a> {
    pub(crate) last_values: &'a mut LastValues,
    pub(crate) out: &'a mut Sample,
    pub(crate) sample: u32,
    /// The source that is writing.
    pub(crate) source: u16,
    pub(crate) devices: &'a mut Devices,
    /// Whether sources that are read now and then are to be read as well.
    pub(crate) everything: bool,
}

impl SampleWriter<'_> {
    /// The number of a metric. A metric seen before, of a device that comes back, say, keeps its number.
    pub(crate) fn metric(&mut self, name: String, instance: &str, unit: Unit, semantics: Semantics) -> MetricId {
        let key = (name, instance.to_owned());
        let device = self.devices.name_of(instance);
        if let Some(id) = self.last_values.numbers.get(&key) {
            // The device may have come back under another name.
            self.last_values.devices[id.0 as usize] = device;
            return *id;
        }
        let id = MetricId(self.last_values.values.len() as u32);
        let (name, instance) = key.clone();
        let described = MetricDescriptor { id, name, instance, unit, semantics, device: device.clone() };
        self.out.new_descriptors.push(described);
        self.last_values.numbers.insert(key, id);
        self.last_values.values.push(None);
        self.last_values.owners.push(self.source);
        self.last_values.kinds.push((unit, semantics));
        self.last_values.devices.push(device);
        self.last_values.described.push(true);
        id
    }

    /// A metric that another source has.
    pub(crate) fn find(&self, name: &str, instance: &str) -> Option<MetricId> {
        self.last_values.numbers.get(&(name.to_owned(), instance.to_owned())).copied()
    }

    /// The value of a metric, at this sample if its source was read before the one that asks.
    pub(crate) fn value(&self, metric: MetricId) -> Option<i64> {
        self.last_values.values[metric.0 as usize]
    }

    /// [`SampleWriter::metric`] for word `word` after a row's key.
    pub(crate) fn column(
        &mut self,
        word: usize,
        name: String,
        instance: &str,
        unit: Unit,
        semantics: Semantics,
    ) -> Column {
        Column { word: word as u32, id: self.metric(name, instance, unit, semantics) }
    }

    /// Sets a value; an unchanged value adds nothing.
    pub(crate) fn set(&mut self, metric: MetricId, value: Option<i64>) {
        let last = &mut self.last_values.values[metric.0 as usize];
        if *last != value {
            *last = value;
            self.out.changes.push(MetricChange { sample: self.sample, metric, value });
            if !std::mem::replace(&mut self.last_values.described[metric.0 as usize], true) {
                self.out.new_descriptors.push(self.last_values.describe_again(metric));
            }
        }
    }

    /// Reports what a source leaves out, once for each reason.
    pub(crate) fn leave_out(&mut self, source: &'static str, why: String) {
        self.out.failures.push(SourceFailure { source, why: format!("{why}; the others are left out") });
    }

    /// Makes all metrics of the writing source absent.
    pub(crate) fn all_absent(&mut self) {
        for index in 0..self.last_values.values.len() {
            if self.last_values.owners[index] == self.source {
                self.set(MetricId(index as u32), None);
            }
        }
    }
}
