//! Operations of an interval, aggregated by class.

use model::latency::{BUCKET_COUNT, index_of};
use model::operation::{Bucket, IntervalRecord};

use crate::rows::Operation;

/// One class within the current interval.
struct Class {
    name: String,
    count: u64,
    bytes: u64,
    sum_ns: u64,
    max_ns: Option<u64>,
    /// Operations by bucket; only the buckets in `touched` are not 0.
    buckets: Vec<u64>,
    touched: Vec<u32>,
    stuck: u64,
    oldest_running_ns: Option<u64>,
}

/// The classes of a phase, in the order of their first operation.
#[derive(Default)]
pub(crate) struct Tally {
    classes: Vec<Class>,
    /// Of the whole phase.
    bytes: u64,
}

impl Tally {
    /// Counts a completed operation.
    pub(crate) fn add(&mut self, operation: &Operation<'_>) {
        let latency_ns = operation.end_ns.saturating_sub(operation.start_ns);
        self.bytes += operation.bytes;
        let class = self.class(operation.class);
        class.count += 1;
        class.bytes += operation.bytes;
        class.sum_ns = class.sum_ns.saturating_add(latency_ns);
        class.max_ns = class.max_ns.max(Some(latency_ns));
        let index = index_of(latency_ns);
        let bucket = &mut class.buckets[index as usize];
        if *bucket == 0 {
            class.touched.push(index);
        }
        *bucket += 1;
    }

    /// Counts an operation in progress at the end; `stuck` depends on its age.
    pub(crate) fn add_unfinished(&mut self, class: &str, age_ns: u64, stuck: bool) {
        let class = self.class(class);
        class.stuck += u64::from(stuck);
        class.oldest_running_ns = class.oldest_running_ns.max(Some(age_ns));
    }

    /// Bytes moved since the phase began.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the current interval is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.classes.iter().all(|class| class.count == 0 && class.oldest_running_ns.is_none())
    }

    /// The aggregates of the interval, for each class of the phase so far: also for classes without completed
    /// operations, so zero throughput is visible. The next interval begins.
    pub(crate) fn close(&mut self, phase: &str, start_ns: u64, end_ns: u64) -> Vec<IntervalRecord> {
        self.classes.iter_mut().map(|class| class.close(phase, start_ns, end_ns)).collect()
    }

    fn class(&mut self, name: &str) -> &mut Class {
        let at = self.classes.iter().position(|class| class.name == name).unwrap_or_else(|| {
            self.classes.push(Class::new(name));
            self.classes.len() - 1
        });
        &mut self.classes[at]
    }
}

impl Class {
    fn new(name: &str) -> Class {
        Class {
            name: name.to_owned(),
            count: 0,
            bytes: 0,
            sum_ns: 0,
            max_ns: None,
            buckets: vec![0; BUCKET_COUNT],
            touched: Vec::new(),
            stuck: 0,
            oldest_running_ns: None,
        }
    }

    fn close(&mut self, phase: &str, start_ns: u64, end_ns: u64) -> IntervalRecord {
        self.touched.sort_unstable();
        let buckets = self.touched.drain(..).map(|index| {
            let count = std::mem::take(&mut self.buckets[index as usize]);
            Bucket { index, count }
        });
        IntervalRecord {
            phase: phase.to_owned(),
            class: self.name.clone(),
            start_ns,
            end_ns,
            count: std::mem::take(&mut self.count),
            errors: 0,
            bytes: std::mem::take(&mut self.bytes),
            sum_ns: std::mem::take(&mut self.sum_ns),
            max_ns: self.max_ns.take(),
            buckets: buckets.collect(),
            stuck: std::mem::take(&mut self.stuck),
            oldest_running_ns: self.oldest_running_ns.take(),
        }
    }
}
