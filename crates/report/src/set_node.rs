//! A node of a set as JSON.

use model::set::{NodeClock, SetNode};
use serde_json::{Value, json};

/// An entry of `nodes`, without its figures. Times of a node less `offset_ns` are on the clock of rank 0.
pub(crate) fn node(node: &SetNode, clock: NodeClock, run: &str) -> Value {
    json!({
        "node": node.name,
        "host": node.host,
        "ranks": node.ranks,
        "run": run,
        "offset_ns": clock.offset_ns,
        "clock_error_ns": clock.error_ns,
        "clock_at_begin": node.clock_at_begin,
        "clock_at_end": node.clock_at_end,
    })
}
