//! Block requests → rows: slow ones, those that a wait refers to, and aggregates of all.

use std::collections::{BTreeMap, HashMap, VecDeque};

use model::block::{DeviceNumber, Kind};
use model::operation::Bucket;
use model::stall::{RequestIntervalRecord, RequestRecord, Traced, request_bucket};

/// Requests that are kept at hand in case that a wait names them: their waits end soon after they do.
const RECENT: usize = 4096;

/// The requests so far.
pub(crate) struct BlockRequests {
    slow_ns: u64,
    all: bool,
    sums: BTreeMap<(DeviceNumber, Kind), Sum>,
    recent: HashMap<u32, RequestRecord>,
    order: VecDeque<u32>,
}

#[derive(Default)]
struct Sum {
    count: u64,
    bytes: u64,
    queue: BTreeMap<u32, u64>,
    device: BTreeMap<u32, u64>,
}

impl BlockRequests {
    pub(crate) fn new(slow_ns: u64, all: bool) -> BlockRequests {
        let (recent, order) = (HashMap::new(), VecDeque::new());
        BlockRequests { slow_ns, all, sums: BTreeMap::new(), recent, order }
    }

    /// Adds a completed request.
    pub(crate) fn add(&mut self, request: &RequestRecord, rows: &mut Traced) {
        let sum = self.sums.entry((request.device, request.kind)).or_default();
        sum.count += 1;
        sum.bytes += u64::from(request.bytes);
        let count = |buckets: &mut BTreeMap<u32, u64>, from_ns: Option<u64>, to_ns: u64| {
            if let Some(from_ns) = from_ns {
                *buckets.entry(request_bucket(to_ns.saturating_sub(from_ns))).or_default() += 1;
            }
        };
        if let Some(issued_ns) = request.issued_ns {
            count(&mut sum.queue, request.inserted_ns, issued_ns);
        }
        count(&mut sum.device, request.issued_ns, request.completed_ns);
        let first_ns = request.queued_ns.or(request.got_ns).or(request.inserted_ns).or(request.issued_ns);
        let is_slow = first_ns.is_some_and(|first_ns| request.completed_ns.saturating_sub(first_ns) >= self.slow_ns);
        if self.all || is_slow {
            rows.requests.push(request.clone());
        } else {
            self.keep_recent(request);
        }
    }

    /// A recorded wait refers to it.
    pub(crate) fn wanted(&mut self, request: u32, rows: &mut Traced) {
        rows.requests.extend(self.recent.remove(&request));
    }

    /// Emits the aggregates of the interval; the next one begins.
    pub(crate) fn close(&mut self, start_ns: u64, end_ns: u64, rows: &mut Traced) {
        for ((device, kind), sum) in std::mem::take(&mut self.sums) {
            let Sum { count, bytes, queue, device: device_time } = sum;
            let (queue, device_time) = (buckets(queue), buckets(device_time));
            let record = RequestIntervalRecord { start_ns, end_ns, device, kind, count, bytes, queue, device_time };
            rows.request_intervals.push(record);
        }
    }

    fn keep_recent(&mut self, request: &RequestRecord) {
        if self.order.len() == RECENT
            && let Some(oldest) = self.order.pop_front()
        {
            self.recent.remove(&oldest);
        }
        self.order.push_back(request.request);
        self.recent.insert(request.request, request.clone());
    }
}

fn buckets(counts: BTreeMap<u32, u64>) -> Vec<Bucket> {
    counts.into_iter().map(|(index, count)| Bucket { index, count }).collect()
}
