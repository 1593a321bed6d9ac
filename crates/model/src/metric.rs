//! Sampled counters and gauges of the kernel.
//!
//! A metric is described once ([`MetricDescriptor`]) and then named by a small number. Only changes are stored: a
//! sample lists the metrics whose value differs from the sample before.

use serde::{Deserialize, Serialize};

use crate::time::Moment;

/// Number of a metric within one run, counted from 0 in order of first appearance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MetricId(pub u32);

/// The unit of a metric's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A number of things or events.
    Count,
    /// Bytes.
    Bytes,
    /// 1024 bytes.
    Kibibytes,
    /// Memory pages; their size is in the run's host description.
    Pages,
    /// 512-byte sectors, whatever the device's block size.
    Sectors,
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Clock ticks of `sysconf(_SC_CLK_TCK)`, whose rate is in the run's host description.
    ClockTicks,
}

impl Unit {
    /// The name stored in the archive.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Bytes => "bytes",
            Unit::Kibibytes => "kibibytes",
            Unit::Pages => "pages",
            Unit::Sectors => "sectors",
            Unit::Nanoseconds => "nanoseconds",
            Unit::Microseconds => "microseconds",
            Unit::Milliseconds => "milliseconds",
            Unit::ClockTicks => "clock_ticks",
        }
    }

    /// The unit of that name.
    pub fn from_name(name: &str) -> Option<Unit> {
        const ALL: [Unit; 9] = [
            Unit::Count,
            Unit::Bytes,
            Unit::Kibibytes,
            Unit::Pages,
            Unit::Sectors,
            Unit::Nanoseconds,
            Unit::Microseconds,
            Unit::Milliseconds,
            Unit::ClockTicks,
        ];
        ALL.into_iter().find(|unit| unit.name() == name)
    }
}

/// How values of a metric relate to one another over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Semantics {
    /// Only grows; the difference of two values is what happened between them. A decrease is a reset.
    Counter,
    /// The state at the moment of the sample.
    Gauge,
}

impl Semantics {
    /// The name stored in the archive.
    pub fn name(self) -> &'static str {
        match self {
            Semantics::Counter => "counter",
            Semantics::Gauge => "gauge",
        }
    }

    /// The semantics of that name.
    pub fn from_name(name: &str) -> Option<Semantics> {
        [Semantics::Counter, Semantics::Gauge].into_iter().find(|semantics| semantics.name() == name)
    }
}

/// Everything needed to interpret a metric's values without knowing their source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MetricDescriptor {
    /// The number that changes refer to.
    pub id: MetricId,
    /// `source.field` with the kernel's own field name: `vmstat.pgscan_direct`, `diskstats.read_sectors`.
    pub name: String,
    /// Which of several: a device identity, a slab cache, a cgroup, a CPU. Empty where there is only one.
    pub instance: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Counter or gauge.
    pub semantics: Semantics,
    /// Kernel name of the device (`vda`) that the instance identifies, when the metric was described; `None` if the
    /// instance is no device.
    pub device: Option<String>,
}

impl MetricDescriptor {
    /// Whether the instance is the one of that name: as recorded, or a device's kernel name.
    pub fn is_instance(&self, name: &str) -> bool {
        self.instance == name || self.device.as_deref() == Some(name)
    }

    /// The kernel name of the instance's device, where it is not the instance itself.
    pub fn kernel_name(&self) -> Option<&str> {
        self.device.as_deref().filter(|device| *device != self.instance)
    }

    /// The instance with its device's kernel name, for people: `vda (virtio-serial)`.
    pub fn shown_instance(&self) -> String {
        match self.kernel_name() {
            Some(device) => format!("{device} ({})", self.instance),
            None => self.instance.clone(),
        }
    }
}

/// A metric took a new value. `None`: it is absent from this sample on (its device went away, the file vanished).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricChange {
    /// Ordinal of the sample, as in [`SampleHeader::sample`].
    pub sample: u32,
    /// Which metric.
    pub metric: MetricId,
    /// The value as the kernel gave it. A value beyond `i64::MAX` is not representable and counts as absent.
    pub value: Option<i64>,
}

/// When a sample was taken and what it cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleHeader {
    /// Ordinal within the run, from 0.
    pub sample: u32,
    /// Both clocks when reading began.
    pub at: Moment,
    /// How long after its planned moment reading began.
    pub late_ns: u64,
    /// CPU time of the sampling thread for this sample.
    pub cpu_ns: u64,
    /// Wall duration from first to last read: the width of the "moment".
    pub took_ns: u64,
}
