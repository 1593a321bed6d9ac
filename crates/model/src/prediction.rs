//! The predicted latencies of a recorded load under another I/O scheduler.

use serde::Serialize;

/// Latencies of one kind of request, from queued to completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Latencies {
    /// Reads; synchronous writes; other writes; the rest.
    pub class: &'static str,
    /// How many.
    pub count: u64,
    /// `None`: too few samples, here and below.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Mean time from queued to issued.
    pub queue_mean_ns: u64,
    /// Mean time at the device.
    pub device_mean_ns: u64,
}

/// The prediction for a policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Predicted {
    /// Its name.
    pub policy: String,
    /// By class, in the order of [`Prediction::recorded`].
    pub latencies: Vec<Latencies>,
    /// From the first request's arrival to the last completion.
    pub took_ns: u64,
    /// It is the recorded policy: its prediction should match the record.
    pub is_check: bool,
}

/// The whole prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Usable requests.
    pub requests: u64,
    /// Requests that lack a moment.
    pub unusable: u64,
    /// Tasks, and requests, of each kind of loop: closed, fed, open.
    pub loops: [(u64, u64); 3],
    /// Requests that the device accepts.
    pub depth: u32,
    /// Requests that it serves concurrently.
    pub servers: u32,
    /// Whether that was fitted.
    pub servers_fitted: bool,
    /// Rank correlation of service times with the number of requests at the device: near 0 is good.
    pub load_correlation: f64,
    /// Requests that completed before one that such a device would have started first.
    pub out_of_turn: u64,
    /// Mean service time by class, direction and length alike.
    pub service: Vec<Service>,
    /// What was recorded.
    pub recorded: Vec<Latencies>,
    /// From the first request's arrival to the last completion.
    pub recorded_took_ns: u64,
    /// Each policy.
    pub predicted: Vec<Predicted>,
}

/// Service time of requests of one sort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Service {
    /// As [`Latencies::class`].
    pub class: &'static str,
    /// Minimum length of the row's requests; rows are powers of two.
    pub bytes: u64,
    /// Sequential: it begins where the same task's previous request ended.
    pub sequential: bool,
    /// How many.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
}
