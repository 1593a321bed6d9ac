//! The lanes of a stall.

use explain::blame::{Lanes, Piece};
use serde_json::{Value, json};

/// Times are since the stall's start, ns; a piece is its begin, its end and its cause's index in the run's causes.
pub(crate) fn lanes(lanes: &Lanes, start_ns: u64) -> Value {
    let pieces = |pieces: &[Piece]| -> Value {
        pieces.iter().map(|one| json!([one.start_ns - start_ns, one.end_ns - start_ns, one.cause as u8])).collect()
    };
    let tasks = lanes.tasks.iter().map(|lane| json!({"task": lane.task.to_string(), "pieces": pieces(&lane.pieces)}));
    let requests = lanes.requests.iter().map(|lane| {
        json!({
            "device": lane.request.device_name.clone().unwrap_or_else(|| lane.request.device.to_string()),
            "rwbs": lane.request.kind.to_string(),
            "bytes": lane.request.bytes,
            "sector": lane.request.sector,
            "task": lane.request.task.as_ref().map(ToString::to_string),
            "pieces": pieces(&lane.pieces),
        })
    });
    json!({
        "tasks": tasks.collect::<Vec<_>>(),
        "requests": requests.collect::<Vec<_>>(),
        "more_requests": lanes.more_requests,
    })
}
