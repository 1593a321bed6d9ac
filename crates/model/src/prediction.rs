//! What a recorded load would have met under another I/O scheduler.

use serde::Serialize;

/// Latencies of one kind of request, from queued to done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Latencies {
    /// Reads; writes that somebody waits for; other writes; the rest.
    pub class: &'static str,
    /// How many.
    pub count: u64,
    /// `None`: too few for it; so below.
    pub p50_ns: Option<u64>,
    /// 90 in 100 took no longer.
    pub p90_ns: Option<u64>,
    /// 99 in 100 took no longer.
    pub p99_ns: Option<u64>,
    /// Mean time from queued to issued.
    pub queue_mean_ns: u64,
    /// Mean time at the device.
    pub device_mean_ns: u64,
}

/// What a policy does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Predicted {
    /// Its name.
    pub policy: String,
    /// By class, in the order of [`Prediction::recorded`].
    pub latencies: Vec<Latencies>,
    /// From the first request's coming to the last one's end.
    pub took_ns: u64,
    /// It is the policy that was recorded under: what it says should be what was recorded.
    pub is_check: bool,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Usable requests.
    pub requests: u64,
    /// Requests that lack a moment.
    pub unusable: u64,
    /// Tasks, and requests, of each kind of loop: closed, fed, open.
    pub loops: [(u64, u64); 3],
    /// Requests that the device takes.
    pub depth: u32,
    /// Requests that it works on at once.
    pub servers: u32,
    /// Whether that was fitted.
    pub servers_fitted: bool,
    /// Rank correlation of service times with the number of requests at the device: near 0 is good.
    pub load_correlation: f64,
    /// Requests that were done before one that such a device would have begun first.
    pub out_of_turn: u64,
    /// Mean service time by class, direction and length alike.
    pub service: Vec<Service>,
    /// What was recorded.
    pub recorded: Vec<Latencies>,
    /// From the first request's coming to the last one's end.
    pub recorded_took_ns: u64,
    /// Each policy.
    pub predicted: Vec<Predicted>,
}

/// How long the device works on requests of one sort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Service {
    /// As [`Latencies::class`].
    pub class: &'static str,
    /// Least length of the row's requests; lengths come in powers of two.
    pub bytes: u64,
    /// Begins where the request of the same task before it ended.
    pub sequential: bool,
    /// How many.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99 in 100 took no longer.
    pub p99_ns: u64,
}
